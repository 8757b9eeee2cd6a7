package reload_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/solehold/solehold/reload"
)

// A service gets the content of its configuration, and each new one that it can use.
// What it cannot use is told, and the one before stays.
func ExampleWatch() {
	dir, err := os.MkdirTemp("", "conf")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "kb.conf")
	write := func(text string) {
		if err := errors.Join(os.WriteFile(path+".new", []byte(text), 0o600), os.Rename(path+".new", path)); err != nil {
			log.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()

	o := reload.Options{
		Check: func(data []byte) error {
			if !bytes.HasPrefix(data, []byte("listen ")) {
				return errors.New("nothing to listen on")
			}
			return nil
		},
		Refused: func(err error) {
			fmt.Println("refused:", errors.Unwrap(err))
			write("listen 3")
		},
	}
	write("listen 1")
	err = reload.Watch(ctx, path, o, func(v reload.Version) { // the bytes that were checked
		fmt.Printf("apply: %s\n", v.Data)
		switch string(v.Data) {
		case "listen 1":
			write("lisen 2")
		case "listen 3":
			stop()
		}
	})
	fmt.Println(err)
	// Output:
	// apply: listen 1
	// refused: nothing to listen on
	// apply: listen 3
	// context canceled
}

// A content is taken when it fits the checksum that its writer gave.
func ExampleRead() {
	dir, err := os.MkdirTemp("", "conf")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path, sum := filepath.Join(dir, "kb.conf"), filepath.Join(dir, "kb.conf.sha256")
	o := reload.Options{SumFile: sum}
	for _, text := range []string{"hello", "hell"} {
		const ofHello = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824  kb.conf\n"
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.WriteFile(sum, []byte(ofHello), 0o600)); err != nil {
			log.Fatal(err)
		}
		v, err := reload.Read(context.Background(), path, o)
		fmt.Printf("%q corrupt: %t\n", v.Data, errors.Is(err, reload.ErrSum))
	}
	// Output:
	// "hello" corrupt: false
	// "" corrupt: true
}
