//go:build special

package main

import "github.com/gofrs/flock"

var tagged = flock.New("/var/tmp/tagged.lock") // locktemp, with the tag only

func lockTagged() error { return tagged.Lock() }
