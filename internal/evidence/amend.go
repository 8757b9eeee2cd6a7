package evidence

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"strings"
	"time"
)

const (
	// lastWordsName is the part that came after the incident was taken.
	lastWordsName = "last-output.txt"
	// amendPatience is how long one call may take.
	amendPatience = 2 * time.Second
)

// Amend adds what a service still printed when it was stopped, after the incident
// was saved: the stacks that Go and Java programs print on SIGQUIT. Where they
// show who waits for whom, the finding says so from now on, and is returned.
func Amend(state *os.Root, id string, output []byte) (finding string, err error) {
	in, err := Load(state, id)
	if err != nil {
		return "", err
	}
	f := &folder{state: state, name: path.Join(Folder, id), patience: amendPatience}
	if err := f.put(lastWordsName, string(output[max(0, len(output)-DefaultBytes):])); err != nil {
		return "", err
	}
	dump := printable(goroutines(output))
	if dump == "" || strings.Contains(in.Finding, dump) {
		return in.Finding, nil
	}
	page, _, err := Part(state, id, summaryName)
	if err != nil {
		return "", err
	}
	rest := strings.TrimPrefix(string(page), in.Finding)
	in.Finding += " " + dump
	meta, err := json.MarshalIndent(in, "", "  ")
	if err != nil {
		return "", err
	}
	f.replace(summaryName, fmt.Sprintf("%s%s\nAdded when it was stopped: the stacks in %s.\n", in.Finding, rest, lastWordsName))
	f.replace(metaName, string(meta)+"\n")
	return in.Finding, f.err
}
