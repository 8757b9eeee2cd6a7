package procid_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strings"
	"testing/fstest"

	"github.com/solehold/solehold/internal/procfs"
)

// files are the text of a /proc by path; text that begins with @ is a link's
// target, and text that begins with ! is no file.
type files map[string]string

// proc reads a /proc made of several sets of files, the later ones winning.
func proc(sets ...files) procfs.FS { return procfs.New(tree(sets...)) }

func tree(sets ...files) fstest.MapFS {
	all := files{}
	for _, set := range sets {
		maps.Copy(all, set)
	}
	tree := fstest.MapFS{}
	for name, text := range all {
		if target, ok := strings.CutPrefix(text, "@"); ok {
			tree[name] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink | 0o777}
		} else if !strings.HasPrefix(text, "!") {
			tree[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o444}
		}
	}
	return tree
}

// here is the /proc of this process in a boot and namespaces of the test's own.
func here() files {
	pid := os.Getpid()
	return files{
		"self/stat":                   stat(pid, "S", 1, 700),
		fmt.Sprintf("%d/stat", pid):   stat(pid, "S", 1, 700),
		"sys/kernel/random/boot_id":   "boot-1\n",
		"self/ns/pid":                 "@pid:[100]",
		"self/ns/time":                "@time:[200]",
		"1/stat":                      stat(1, "S", 0, 1),
		"1/cmdline":                   "/sbin/init\x00",
		fmt.Sprintf("%d/task/1", pid): "",
	}
}

// stat is a line of /proc/N/stat.
func stat(pid int, state string, ppid, ticks int) string {
	return fmt.Sprintf("%d (sleep) %s %d 1 1 34816 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %d 0 0\n", pid, state, ppid, ticks)
}
