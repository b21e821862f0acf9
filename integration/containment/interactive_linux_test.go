package containment

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// conversation is what happens on a terminal: a script, what is typed when it
// says something, and what it must say.
type conversation struct {
	name   string
	argv   []string
	when   string // the script says
	types  string
	expect string
}

// TestTerminalUse: job control and ^C are the command's, as without the launcher.
func TestTerminalUse(t *testing.T) {
	t.Parallel()
	for _, c := range []conversation{
		{name: "job control", argv: []string{"bash", "--norc", "-ic", `sleep 0.1 & fg %1 && echo "it ""ended"`}, expect: "it ended"},
		{name: "job control of sh", argv: []string{"sh", "-mc", `sleep 0.1 & fg %1 > /dev/null && echo "it ""ended"`}, expect: "it ended"},
		{
			name: "^C that is handled", argv: []string{"sh", "-c", `trap 'echo "I ""heard"' INT; echo "rea""dy"; i=0; while [ $i -lt 20 ]; do sleep 0.05; i=$((i+1)); done; echo "and ""went on"`},
			when: "ready", types: "\x03", expect: "and went on",
		},
		{name: "^C that is not", argv: []string{"sh", "-c", `sh -c 'trap "echo sto""pped; exit 3" INT; echo "rea""dy"; while :; do sleep 0.05; done'; true`}, when: "ready", types: "\x03", expect: "stopped"},
		{name: "/dev/tty", argv: []string{"sh", "-c", `stty -g < /dev/tty > /dev/null && echo "tty ""works" > /dev/tty`}, expect: "tty works"},
		{name: "typing", argv: []string{"sh", "-c", `echo "rea""dy"; read x; echo "got <$x>"`}, when: "ready", types: "hello\n", expect: "got <hello>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			each(t, false, "work: terminal", c.name, func(t *testing.T, b box) string {
				for _, policy := range []func(*testenv.Tree) flags{nil, work, cross} {
					w := use{}.world(t, b, policy)
					if said := c.hold(w); !strings.Contains(said, c.expect) {
						t.Errorf("confined %v: the terminal shows %q, want %q in it", w.confined, said, c.expect)
					}
				}
				return "works"
			})
		})
	}
}

// hold runs the conversation on a new terminal and returns what it shows.
func (c conversation) hold(w world) string {
	w.t.Helper()
	master, slave := testenv.Terminal(w.t, w.box.user)
	cmd := w.command(c.argv...).Cmd(w.t.Context())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setctty = true, true
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	slave.Close()
	ended := make(chan bool)
	go func() {
		cmd.Wait()
		close(ended)
	}()
	var said strings.Builder
	text := make(chan string, 64)
	go show(master, text)
	typed := c.when == ""
	deadline := time.After(20 * time.Second)
	for {
		select {
		case s, ok := <-text:
			said.WriteString(s)
			if !ok {
				return said.String()
			}
			if !typed && strings.Contains(said.String(), c.when) {
				typed = true
				if _, err := master.WriteString(c.types); err != nil {
					w.t.Fatal(err)
				}
			}
		case <-deadline:
			cmd.Process.Kill()
			<-ended
			return said.String() + " (and did not end)"
		}
	}
}

// show sends what is printed on a terminal until nobody has it open any more.
func show(master *os.File, text chan<- string) {
	defer close(text)
	buf := make([]byte, 4096)
	for {
		n, err := master.Read(buf)
		if err != nil {
			return
		}
		text <- string(buf[:n])
	}
}
