package plugin_test

import (
	"strings"
	"testing"

	"github.com/golangci/plugin-module-register/register"

	"github.com/solehold/solehold/vet"
	"github.com/solehold/solehold/vet/plugin"
)

func analyzers(t *testing.T, conf any) []string {
	t.Helper()
	make, err := register.GetPlugin(plugin.Name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := make(conf)
	if err != nil {
		t.Fatal(err)
	}
	if p.GetLoadMode() != register.LoadModeTypesInfo {
		t.Errorf("load mode %q: the analyzers need types", p.GetLoadMode())
	}
	all, err := p.BuildAnalyzers()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, a := range all {
		names = append(names, a.Name)
	}
	return names
}

func TestImportRegisters(t *testing.T) {
	if got := analyzers(t, nil); len(got) != len(vet.Suite()) {
		t.Errorf("without settings: %v", got)
	}
}

func TestDisable(t *testing.T) {
	got := analyzers(t, map[string]any{"disable": []string{"lockexec", "lockage"}})
	if len(got) != len(vet.Suite())-2 || strings.Contains(strings.Join(got, " "), "lockexec") {
		t.Errorf("without two: %v", got)
	}
}

func TestWrongSettings(t *testing.T) {
	for want, conf := range map[string]any{
		`no analyzer is called "lockexe"`: map[string]any{"disable": []string{"lockexe"}},
		`unknown field "enable"`:          map[string]any{"enable": []string{"lockexec"}},
	} {
		if _, err := plugin.New(conf); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", conf, err, want)
		}
	}
}
