// Command bench measures solehold side by side with the bare system calls it is
// made of and with other ways to hold a directory, and prints one table.
//
// It is a measurement, never a test: whatever it finds, it exits with 0. Only a
// wrong flag, and with -check a floor that is no longer the same system calls,
// end otherwise. Linux only.
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
)

// settings are the flags.
type settings struct {
	json, dir    string
	table        string
	quick, check bool
	only         *regexp.Regexp
}

func flags() settings {
	var s settings
	var only string
	flag.StringVar(&s.json, "json", "", "also write the report as JSON to this `file`")
	flag.StringVar(&s.dir, "dir", os.TempDir(), "put the locks below this directory, on a real disk if figures are to be compared")
	flag.BoolVar(&s.quick, "quick", false, "take about ten seconds and fewer samples")
	flag.BoolVar(&s.check, "check", false, "measure nothing; compare solehold's system calls with the floor's (needs strace)")
	flag.StringVar(&s.table, "table", "", "instead of the speed of locks, the table of this `name`: supervisors, partition (holders cut off their engine), or vet (the time of solehold vet)")
	flag.StringVar(&only, "run", "", "measure only rows whose key matches this regular `expression`: "+keys)
	flag.Parse()
	var err error
	if s.only, err = regexp.Compile(only); err != nil || flag.NArg() > 0 || !slices.Contains([]string{"", tableSupervisors, tablePartition, tableVet}, s.table) {
		fmt.Fprintln(flag.CommandLine.Output(), "bench: wrong expression, unknown table, or arguments that are not flags", err)
		flag.Usage()
		os.Exit(2)
	}
	return s
}

// The values of -table.
const (
	tableSupervisors = "supervisors"
	tablePartition   = "partition"
	tableVet         = "vet"
)

const keys = "acquire/…, sync/…, refused/…, handoff/…, idle/…, cli/…, doctor/…, keys/…; supervise/…, restart/…, resident/… of the table of supervisors; etcd, redis, zookeeper, postgres of the table of partitions"

func main() {
	if runtime.GOOS != "linux" {
		fmt.Println("bench: the floors are Linux system calls; there is nothing to measure here")
		return
	}
	os.Exit(run())
}
