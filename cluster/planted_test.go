package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/cluster/clustertest"
)

// plantedVar makes TestClausesPlanted the engine with a fault that a clause must find.
const plantedVar = "SOLEHOLD_TEST_PLANTED_FAULT"

// faulty is an engine with one fault in its sticky claims, where several are made at once, or where many wait.
type faulty struct {
	*cluster.MemoryClient
	fault string
}

// Grant gives a session that makes several claims at once, and mixes up their answers or takes all or nothing.
func (f *faulty) Grant(ctx context.Context, ttl time.Duration) (cluster.Session, error) {
	s, err := f.MemoryClient.Grant(ctx, ttl)
	if err != nil {
		return nil, err
	}
	return faultySession{s, f.fault, make(chan struct{}, 4)}, nil
}

type faultySession struct {
	cluster.Session
	fault       string
	connections chan struct{} // for the fault "few"
}

// Wait has a connection for itself.
func (s faultySession) Wait(ctx context.Context, held *cluster.HeldError) error {
	if s.fault == "few" {
		s.connections <- struct{}{}
		defer func() { <-s.connections }()
	}
	return s.Session.Wait(ctx, held)
}

// Renew needs one too.
func (s faultySession) Renew(ctx context.Context) ([]string, error) {
	if s.fault == "few" {
		select {
		case s.connections <- struct{}{}:
			defer func() { <-s.connections }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return s.Session.Renew(ctx)
}

func (s faultySession) ClaimEach(ctx context.Context, all []cluster.Request) []cluster.Answer {
	answers := make([]cluster.Answer, len(all))
	for i, r := range all {
		answers[i].Grant, answers[i].Err = s.Claim(ctx, r)
	}
	switch s.fault {
	case "mixed up":
		answers[0], answers[1] = answers[1], answers[0]
	case "all or nothing":
		for i, a := range answers {
			if a.Err != nil {
				answers[len(answers)-1-i].Err = a.Err
			}
		}
	}
	return answers
}

// Stick gives a claim to anybody, says nothing of its age, or nothing of a predecessor.
func (f *faulty) Stick(ctx context.Context, r cluster.Request) (cluster.Grant, error) {
	g, err := f.MemoryClient.Stick(ctx, r)
	var held *cluster.HeldError
	switch {
	case errors.As(err, &held) && held.Sticky && f.fault == "anybody":
		return cluster.Grant{Token: held.Token}, nil
	case held != nil && f.fault == "ageless":
		held.Since = ""
	case f.fault == "clean":
		g.Clean = true
	}
	return g, err
}

// Note takes any text for the one that is there, or writes none.
func (f *faulty) Note(ctx context.Context, c cluster.Claim, from, to string) error {
	switch f.fault {
	case "any note":
		all, err := f.Look(ctx, c.Name)
		if err != nil || len(all) == 0 {
			return err
		}
		from = all[0].Note
	case "no note":
		return nil
	}
	return f.MemoryClient.Note(ctx, c, from, to)
}

// stickyPlanted are the faults, and the clause that finds each.
func clausesPlanted() map[string]string {
	return map[string]string{
		"anybody":  "is_given_again_to_its_nonce_alone",
		"double":   "and_a_lease_refuses_a_sticky_claim",
		"ageless":  "names_the_holder_and_since_when",
		"any note": "changes_only_for_its_token",
		"clean":    "its_successor_waits",
		"no note":  "is_taken_on_at_one_place",
		"ends":     "while_the_engine_is_silent",

		"mixed up":       "each_is_granted_or_refused_by_itself",
		"all or nothing": "each_is_granted_or_refused_by_itself",
		"few":            "who_waits_for_many_locks_keeps_those_it_has",
	}
}

// TestClausesPlanted gives the contract to engines with a fault, each in a process of its own, and must see its clause fail.
func TestClausesPlanted(t *testing.T) {
	t.Parallel()
	if fault := os.Getenv(plantedVar); fault != "" {
		m := cluster.NewMemory()
		if fault == "double" {
			m.DoubleGrant = 1
		}
		client := func() cluster.Backend { return &faulty{m.Client(nil), fault} }
		clustertest.Run(t, clustertest.Engine{
			New: func(testing.TB) cluster.Backend { return client() },
			NewCut: func(t testing.TB) (cluster.Backend, func(), func()) {
				c := m.Client(nil)
				cut := func() { c.Cut(true) }
				if fault == "ends" {
					cut = func() { m.Break(t.Name()) }
				}
				return &faulty{c, fault}, cut, func() { c.Cut(false) }
			},
			Break:  func(_ testing.TB, name string) { m.Break(name) },
			Writes: func(_ testing.TB, name string) string { return fmt.Sprint(m.Writes(name)) },
		})
		return
	}
	for fault, clause := range clausesPlanted() {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			for _, as := range []string{fault, "none"} {
				cmd := exec.Command(os.Args[0], "-test.run=^TestClausesPlanted$/"+clause, "-test.v")
				cmd.Env = append(os.Environ(), plantedVar+"="+as)
				out, err := cmd.CombinedOutput()
				found := err != nil && strings.Contains(string(out), "--- FAIL: TestClausesPlanted/")
				if found != (as == fault) || !strings.Contains(string(out), clause) {
					t.Errorf("fault %q: %v: %s", as, err, out)
				}
			}
		})
	}
}
