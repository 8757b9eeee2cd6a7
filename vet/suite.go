// Package vet has analyzers that find lock mistakes before they run: each is a folder with its name, its text shows the
// mistake and the right way, and [Suite] has them all.
//
// They read one package at a time and prefer silence to a wrong report. What each one cannot see stands in its text;
// what they find in well-known code is in docs/vet-survey.md. Run them by
//
//	solehold vet ./...
//	go vet -vettool=$(which solehold-vet) ./...
//
// or as a module plugin of golangci-lint: see the package vet/plugin. Test files are not judged: tests break locks on
// purpose. A comment with a reason silences one report:
//
//	//solehold:allow NAME reason
package vet

import (
	"golang.org/x/tools/go/analysis"

	"github.com/solehold/solehold/vet/leaselost"
	"github.com/solehold/solehold/vet/lockage"
	"github.com/solehold/solehold/vet/lockcloexec"
	"github.com/solehold/solehold/vet/lockexec"
	"github.com/solehold/solehold/vet/lockexit"
	"github.com/solehold/solehold/vet/locklost"
	"github.com/solehold/solehold/vet/lockremove"
	"github.com/solehold/solehold/vet/locktemp"
	"github.com/solehold/solehold/vet/locktrunc"
	"github.com/solehold/solehold/vet/mmapclose"
	"github.com/solehold/solehold/vet/pidalive"
	"github.com/solehold/solehold/vet/posixlock"
	"github.com/solehold/solehold/vet/recordwrite"
	"github.com/solehold/solehold/vet/removeall"
)

// Suite gives all analyzers, by name.
func Suite() []*analysis.Analyzer {
	return []*analysis.Analyzer{
		leaselost.Analyzer(),
		lockage.Analyzer(),
		lockcloexec.Analyzer(),
		lockexec.Analyzer(),
		lockexit.Analyzer(),
		locklost.Analyzer(),
		lockremove.Analyzer(),
		locktemp.Analyzer(),
		locktrunc.Analyzer(),
		mmapclose.Analyzer(),
		pidalive.Analyzer(),
		posixlock.Analyzer(),
		recordwrite.Analyzer(),
		removeall.Analyzer(),
	}
}
