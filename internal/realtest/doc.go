// Package realtest holds tests of `solehold run` with programs from elsewhere: a
// database server, a cache and a monitor, as Debian ships them, and below a real
// systemd. They show what no test program of ours can: that what people run keeps
// the lock's descriptors, ends when it is asked to, and starts at once after a
// crash, and that what `solehold unit` prints is what systemd makes of it.
package realtest
