package right

import "os"

func f(dir string, serve func()) {
	serve()
	os.RemoveAll(dir)
}
