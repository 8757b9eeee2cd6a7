// Package testsystemd gives a test a systemd of its own: a real one, the first
// process of namespaces of its own, with the whole file system below it of which
// nothing is kept, and its own journal. It is up in less than a second. There is
// no D-Bus; systemctl speaks to it by its socket.
package testsystemd
