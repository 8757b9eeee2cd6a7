# Takes part in the protocol of docs/protocol.md: twin.py hold|mark DIR. Holds until its input ends.
import fcntl, os, struct, sys
SETLK, GETLK, READ, WRITE, FREE = 37, 36, 0, 1, 2  # F_OFD_SETLK, F_OFD_GETLK, F_RDLCK, F_WRLCK, F_UNLCK
def lock(fd, cmd, kind):
    return struct.unpack("hhqqi4x", fcntl.fcntl(fd, cmd, struct.pack("hhqqi4x", kind, 0, 1 << 62, 1, 0)))[0]
how, path = sys.argv[1], sys.argv[2] + "/.solehold/lock"
d = os.open(sys.argv[2], os.O_RDONLY | os.O_DIRECTORY)
try:
    if how == "hold":
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        f = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        lock(f, SETLK, WRITE)  # 1. the lock
    lock(d, SETLK, READ)  # 2. the mark
    mine = lock(d, GETLK, WRITE) == FREE  # 3. no mark of somebody else?
    mine = mine and (how == "mark" or os.path.samestat(os.fstat(f), os.lstat(path)))  # 4. still the same file?
except (BlockingIOError, FileNotFoundError):
    mine = False
print("mine" if mine else "held", flush=True)
if mine: sys.stdin.read()
