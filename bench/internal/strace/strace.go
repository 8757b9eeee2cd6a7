// Package strace reads the output of `strace -f` and reduces it to what two
// programs that should do the same are compared by: the system calls in their
// order with names, flags, lengths and errno, without the addresses, descriptors
// and contents that differ from run to run.
package strace

import (
	"fmt"
	"slices"
	"strings"
)

// Cycle returns the calls of one turn of a program that does the same again and
// again, each turn beginning with an opening of dir: of all whole turns the one
// that occurs most often, since now and then a timer or a rotation joins in. The
// last turn is not used, since the program's end follows it.
func Cycle(trace, dir string) ([]string, error) {
	var turns [][]string
	for _, c := range joined(trace) {
		if c.name == "openat" && strings.Contains(c.args, `"`+dir+`"`) {
			turns = append(turns, nil)
		}
		if last := len(turns) - 1; last >= 0 && !c.ofRuntime() {
			turns[last] = append(turns[last], strings.ReplaceAll(c.String(), dir, "DIR"))
		}
	}
	if len(turns) < 2 {
		return nil, fmt.Errorf("the trace opens %s %d times, not twice", dir, len(turns))
	}
	seen, best := map[string]int{}, turns[0]
	for _, t := range turns[:len(turns)-1] {
		seen[strings.Join(t, "\n")]++
	}
	for _, t := range turns[:len(turns)-1] {
		if seen[strings.Join(t, "\n")] > seen[strings.Join(best, "\n")] {
			best = t
		}
	}
	return best, nil
}

// call is one system call as strace prints it.
type call struct{ name, args, result string }

// joined returns the calls in the order of their start; strace splits one in two
// lines when another thread makes a call meanwhile.
func joined(trace string) []call {
	var texts []string
	begun := map[string]int{} // by thread
	for _, l := range strings.Split(trace, "\n") {
		thread, text, ok := strings.Cut(l, " ")
		text = strings.TrimSpace(text)
		if !ok {
			continue
		}
		if rest, ok := strings.CutPrefix(text, "<... "); ok {
			if i, ok := begun[thread]; ok {
				_, end, _ := strings.Cut(rest, "resumed>")
				texts[i] += end
				delete(begun, thread)
			}
			continue
		}
		if start, ok := strings.CutSuffix(text, "<unfinished ...>"); ok {
			text, begun[thread] = start, len(texts)
		}
		texts = append(texts, text)
	}
	var calls []call
	for _, t := range texts {
		if c, ok := parse(t); ok {
			calls = append(calls, c)
		}
	}
	return calls
}

// parse splits `name(args) = result`.
func parse(text string) (call, bool) {
	name, rest, ok := strings.Cut(text, "(")
	end := strings.LastIndex(rest, ") ")
	if !ok || end < 0 || strings.ContainsAny(name, " +-") {
		return call{}, false
	}
	_, result, ok := strings.Cut(rest[end:], "= ")
	return call{name, strings.TrimSpace(rest[:end]), strings.TrimSpace(result)}, ok
}

// ofRuntime tells the calls that Go's scheduler and memory make when they like.
func (c call) ofRuntime() bool {
	if (c.name == "read" || c.name == "write") && strings.Contains(c.args, `"\1\0\0\0\0\0\0\0"`) {
		return true // the eventfd by which one thread wakes another from epoll
	}
	return slices.Contains([]string{
		"futex", "nanosleep", "epoll_pwait", "epoll_ctl", "sched_yield", "madvise", "mmap", "munmap", "getpid", "gettid", "tgkill", "exit",
		"rt_sigreturn", "rt_sigaction", "rt_sigprocmask", "sigaltstack", "clone", "clone3", "set_robust_list", "rseq", "prctl", "mprotect",
	}, c.name)
}

// String is the comparable form.
func (c call) String() string {
	parts := []string{c.name}
	args := strings.Split(c.args, ", ")
	at := func(i int) {
		if i < len(args) {
			parts = append(parts, strings.TrimSpace(args[i])) // joined lines have more blanks
		}
	}
	switch c.name {
	case "openat":
		at(1)
		at(2)
	case "newfstatat", "fgetxattr":
		at(1)
	case "fcntl":
		at(1)
		at(2)
	case "clock_gettime":
		at(0)
	case "readlinkat":
		parts = append(parts, strings.TrimRight(args[1], `0123456789"`))
	case "pread64", "pwrite64": // the content may hold commas, so count from the end
		at(len(args) - 2)
	}
	if result := strings.Fields(c.result); len(result) > 1 && result[0] == "-1" {
		parts = append(parts, result[1])
	}
	return strings.Join(parts, " ")
}

// Diff lists where two cycles differ: "-" before what only want has at this
// place, "+" before what only got has. It is empty when they are equal.
func Diff(want, got []string) string {
	// The longest common subsequence: the lists are short.
	common := make([][]int, len(want)+1)
	for i := range common {
		common[i] = make([]int, len(got)+1)
	}
	for i := len(want) - 1; i >= 0; i-- {
		for j := len(got) - 1; j >= 0; j-- {
			if want[i] == got[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var b strings.Builder
	for i, j := 0, 0; i < len(want) || j < len(got); {
		switch {
		case i < len(want) && j < len(got) && want[i] == got[j]:
			i, j = i+1, j+1
		case j == len(got) || i < len(want) && common[i+1][j] >= common[i][j+1]:
			fmt.Fprintln(&b, "-", want[i])
			i++
		default:
			fmt.Fprintln(&b, "+", got[j])
			j++
		}
	}
	return b.String()
}
