// Package partition cuts holders of a lock off their engine, by a black hole:
// what they send vanishes, and connections stay open. It measures how long
// before the next owner they were told, and what they ran was dead.
//
// Ours is the whole of `solehold run --cluster`, with a command that ignores
// SIGTERM; peers are their own clients, which run nothing. The next owner waits
// at the same server, which it reaches.
package partition
