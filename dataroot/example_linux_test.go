package dataroot_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/dataroot"
)

// A service opens its root, which is its own until Close. Here the base is a
// directory that is thrown away; a service takes dataroot.Base(dataroot.State).
func Example() {
	base, err := os.MkdirTemp("", "roots")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(base)
	ctx := context.Background()
	o := &dataroot.Options{Instance: "blue", Pins: filepath.Join(base, "pins")}

	root, err := dataroot.Open(ctx, base, "kb", o)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer root.Close()
	fmt.Println(filepath.Base(root.Dir()))

	err = root.WriteFile("index/state.json", []byte(`{"page":1}`)) // all of it or nothing
	text, readErr := fs.ReadFile(root, "index/state.json")
	fmt.Println(string(text), errors.Join(err, readErr))

	fmt.Println(root.WriteFile("../green/state.json", nil) != nil, "is refused: it leads out")

	_, err = dataroot.Open(ctx, base, "kb", o)
	fmt.Println("a second owner:", errors.Is(err, solehold.ErrHeld))
	// Output:
	// kb@blue
	// {"page":1} <nil>
	// true is refused: it leads out
	// a second owner: true
}

// What is made to be removed is removed when its owner is gone, and never before.
func ExampleGC() {
	base, err := os.MkdirTemp("", "roots")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(base)
	ctx := context.Background()

	root, err := dataroot.Open(ctx, base, "job", &dataroot.Options{Fresh: true, Ephemeral: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, when := range []string{"open", "closed"} {
		if when == "closed" {
			root.Close()
		}
		roots, err := dataroot.GC(ctx, base, false, nil)
		for _, r := range roots {
			fmt.Println(when, r.Name, "removed:", r.Removed, err)
		}
	}
	// Output:
	// open job removed: false <nil>
	// closed job removed: true <nil>
}

// count needs files, not a path: it is given a part of a root, and a test gives it
// something else.
func count(in dataroot.Storage) error {
	text, err := fs.ReadFile(in, "count")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return in.WriteFile("count", append(text, '|'))
}

// Code below a service is given a space, which it cannot leave.
func ExampleSpace() {
	base, err := os.MkdirTemp("", "roots")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(base)
	root, err := dataroot.Open(context.Background(), base, "kb", &dataroot.Options{NoPin: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer root.Close()
	visits, err := root.Space.Space("visits")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer visits.Close()
	fmt.Println(count(visits), count(visits))
	text, err := fs.ReadFile(root, "visits/count")
	fmt.Println(string(text), err)
	// Output:
	// <nil> <nil>
	// || <nil>
}
