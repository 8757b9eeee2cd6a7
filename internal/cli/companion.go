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
	if claims(args) {
		return 0, false
	}
	if len(args) > 2 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		return 0, completed(args[0], args[1:])
	}
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

// known are the companions whose words a shell is told, with what they are for.
func known() [][2]string {
	return [][2]string{
		{"cluster", "Look at the locks of a cluster, and change them by hand"},
		{"drill", "Force races and faults on a command, and count its owners"},
		{"lab", "Try claims about locks in live experiments"},
		{"probe", "Ask a service once whether it is well"},
		{"serve", "Show on a local page who owns which data directory"},
	}
}

// verbs are the commands that companions which are installed add to ours, for a shell.
func verbs(*cobra.Command, []string, string) (all []cobra.Completion, _ cobra.ShellCompDirective) {
	for _, c := range known() {
		name, _ := companionOf(c[:1])
		if _, ok := findCompanion(name); ok {
			all = append(all, cobra.CompletionWithDesc(c[0], c[1]))
		}
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}

// completed lets a companion tell a shell the words of its verb. It does not return
// then; it is false where the words are ours.
func completed(request string, args []string) bool {
	ours := !clustered(args) && !slices.ContainsFunc(known(), func(c [2]string) bool { return c[0] == args[0] })
	name, words := companionOf(args)
	path, ok := findCompanion(name)
	if ours || !ok {
		return false
	}
	become(path, append([]string{path, request}, words...)) // a shell cannot be told why not
	return false
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
		if c.Name() == verb && verb != clusterVerb || c.HasAlias(verb) {
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
