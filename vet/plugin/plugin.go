// Package plugin makes the analyzers a module plugin of golangci-lint:
//
//	# .custom-gcl.yml
//	version: v2.12.0
//	plugins:
//	  - module: github.com/solehold/solehold
//	    import: github.com/solehold/solehold/vet/plugin
//	    version: v1.0.0
//
//	# .golangci.yml
//	version: "2"
//	linters:
//	  enable: [solehold]
//	  settings:
//	    custom:
//	      solehold:
//	        type: module
//	        settings:
//	          disable: [lockexec]
//
// `golangci-lint custom` then builds a golangci-lint with them.
package plugin

import (
	"fmt"
	"slices"

	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/solehold/solehold/vet"
)

// Name is that of the linter in golangci-lint's settings.
const Name = "solehold"

// Settings are what golangci-lint passes on from its configuration.
type Settings struct {
	// Disable names analyzers that are not run.
	Disable []string `json:"disable"`
}

// linter is the plugin with its settings.
type linter struct{ settings Settings }

//archtest:allow init golangci-lint imports a plugin for nothing but this call; there is no other way in
func init() { register.Plugin(Name, New) }

// New makes the plugin. Settings that it does not know, and analyzers that do not exist, are errors.
func New(conf any) (register.LinterPlugin, error) {
	s, err := register.DecodeSettings[Settings](conf)
	if err != nil {
		return nil, err
	}
	for _, name := range s.Disable {
		if !slices.ContainsFunc(vet.Suite(), func(a *analysis.Analyzer) bool { return a.Name == name }) {
			return nil, fmt.Errorf("settings of %s: no analyzer is called %q; solehold-vet help lists them", Name, name)
		}
	}
	return linter{s}, nil
}

// BuildAnalyzers gives the analyzers that are not disabled.
func (l linter) BuildAnalyzers() ([]*analysis.Analyzer, error) {
	return slices.DeleteFunc(vet.Suite(), func(a *analysis.Analyzer) bool { return slices.Contains(l.settings.Disable, a.Name) }), nil
}

// GetLoadMode asks for types.
func (l linter) GetLoadMode() string { return register.LoadModeTypesInfo }
