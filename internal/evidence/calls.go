package evidence

import "strconv"

// callName names the system calls in which a service usually stands still; the
// numbers are those of the kernel's tables for 64-bit systems.
func callName(arch string, number int) string {
	var names map[int]string
	switch arch {
	case "amd64":
		names = map[int]string{
			0: "read", 1: "write", 7: "poll", 23: "select", 34: "pause", 35: "nanosleep", 42: "connect", 43: "accept", 45: "recvfrom",
			47: "recvmsg", 59: "execve", 61: "wait4", 72: "fcntl", 73: "flock", 74: "fsync", 75: "fdatasync", 202: "futex", 230: "clock_nanosleep",
			232: "epoll_wait", 247: "waitid", 257: "openat", 270: "pselect6", 271: "ppoll", 281: "epoll_pwait", 288: "accept4",
			426: "io_uring_enter", 441: "epoll_pwait2",
		}
	case "arm64", "riscv64":
		names = map[int]string{
			22: "epoll_pwait", 25: "fcntl", 32: "flock", 56: "openat", 63: "read", 64: "write", 72: "pselect6", 73: "ppoll", 82: "fsync",
			83: "fdatasync", 95: "waitid", 98: "futex", 101: "nanosleep", 115: "clock_nanosleep", 202: "accept", 203: "connect",
			207: "recvfrom", 212: "recvmsg", 221: "execve", 242: "accept4", 260: "wait4", 426: "io_uring_enter", 441: "epoll_pwait2",
		}
	}
	if name := names[number]; name != "" {
		return name
	}
	return "system call " + strconv.Itoa(number)
}
