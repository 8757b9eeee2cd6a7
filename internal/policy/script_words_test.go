package policy_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/solehold/solehold/internal/policy"
)

// qualify reads one word after an input's name.
func qualify(in *policy.Input, word string) error {
	locks := []string{"unknown", "free", "held", "danger"}
	verdicts := []string{"unknown", "ok", "slow", "fail"}
	key, value, _ := strings.Cut(word, "=")
	var err error
	switch {
	case word[0] == '#':
		in.For, err = strconv.ParseUint(word[1:], 10, 64)
	case word == "leader":
		in.TreeDead = false
	case word == "taken":
		in.Taken = true
	case word == "given-up":
		in.GivenUp = true
	case key == "holder":
		in.Holder, err = strconv.ParseUint(value, 10, 64)
	case key == "rand":
		in.Rand, err = strconv.ParseFloat(value, 64)
	case key == "signal":
		in.Exit.Signal, err = strconv.Atoi(value)
	case in.Kind == policy.LockState && slices.Contains(locks, word):
		in.Lock = policy.Lock(slices.Index(locks, word))
	case in.Kind == policy.ProbeResult && slices.Contains(verdicts, word):
		in.Verdict = policy.Verdict(slices.Index(verdicts, word))
	default:
		in.Exit.Code, err = strconv.Atoi(word)
	}
	return err
}

// configOf reads the words of a config line.
func configOf(words []string) (policy.Config, error) {
	var c policy.Config
	flags := map[string]func(){
		"run": func() {}, "watch": func() { c.Mode = policy.Watch }, "once": func() { c.Once = true },
		"startup": func() { c.HasStartup = true }, "health": func() { c.HasHealth = true },
		"report": func() { c.OnUnhealthy = policy.UnhealthyReport }, "await-ready": func() { c.AwaitReady = true },
		"restart=no": func() {}, "restart=always": func() { c.Restart = policy.RestartAlways },
		"restart=on-failure": func() { c.Restart = policy.RestartOnFailure },
	}
	counts := map[string]*int{
		"max": &c.RestartMax, "rounds": &c.RoundsAfterGap,
		"threshold": &c.Health.FailureThreshold, "startup-threshold": &c.Startup.FailureThreshold,
	}
	times := map[string]*time.Duration{
		"delay": &c.Health.InitialDelay, "period": &c.Health.Period, "timeout": &c.Health.Timeout,
		"startup-delay": &c.Startup.InitialDelay, "startup-period": &c.Startup.Period,
		"min-failing": &c.MinFailing, "rearm": &c.Rearm, "stable": &c.StableAfter, "half-life": &c.HalfLife,
		"base": &c.Backoff.Base, "cap": &c.Backoff.Cap,
	}
	return c, assign(words, flags, counts, times)
}

func assign(words []string, flags map[string]func(), counts map[string]*int, times map[string]*time.Duration) error {
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		var err error
		switch {
		case flags[word] != nil:
			flags[word]()
		case counts[key] != nil:
			*counts[key], err = strconv.Atoi(value)
		case times[key] != nil:
			*times[key], err = time.ParseDuration(value)
		default:
			err = fmt.Errorf("no setting is called %s", word)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// memoryOf reads the words of a memory line.
func memoryOf(words []string) (policy.Memory, error) {
	var mem policy.Memory
	var failures int
	flags := map[string]func(){"given-up": func() { mem.GivenUp = true }, "was-good": func() { mem.WasGood = true }}
	counts := map[string]*int{"failures": &failures}
	times := map[string]*time.Duration{"age": &mem.Age, "previous": &mem.Previous, "good": &mem.Good, "seen": &mem.Seen}
	err := assign(words, flags, counts, times)
	mem.Failures = float64(failures)
	return mem, err
}
