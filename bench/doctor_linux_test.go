package main

import "testing"

func TestAsksAll(t *testing.T) {
	for version, want := range map[string]bool{
		"lslocks from util-linux 2.38.1":       false,
		"lslocks from util-linux 2.39.3":       false,
		"lslocks from util-linux 2.40":         true,
		"lslocks from util-linux 2.41-rc1":     true,
		"lslocks from util-linux 2.41.5":       true,
		"lslocks from util-linux 3.0":          true,
		"lslocks from util-linux":              false,
		"lslocks (somebody's own), version 99": false,
		"":                                     false,
	} {
		if got := asksAll(version); got != want {
			t.Errorf("%q: %v, want %v", version, got, want)
		}
	}
}
