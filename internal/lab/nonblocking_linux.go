package lab

import (
	"errors"
	"os"
	"strings"
	"time"
)

func nonBlocking() Experiment {
	const (
		local = "flock with LOCK_NB of a held lock on a local file system"
		hangs = "flock with LOCK_NB where the file system does not answer"
		ours  = "solehold with a time limit of 1 s, there"
		took  = "answer of solehold after"
	)
	return Experiment{
		Name:     "nonblocking",
		Title:    "a non-blocking lock that blocks",
		Believed: "LOCK_NB, F_SETLK, TryLock return at once. So they need no time limit, and a health check may call them.",
		Happens: "Non-blocking means: do not wait for a holder. On NFS, FUSE and cluster file systems the request goes to a server, and where that does not answer " +
			"the call does not return; the process cannot even be killed until the mount is gone. Opening the file hangs the same way.",
		Advice: "Make such calls where they may hang (a goroutine or process of their own) and stop waiting after a limit, with an answer of its own: unanswered is not held. " +
			"solehold bounds every call that touches the file system; put locks on a local disk.",
		Facts: []Fact{{local, refused}, {hangs, "no answer in 1 s"}, {ours, "unanswered"}, {took, ""}},
		needs: []need{needNamespaces(apartMounts), needFuse()},
		apart: apartMounts,
		run: func(b *bench) {
			// The first to be ended: the kernel ends what waits for it then.
			server := b.actor()
			holder, client, starter := b.actor(), b.actor(), b.actor()
			dir := b.newDir("remote")
			holder.must("hold", b.path("lock"))
			b.try(local, client, "hold", b.path("lock"))
			mode, patience := "answer", 30*time.Second
			b.decisive(func() { mode, patience = "hang", time.Second })
			server.must("hang", dir, mode)
			b.mounts = append(b.mounts, dir)
			client.must("open", "f", b.path("remote", "lock"), "plain")
			client.tell("flock", "f")
			b.see(hangs, b.answerWithin(client, patience))
			begin := time.Now()
			b.see(ours, b.unanswered(starter, dir))
			b.see(took, time.Since(begin).Round(time.Millisecond))
		},
	}
}

func needFuse() need {
	return need{"/dev/fuse", "modprobe fuse; in a container, give it the device", func() bool {
		f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
		if err == nil {
			f.Close()
		}
		return err == nil
	}}
}

// answerWithin says how an order that was told ends within d.
func (b *bench) answerWithin(a *actor, d time.Duration) (how string) {
	b.do(func() (err error) {
		select {
		case got, ok := <-a.answers:
			switch {
			case !ok:
				return errors.New("the process has ended")
			case got.Error != "":
				how, err = word(&orderError{got, nil})
				return err
			}
			how = gets
		case <-time.After(d):
			how = "no answer in 1 s"
		case <-b.ctx.Done():
			return b.ctx.Err()
		}
		return nil
	})
	return how
}

// unanswered says whether an Acquire with a limit ends with that word.
func (b *bench) unanswered(a *actor, dir string) (how string) {
	b.do(func() error {
		_, err := a.send([]string{"acquire", dir, "1s"})
		how, _ = word(err)
		if err != nil && strings.Contains(err.Error(), "did not answer") {
			how = "unanswered"
		}
		if how == "" {
			how = err.Error()
		}
		return nil
	})
	return how
}
