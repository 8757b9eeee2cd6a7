package paths

import (
	"os"
	"path/filepath"
)

func same(a, b string)  {}
func other(a, b string) {}

const fixed = "/run/lock"

type conf struct{ path, second string }

func lockName(dir string) string { return dir + "/lock" }

func follow(dir, set string, c *conf) {
	path := filepath.Join(dir, "lock")
	same(path, filepath.Join(dir, "lock"))
	same(path, dir+"/lock")
	same("/run/lock", fixed)
	same(c.path, c.path)
	same(lockName(dir), lockName(dir))
	same(dir, (dir))

	other(path, filepath.Join(dir, "lock2"))
	other(path, filepath.Join(set, "lock"))
	other(c.path, c.second)
	other(os.Args[1], os.Args[2])

	set = dir
	other(set, set) // it was set in between
	twice := dir
	twice = fixed
	other(twice, dir)

	f, err := os.Open(path)
	if err != nil {
		return
	}
	same(f.Name(), path)

	made, err := os.MkdirTemp("", "x")
	same(made, made)
	other(made, dir)

	byAddress := "x" + dir
	change(&byAddress)
	other(byAddress, byAddress)

	for _, each := range os.Args {
		other(each, each)
	}
}

func change(s *string) { *s = "y" }

func generic[T ~string](dir T) {
	same(string(dir)+"/x", string(dir)+"/x") // want `same: keys`
}
