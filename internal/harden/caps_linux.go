package harden

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Permitted returns the permitted capabilities of the calling thread as a bit
// set.
func Permitted() (uint64, error) {
	var data [2]unix.CapUserData
	if err := unix.Capget(header(), &data[0]); err != nil {
		return 0, fmt.Errorf("capget: %w", err)
	}
	return uint64(data[1].Permitted)<<32 | uint64(data[0].Permitted), nil
}

// OwnsKernelFiles reports whether the calling thread could write the files that steer
// the kernel, given its permitted capabilities: most belong to uid 0, which needs none
// for its own (fs/proc/proc_sysctl.c, test_perm).
func OwnsKernelFiles(held uint64) bool {
	real, effective, saved := unix.Getresuid()
	return held != 0 || real == 0 || effective == 0 || saved == 0
}

func header() *unix.CapUserHeader {
	return &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
}

// Apply takes from the calling thread what no confined command keeps:
// capabilities, then system calls. The thread has no_new_privs; the caller stays
// on it and executes from it. Whether it is privileged Apply finds out itself.
func Apply(o Options) error {
	held, err := Permitted()
	if err != nil {
		return err
	}
	if err := Drop(); err != nil {
		return err
	}
	o.Privileged = held != 0
	return Filter(o)
}

// Drop takes every capability but Kept from the calling thread: from the
// bounding set, so that no program it executes can gain one, then from the
// ambient, inheritable, permitted and effective sets. The caller must stay on the
// thread, and execute from it. A thread without capabilities is left alone.
//
// The bounding set can only be emptied with CAP_SETPCAP. Where that is missing
// no_new_privs, which both backends set, keeps exec from gaining what the
// permitted set lacks (kernel: cap_bprm_creds_from_file).
//
// It fails when a capability that had to go is still there afterwards.
func Drop() error {
	held, err := Permitted()
	if err != nil || held == 0 {
		return err
	}
	keep := Mask(Kept)
	if held&(1<<SetPCap.Bit) != 0 {
		for bit := uint(0); ; bit++ {
			if keep&(1<<bit) != 0 {
				continue
			}
			if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(bit), 0, 0, 0); err == unix.EINVAL {
				break // beyond the last capability of this kernel
			} else if err != nil {
				return fmt.Errorf("dropping capability %d from the bounding set: %w", bit, err)
			}
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil && err != unix.EINVAL {
		return fmt.Errorf("clearing ambient capabilities: %w", err)
	}
	keep &= held
	data := [2]unix.CapUserData{
		{Effective: uint32(keep), Permitted: uint32(keep)},
		{Effective: uint32(keep >> 32), Permitted: uint32(keep >> 32)},
	}
	if err := unix.Capset(header(), &data[0]); err != nil {
		return fmt.Errorf("capset: %w", err)
	}
	left, err := Permitted()
	if err != nil {
		return err
	}
	if left&^keep != 0 {
		return fmt.Errorf("capabilities %#x could not be dropped", left&^keep)
	}
	return nil
}
