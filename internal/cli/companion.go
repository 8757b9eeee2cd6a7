package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// companion runs solehold-VERB for a verb that is not built in: the parts with
// heavy dependencies are programs of their own. It looks beside this program
// first, then on PATH. ran is false where the verb is ours, or nobody's.
func companion(env Env, root *cobra.Command, args []string) (code int, ran bool) {
	if !clustered(args) &&
		(len(args) == 0 || strings.HasPrefix(args[0], "-") || strings.ContainsAny(args[0], "/\\.") || builtIn(root, args[0])) {
		return 0, false
	}
	name, words := companionOf(args)
	path, ok := findCompanion(name)
	switch {
	case !ok && clustered(args):
		return (&app{env: env}).fail(errNoCluster), true
	case !ok:
		return 0, false
	}
	err := become(path, append([]string{path}, words...))
	fmt.Fprintf(env.Stderr, "solehold: %s: %v\n", path, err)
	return exitCreate, true
}

// clustered are the commands that the cluster's companion has too: those about an
// engine instead of a directory.
func clustered(args []string) bool {
	return len(args) > 0 && slices.Contains([]string{"status", "history", "doctor"}, args[0]) &&
		slices.ContainsFunc(args, func(s string) bool { return s == "--cluster" || strings.HasPrefix(s, "--cluster=") })
}

// companionOf gives the program of a verb, and its words: those after the verb,
// or with it where one program has several.
func companionOf(args []string) (name string, words []string) {
	switch args[0] {
	case "drill", "lab":
		return "solehold-drill", args
	case "status", "history", "doctor":
		return clusterProgram, args
	}
	return "solehold-" + args[0], args[1:]
}

func builtIn(root *cobra.Command, verb string) bool {
	for _, c := range root.Commands() {
		if c.Name() == verb || c.HasAlias(verb) {
			return true
		}
	}
	return verb == "help" || verb == "completion" || strings.HasPrefix(verb, "__")
}

func findCompanion(name string) (string, bool) {
	if self, err := os.Executable(); err == nil {
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(self), name)); err == nil {
			return path, true
		}
	}
	path, err := exec.LookPath(name)
	return path, err == nil && !errors.Is(err, exec.ErrDot)
}
