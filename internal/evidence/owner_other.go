//go:build !unix

package evidence

import "io/fs"

func ownerOf(fs.FileInfo) (uid, gid int, ok bool) { return 0, 0, false }

// nonBlock has no meaning on this system.
const nonBlock = 0
