package evidence

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// goroutines reads a dump of Go's runtime (as SIGQUIT brings it) out of a
// service's output and says where most goroutines wait for each other. Empty
// means that there is no dump, or nobody waits for a lock.
func goroutines(output []byte) string {
	head := regexp.MustCompile(`(?m)^goroutine (\d+)(?: gp=\S+ m=\S+(?: mp=\S+)?)? \[([^\],]+)(?:, (\d+) minutes)?[^\]]*\]:\n(?:\S.*\n\t.*\n){0,14}`)
	waiting := map[string][]string{}
	for _, m := range head.FindAllStringSubmatch(string(output), -1) {
		state := m[2]
		if !strings.HasPrefix(state, "sync.") && !strings.HasPrefix(state, "semacquire") && state != "chan send" && state != "chan receive" && state != "select" {
			continue
		}
		waiting[state] = append(waiting[state], fmt.Sprintf("goroutine %s at %s", m[1], caller(m[0])))
	}
	for _, state := range []string{"sync.Mutex.Lock", "sync.RWMutex.Lock", "sync.RWMutex.RLock", "semacquire", "chan send", "chan receive"} {
		if list := waiting[state]; len(list) > 0 {
			slices.Sort(list)
			return fmt.Sprintf("%d goroutines wait in %s: %s.", len(list), state, strings.Join(list[:min(4, len(list))], "; "))
		}
	}
	return ""
}

// caller is the first place of a stack outside of Go's own packages.
func caller(stack string) string {
	lines := strings.Split(stack, "\n")
	for i := 1; i+1 < len(lines); i += 2 {
		name := lines[i]
		if strings.HasPrefix(name, "sync.") || strings.HasPrefix(name, "internal/") || strings.HasPrefix(name, "runtime.") {
			continue
		}
		place, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " ")
		if j := strings.LastIndexByte(name, '('); j > 0 {
			name = name[:j]
		}
		return name + " (" + place + ")"
	}
	return "an unknown place"
}
