package launch

// ownDescriptors lists the descriptors of the process that reads it.
const ownDescriptors = "/dev/fd"

// shebangSize is how much of a script the kernel looks at (IMG_SHSIZE).
const shebangSize = 512

// markAll marks every descriptor above 2 to be closed at exec. macOS has no
// close_range.
func markAll() error { return closeOnExecByList() }
