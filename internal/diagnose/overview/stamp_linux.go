package overview

import "syscall"

// stampOf asks for a file. What os.Lstat makes of the answer costs half as much again,
// and this is most of what a look costs.
func stampOf(path string) stamp {
	var st syscall.Stat_t
	for {
		err := syscall.Lstat(path, &st)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return stamp{}
		}
		return stamp{true, st.Size, st.Mtim.Nano()}
	}
}
