package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/service"
)

// unitError is a definition that cannot be written or removed.
type unitError struct {
	err  error
	code int
	next string
}

func (e *unitError) Error() string { return e.err.Error() }

func (e *unitError) Unwrap() error { return e.err }

// place is the directory in which the manager looks.
func (f *unitFlags) place(j service.Job) (string, error) {
	switch {
	case f.to != "":
		return filepath.Abs(f.to)
	case f.onWindows():
		return "", &usageError{"Windows reads no directory for these: say --to DIR", "see solehold unit " + string(f.kind) + " --help"}
	case f.kind == service.Launchd && f.session:
		return filepath.Join(j.Home, "Library/LaunchAgents"), nil
	case f.kind == service.Launchd:
		return "/Library/LaunchDaemons", nil
	case f.session:
		config, err := os.UserConfigDir()
		return filepath.Join(config, "systemd/user"), err
	}
	return "/etc/systemd/system", nil
}

func (a *app) installUnit(f *unitFlags, j service.Job, files []service.File) error {
	dir, err := f.place(j)
	if err != nil {
		return err
	}
	if path := f.hidden(j, files); path != "" {
		return &unitError{fmt.Errorf("%s: this unit would be hidden by one of the same name", path), exitRefused, "give it another name with --unit, or say --to " + dir + " if it is to be hidden"}
	}
	if f.session && f.to == "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return f.placeError(dir, err)
		}
	}
	written, err := service.Install(dir, files)
	var other *service.DifferentError
	switch {
	case errors.As(err, &other):
		a.showDifference(other)
		return &unitError{err, exitRefused, "look at the difference; to replace it, remove it first (--uninstall, or by hand)"}
	case err != nil:
		return f.placeError(dir, err)
	}
	a.tellFiles("written", written, files, dir)
	a.tell("next: %s", f.afterInstall(j, dir, files))
	return nil
}

// hidden finds a unit of the same name where packages put theirs: systemd would
// take ours in its place. Who names the directory means it.
func (f *unitFlags) hidden(j service.Job, files []service.File) string {
	if f.to != "" || f.kind != service.Systemd && f.kind != service.Timer {
		return ""
	}
	places := []string{"/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"}
	if f.session {
		places = []string{filepath.Join(j.Home, ".local/share/systemd/user"), "/etc/systemd/user", "/usr/local/lib/systemd/user", "/usr/lib/systemd/user"}
	}
	for _, place := range places {
		for _, file := range files {
			path := filepath.Join(place, file.Name)
			if _, err := os.Lstat(path); err == nil {
				return path
			}
		}
	}
	return ""
}

// tellFiles answers with what was done to each file.
func (a *app) tellFiles(what string, done []string, files []service.File, dir string) {
	for _, file := range files {
		path, how := filepath.Join(dir, file.Name), what
		if !slices.Contains(done, path) {
			how = map[string]string{"written": "there already", "removed": "not there"}[what]
		}
		if a.json {
			a.printJSON(a.env.Stdout, map[string]string{"path": path, "done": how})
			continue
		}
		fmt.Fprintf(a.env.Stdout, "%s: %s\n", how, solehold.Printable(path))
	}
}

// tell prints what to do next beside an answer for people.
func (a *app) tell(format string, args ...any) {
	if !a.json {
		fmt.Fprintln(a.env.Stdout, solehold.Printable(fmt.Sprintf(format, args...)))
	}
}

func (f *unitFlags) afterInstall(j service.Job, dir string, files []service.File) string {
	last := filepath.Join(dir, files[len(files)-1].Name)
	switch f.kind {
	case service.Launchd:
		if f.session {
			return "launchctl bootstrap gui/$(id -u) " + last
		}
		return "launchctl bootstrap system " + last
	case service.Task:
		return fmt.Sprintf("schtasks /create /tn %s /xml %s", strings.TrimSuffix(files[0].Name, ".xml"), last)
	case service.WinSvc:
		return "powershell -ExecutionPolicy Bypass -File " + last
	}
	return f.systemctl() + "daemon-reload && " + f.systemctl() + "enable --now " + files[len(files)-1].Name
}

// systemctl begins a command for the manager that has the unit.
func (f *unitFlags) systemctl() string {
	if f.session {
		return "systemctl --user "
	}
	return "systemctl "
}

func (a *app) uninstallUnit(f *unitFlags, j service.Job, files []service.File) error {
	dir, err := f.place(j)
	if err != nil {
		return err
	}
	removed, err := service.Uninstall(dir, files)
	var foreign *service.ForeignError
	switch {
	case errors.As(err, &foreign):
		return &unitError{err, exitRefused, "if it is to go: " + f.systemctl() + "disable --now " + filepath.Base(foreign.Path) + ", then look at it and remove it"}
	case err != nil:
		return f.placeError(dir, err)
	}
	a.tellFiles("removed", removed, files, dir)
	if len(removed) > 0 && !f.onWindows() && f.kind != service.Launchd {
		a.tell("next: %sdaemon-reload", f.systemctl())
	}
	return nil
}

// placeError gives a file that cannot be written or removed its code and the
// next step.
func (f *unitFlags) placeError(dir string, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return &unitError{err, exitPermission, "do it as root, or for your own manager with --session, or elsewhere with --to DIR"}
	case errors.Is(err, fs.ErrNotExist):
		return &unitError{fmt.Errorf("%s: there is no such directory, so no %s looks there", dir, manager(f.kind)), exitCreate, "print it without --install, or name a directory with --to DIR"}
	}
	return &unitError{err, exitCreate, ""}
}

func manager(k service.Kind) string {
	if k == service.Launchd {
		return "launchd"
	}
	return "systemd"
}

// showDifference prints what the file that is there has, and what it would get.
func (a *app) showDifference(e *service.DifferentError) {
	if e.Masked || a.json {
		return
	}
	text := diff.Diff(e.Path, e.There, "wanted", e.Wanted)
	fmt.Fprint(a.env.Stdout, printableLines(string(text)))
}

// printableLines is solehold.Printable for a text of several lines.
func printableLines(text string) string {
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		whole, end := strings.CutSuffix(line, "\n")
		lines[i] = solehold.Printable(whole)
		if end {
			lines[i] += "\n"
		}
	}
	return strings.Join(lines, "")
}
