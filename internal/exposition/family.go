// Package exposition is what solehold says to Prometheus: the metric families,
// and how what is known of directories becomes samples of them. Both sides that
// tell use it, so that a dashboard does not care who told: the collector of a
// program (package metrics), and `solehold serve`.
//
// The number of series is bounded. The path of a directory is the only label that
// others choose; beyond Host.Most directories the rest are counted, not shown.
package exposition

import "github.com/prometheus/client_golang/prometheus"

// Kind is the type of a family.
type Kind string

// The kinds.
const (
	Gauge     Kind = "gauge"
	Counter   Kind = "counter"
	Histogram Kind = "histogram"
)

// Family is one metric.
type Family struct {
	// Name is the name with its unit, as Prometheus' conventions have it.
	Name string
	// Kind is its type.
	Kind Kind
	// Labels are the names of its labels.
	Labels []string
	// Teller says who tells it: serve, program, or both.
	Teller string
	// Help says what it is.
	Help string
}

// The names of the families.
const (
	Held             = "solehold_held"
	State            = "solehold_state"
	HeldSince        = "solehold_held_since_timestamp_seconds"
	Token            = "solehold_token"
	Waiters          = "solehold_waiters"
	StaleRecord      = "solehold_record_stale"
	Acquisitions     = "solehold_acquisitions_total"
	Refusals         = "solehold_refusals_total"
	Takeovers        = "solehold_takeovers_total"
	Losses           = "solehold_losses_total"
	AcquireTime      = "solehold_acquire_duration_seconds"
	HandOffTime      = "solehold_handoff_duration_seconds"
	RequestTime      = "solehold_release_request_duration_seconds"
	StartTime        = "solehold_start_duration_seconds"
	Healthy          = "solehold_healthy"
	Probed           = "solehold_probe_timestamp_seconds"
	ProbeTime        = "solehold_probe_duration_seconds"
	Restarts         = "solehold_restarts_total"
	Recoveries       = "solehold_recoveries_total"
	GivenUp          = "solehold_given_up"
	Incidents        = "solehold_incidents"
	LeaseMargin      = "solehold_lease_margin_seconds"
	LeaseTTL         = "solehold_lease_ttl_seconds"
	Renewals         = "solehold_lease_renewals_total"
	EngineErrors     = "solehold_engine_errors_total"
	Unreadable       = "solehold_unreadable"
	Directories      = "solehold_directories"
	LeftOut          = "solehold_directories_left_out"
	Findings         = "solehold_findings"
	Gaps             = "solehold_findings_gaps"
	DeletedOpenBytes = "solehold_deleted_open_bytes"
	DeletedOpenFiles = "solehold_deleted_open_files"
	ClusterUp        = "solehold_cluster_up"
	ClusterLocks     = "solehold_cluster_locks"
	ClusterHeld      = "solehold_cluster_held"
	ClusterToken     = "solehold_cluster_token"
	Looked           = "solehold_look_timestamp_seconds"
)

// Who tells a family.
const (
	serve   = "serve"
	program = "program"
	both    = "both"
)

