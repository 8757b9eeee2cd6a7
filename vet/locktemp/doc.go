// Package locktemp reports a lock or pid file with a shared temporary or relative name.
//
// Everybody can make the name first and keep the service out, or point it elsewhere by a link. Cleaners remove old files
// from there, locked or not, and then two own. A relative name is another file in each working directory: two
// copies that should exclude each other do not meet.
//
// WRONG
//
//	fl := flock.New("/tmp/kb.lock")
//	fl := flock.New(filepath.Join(os.TempDir(), "kb.lock"))
//	fl := flock.New("kb.lock")
//
// RIGHT
//
//	fl := flock.New(filepath.Join(dataDir, "kb.lock")) // in what it guards
//	lock, err := solehold.Acquire(ctx, dataDir, nil)
//
// Names below a directory that was just made by os.MkdirTemp are nobody else's and are not reported. A path that comes
// from a flag or a file is the user's choice. A name in a directory that is open, as an os.Root or by openat, is not
// relative to the working directory and is not reported.
package locktemp
