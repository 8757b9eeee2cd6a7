// Package lockremove reports the removal or renaming of a lock file.
//
// A lock belongs to the inode, not to the name. A process that has opened the old file and waits gets its lock there;
// the next one makes a new file under the name and gets a lock there too. Both own. Leave the file where it is: an
// unlocked lock file says nothing and costs nothing.
//
// WRONG
//
//	defer os.Remove(path)
//	defer fl.Unlock()
//
// RIGHT
//
//	defer fl.Unlock() // the file stays
//
// A package that looks again at what it has locked (os.SameFile, or the link count) knows the danger and is not
// reported. Neither is a file whose path cannot be followed, nor one that is opened for its lock without being created:
// then it is data, locked so that nobody deletes what is in use.
package lockremove