// Families lists every family there is.
func Families() []Family {
	dir, kind := []string{"dir"}, []string{"kind"}
	return []Family{
		{Held, Gauge, dir, both, "1 while the directory has an owner, else 0."},
		{State, Gauge, []string{"dir", "state"}, serve, "1 for the state that the directory is in, 0 for each other one: HELD, FREE, UNGUARDED, SPLIT, DETACHED, UNKNOWN."},
		{HeldSince, Gauge, dir, both, "When the owner took the directory, in seconds since 1970; absent while there is none."},
		{Token, Gauge, dir, both, "The newest fencing token of the directory. Above 2^53 the last digits are lost."},
		{Waiters, Gauge, dir, both, "How many wait for the directory now: processes (serve), or calls of this program."},
		{StaleRecord, Gauge, dir, serve, "1 while nobody has the directory and its last owner left no release, else 0."},
		{Acquisitions, Counter, dir, both, "How often the directory was taken."},
		{Refusals, Counter, dir, both, "How many starters were turned away because it was held."},
		{Takeovers, Counter, dir, both, "How often it was taken after an owner that left no release."},
		{Losses, Counter, dir, both, "How often an owner was told that its lock can no longer be proven."},
		{AcquireTime, Histogram, dir, program, "How long it took to take the directory, the wait for a holder included, in seconds."},
		{HandOffTime, Histogram, dir, both, "How long the directory had no owner after a release, where the next one was there within a minute, in seconds."},
		{RequestTime, Histogram, dir, serve, "How long it took from a request to let go until the next owner had the directory, at most a minute, in seconds."},
		{StartTime, Histogram, dir, serve, "How long it took from the acquisition until the service was ready, in seconds."},
		{Healthy, Gauge, dir, serve, "0 while the service is unhealthy or its newest probe failed, else 1; absent without probes."},
		{Probed, Gauge, dir, serve, "When the service was last probed, in seconds since 1970."},
		{ProbeTime, Gauge, dir, serve, "How long the newest answer to a probe took, in seconds."},
		{Restarts, Counter, dir, serve, "How often `run` started the command again."},
		{Recoveries, Counter, dir, serve, "How often `watch` started a service that was down."},
		{GivenUp, Gauge, dir, serve, "1 after `run` or `watch` has given up, until the directory is taken again, else 0."},
		{Incidents, Gauge, dir, serve, "How many incidents, the evidence saved of a hung service, are kept."},
		{LeaseMargin, Gauge, dir, both, "How long until the owner must stop unless the engine confirms its lease again, in seconds; below 0 it should have stopped. Absent without a cluster."},
		{LeaseTTL, Gauge, dir, both, "The time to live of the lease at the engine, in seconds."},
		{Renewals, Counter, dir, both, "How many renewals of the lease the engine has acknowledged."},
		{EngineErrors, Counter, dir, both, "How many requests the engine has failed, or not answered in time."},
		{Unreadable, Gauge, dir, serve, "1 while it cannot be told how the directory stands (permission, a file system that hangs), else 0."},
		{Directories, Gauge, nil, both, "How many directories are known."},
		{LeftOut, Gauge, nil, both, "How many of them are not shown, to bound the number of series."},
		{Findings, Gauge, []string{"id"}, serve, "How many findings of doctor with this id there are now; `solehold doctor explain ID` has the page."},
		{Gaps, Gauge, nil, serve, "How many things doctor could not read: with any, findings may be missing."},
		{DeletedOpenBytes, Gauge, kind, serve, "The room that removed files still take because a process has them open: disk or memory."},
		{DeletedOpenFiles, Gauge, kind, serve, "How many such files there are."},
		{ClusterUp, Gauge, []string{"cluster"}, serve, "1 while the engine (`serve --cluster`) answers, else 0."},
		{ClusterLocks, Gauge, []string{"cluster"}, serve, "How many locks the engine told of when it last answered."},
		{ClusterHeld, Gauge, []string{"cluster", "name"}, serve, "1 while somebody has the lock of the cluster, on whatever machine, else 0; absent while the engine does not answer."},
		{ClusterToken, Gauge, []string{"cluster", "name"}, serve, "The token of the lock's claim; absent where nobody has it. Above 2^53 the last digits are lost."},
		{Looked, Gauge, nil, serve, "When the host was last looked at, in seconds since 1970."},
	}
}

// Set has the descriptions of all families.
type Set map[string]described

type described struct {
	Family
	desc *prometheus.Desc
}

// NewSet describes the families, with these labels on each.
func NewSet(constant prometheus.Labels) Set {
	s := Set{}
	for _, f := range Families() {
		s[f.Name] = described{f, prometheus.NewDesc(f.Name, f.Help, f.Labels, constant)}
	}
	return s
}

// DescribeServe sends the descriptions of what Serve sends.
func (s Set) DescribeServe(ch chan<- *prometheus.Desc) { s.describe(ch, serve) }

// DescribeProgram sends the descriptions of what Program sends.
func (s Set) DescribeProgram(ch chan<- *prometheus.Desc) { s.describe(ch, program) }

func (s Set) describe(ch chan<- *prometheus.Desc, teller string) {
	for _, f := range s {
		if f.Teller == teller || f.Teller == both {
			ch <- f.desc
		}
	}
}
