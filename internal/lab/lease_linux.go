package lab

import (
	"context"
	"errors"
	"os/exec"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"golang.org/x/sys/unix"
)

// needRedis is a real engine for leases.
func needRedis() need {
	return need{"redis-server", "apt-get install redis-server", func() bool { _, err := exec.LookPath("redis-server"); return err == nil }}
}

// engineServer starts a Redis that only this experiment can reach and gives the socket.
func (b *bench) engineServer() string {
	sock := b.path("redis.sock")
	cmd := exec.CommandContext(b.ctx, "redis-server", "--port", "0", "--unixsocket", sock, "--dir", b.dir, "--save", "")
	b.do(cmd.Start)
	b.do(func() error {
		b.servers = append(b.servers, cmd)
		c := leaseClient(sock)
		defer c.Close()
		for c.Ping(b.ctx).Err() != nil {
			select {
			case <-b.ctx.Done():
				return errors.New("redis-server does not answer")
			case <-time.After(10 * time.Millisecond):
			}
		}
		return nil
	})
	return sock
}

func leaseClient(sock string) *goredis.Client {
	logging.Disable() // it is cut off on purpose
	return goredis.NewClient(&goredis.Options{Network: "unix", Addr: sock, MaxRetries: -1})
}

// errLapsed says that somebody else has the lease.
var errLapsed = errors.Join(errors.New("not ours"), unix.EAGAIN)

// leaseDeeds are what a client of an engine does: SOCKET KEY ID TTL.
func leaseDeeds() map[string]deed {
	with := func(do func(context.Context, *goredis.Client, []string, time.Duration) error) deed {
		return func(w []string) (string, error) {
			ttl, err := strconv.Atoi(w[3])
			if err != nil {
				return "", err
			}
			c := leaseClient(w[0])
			defer c.Close()
			return "", do(context.Background(), c, w, time.Duration(ttl)*time.Millisecond)
		}
	}
	return map[string]deed{"lease-take": with(leaseTake), "lease-wait": with(leaseWait), "lease-set": with(leaseSet), "lease-compare": with(leaseCompare)}
}

// leaseTake takes a free lease. An engine that does not answer is an error.
func leaseTake(ctx context.Context, c *goredis.Client, w []string, ttl time.Duration) error {
	return oneOf(c.SetNX(ctx, w[1], w[2], ttl).Result())
}

// leaseWait takes the lease as soon as it has lapsed.
func leaseWait(ctx context.Context, c *goredis.Client, w []string, ttl time.Duration) error {
	for {
		err := leaseTake(ctx, c, w, ttl)
		if !errors.Is(err, errLapsed) {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// leaseSet renews as one writes who does not think of others.
func leaseSet(ctx context.Context, c *goredis.Client, w []string, ttl time.Duration) error {
	return c.Set(ctx, w[1], w[2], ttl).Err()
}

// leaseCompare renews only what is its own, in one step.
func leaseCompare(ctx context.Context, c *goredis.Client, w []string, ttl time.Duration) error {
	const script = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) else return 0 end`
	return oneOf(c.Eval(ctx, script, []string{w[1]}, w[2], ttl.Milliseconds()).Bool())
}

func oneOf(mine bool, err error) error {
	if err == nil && !mine {
		return errLapsed
	}
	return err
}
