package evidence

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

// lastWordsName is the part that came after the incident was taken.
const lastWordsName = "last-output.txt"

// Amend adds what a service still printed when it was stopped, after the incident
// was saved: the stacks that Go and Java programs print on SIGQUIT. Where they
// show who waits for whom, the finding says so, and the new finding is returned.
func Amend(state *os.Root, id string, output []byte) (finding string, err error) {
	in, err := Load(state.FS(), id)
	if err != nil {
		return "", err
	}
	dir := path.Join(Folder, id)
	if len(output) > DefaultBytes {
		output = output[len(output)-DefaultBytes:]
	}
	if err := state.WriteFile(path.Join(dir, lastWordsName), output, 0o640); err != nil {
		return "", err
	}
	dump := goroutines(output)
	if dump == "" || strings.Contains(in.Finding, dump) {
		return in.Finding, nil
	}
	before := in.Finding
	in.Finding += " " + dump
	meta, err := json.MarshalIndent(in, "", "  ")
	if err != nil {
		return "", err
	}
	page, err := fs.ReadFile(state.FS(), path.Join(dir, summaryName))
	if err != nil {
		return "", err
	}
	text := in.Finding + strings.TrimPrefix(string(page), before) +
		fmt.Sprintf("\nAdded when it was stopped: the stacks in %s.\n", lastWordsName)
	if err := state.WriteFile(path.Join(dir, summaryName), []byte(text), 0o640); err != nil {
		return "", err
	}
	return in.Finding, state.WriteFile(path.Join(dir, metaName), append(meta, '\n'), 0o640)
}
