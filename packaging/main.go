// Command packaging makes the deb and the rpm of solehold from what make dist has
// built. It is a module of its own: the packager brings thirty modules, of which
// neither the library nor its programs need one.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
)

// order is what is to be packed.
type order struct {
	version, arch string
	bin           string // directory of the programs
	share         string // directory of what mangen has written
	docs          string // the root of the repository
	out           string // directory of the packages
}

func main() {
	var o order
	flag.StringVar(&o.version, "version", "", "version of the packages")
	flag.StringVar(&o.arch, "arch", "", "architecture, as Go calls it")
	flag.StringVar(&o.bin, "bin", "", "directory of the programs")
	flag.StringVar(&o.share, "share", "", "directory of manual pages, completions and the journal's catalogue")
	flag.StringVar(&o.docs, "docs", "", "directory of README.md, CHANGELOG.md and LICENSE")
	flag.StringVar(&o.out, "out", "", "directory for the packages")
	flag.Parse()
	if err := o.pack(); err != nil {
		fmt.Fprintln(os.Stderr, "packaging:", err)
		os.Exit(1)
	}
}

// pack makes both packages.
func (o order) pack() error {
	for _, p := range []nfpm.Packager{deb.Default, rpm.DefaultRPM} {
		info, err := o.info()
		if err != nil {
			return err
		}
		name := filepath.Join(o.out, p.ConventionalFileName(info))
		if err := write(name, p, info); err != nil {
			os.Remove(name)
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Println(name)
	}
	return nil
}

func write(name string, p nfpm.Packager, info *nfpm.Info) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := p.Package(info, f); err != nil {
		return err
	}
	return f.Sync()
}

// info describes the package. It is made anew for each, since packagers change it.
func (o order) info() (*nfpm.Info, error) {
	contents, err := o.contents()
	if err != nil {
		return nil, err
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "solehold", Arch: o.arch, Platform: "linux", Version: o.version, Section: "admin", Priority: "optional",
		Maintainer: "The solehold authors <solehold@users.noreply.github.com>", Homepage: "https://github.com/solehold/solehold", License: "Apache-2.0",
		Description: "One live owner for every data directory, and proof of who it is.\nRuns a service only if its data directory has no owner, says who has it, and\nkeeps its history.",
		MTime:       stamp(),
	})
	info.Contents = contents
	// What the journal is to say of our events is compiled into one file for all.
	scripts := filepath.Join(o.docs, "packaging", "scripts")
	info.Scripts.PostInstall, info.Scripts.PostRemove = filepath.Join(scripts, "catalog.sh"), filepath.Join(scripts, "catalog.sh")
	return info, nil
}

// stamp is the time of what is packed, so that the same is packed twice.
func stamp() time.Time {
	if n, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		return time.Unix(n, 0).UTC()
	}
	return time.Now().UTC()
}

// contents lists every file and where it goes.
func (o order) contents() (files.Contents, error) {
	places := []struct{ pattern, to string }{
		{filepath.Join(o.bin, "solehold*"), "/usr/bin/"},
		{filepath.Join(o.share, "man1", "*.1"), "/usr/share/man/man1/"},
		{filepath.Join(o.share, "completion", "solehold.bash"), "/usr/share/bash-completion/completions/solehold"},
		{filepath.Join(o.share, "completion", "_solehold"), "/usr/share/zsh/vendor-completions/_solehold"},
		{filepath.Join(o.share, "completion", "solehold.fish"), "/usr/share/fish/vendor_completions.d/solehold.fish"},
		{filepath.Join(o.share, "solehold.catalog"), "/usr/lib/systemd/catalog/solehold.catalog"},
		{filepath.Join(o.docs, "README.md"), "/usr/share/doc/solehold/"},
		{filepath.Join(o.docs, "CHANGELOG.md"), "/usr/share/doc/solehold/"},
		{filepath.Join(o.docs, "LICENSE"), "/usr/share/doc/solehold/copyright"},
	}
	all := files.Contents{{Destination: "/usr/share/doc/solehold", Type: files.TypeDir, FileInfo: &files.ContentFileInfo{Mode: 0o755, MTime: stamp()}}}
	for _, p := range places {
		found, err := filepath.Glob(p.pattern)
		if err != nil || len(found) == 0 {
			return nil, fmt.Errorf("%s: nothing there to be packed (%v)", p.pattern, err)
		}
		for _, source := range found {
			to, mode := p.to, os.FileMode(0o644)
			if strings.HasSuffix(to, "/") {
				to += filepath.Base(source)
			}
			if p.to == "/usr/bin/" {
				mode = 0o755
			}
			all = append(all, &files.Content{Source: source, Destination: to, FileInfo: &files.ContentFileInfo{Mode: mode, MTime: stamp()}})
		}
	}
	return all, nil
}
