package testneed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// wineTime bounds every step of making and ending a prefix.
const wineTime = 3 * time.Minute

// Windows is a Windows of one test: a Wine prefix with its own disk and server.
type Windows struct {
	wine, prefix, home string
}

// Wine needs Wine, and makes a Windows in a directory of the test that ends with
// it. That takes seconds: one for each package is enough.
func Wine(t testing.TB) *Windows {
	t.Helper()
	const get = "apt-get install wine wine64 gcc-mingw-w64-x86-64"
	w := &Windows{wine: Program(t, "wine", get), prefix: t.TempDir(), home: t.TempDir()}
	Feature(t, Find("wine64") != "" || fileExists("/usr/lib/wine/wine64"), "wine64", get)
	server := Program(t, "wineserver", get)
	t.Cleanup(func() {
		w.do(t, server, "-k")
		w.do(t, server, "-w")
		w.endRest()
	})
	// A server that ends with its last program meets the next one on its way out.
	if err := w.do(t, server, "-p60"); err != nil {
		t.Fatal(err)
	}
	w.do(t, w.wine, "wineboot", "-i")
	w.addRandom(t, get)
	return w
}

// endRest ends what is left: a program that was just being started when its server ended waits for that for ever. Ours are
// those that have the prefix in their environment.
func (w *Windows) endRest() {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		environ, err := os.ReadFile(dir + "/environ")
		if err != nil || !strings.Contains("\x00"+string(environ), "\x00WINEPREFIX="+w.prefix+"\x00") {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil && pid != os.Getpid() {
			if p, err := os.FindProcess(pid); err == nil {
				p.Kill()
			}
		}
	}
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// addRandom adds the library from which Go takes random numbers, where Wine has
// none (before 9.0): all it has is another name for what Wine does have.
func (w *Windows) addRandom(t testing.TB, get string) {
	t.Helper()
	library := filepath.Join(w.Disk(), "windows", "system32", "bcryptprimitives.dll")
	if fileExists(library) {
		return
	}
	gcc := Program(t, "x86_64-w64-mingw32-gcc", get)
	names := filepath.Join(w.home, "names.def")
	text := "LIBRARY bcryptprimitives\nEXPORTS\nProcessPrng=advapi32.SystemFunction036\n"
	if err := os.WriteFile(names, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := w.do(t, gcc, "-shared", "-nostdlib", "-Wl,--entry=0", "-o", library, names, "-ladvapi32"); err != nil {
		t.Fatal(err)
	}
}

// do runs a program of this system with the environment of w. What it answers is the
// caller's; one that does not end fails the test.
func (w *Windows) do(t testing.TB, program string, args ...string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wineTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = w.environment()
	cmd.WaitDelay = time.Second // the server it may have started keeps its output open
	out, err := cmd.CombinedOutput()
	switch {
	case errors.Is(err, exec.ErrWaitDelay):
		err = nil // by that server; the program itself has ended well
	case err != nil:
		err = fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, out)
	}
	if err != nil && ctx.Err() != nil {
		t.Error(err)
	}
	return err
}

func (w *Windows) environment() []string {
	return append(os.Environ(), "HOME="+w.home, "WINEPREFIX="+w.prefix, "WINEARCH=win64", "WINEDEBUG=-all",
		"WINEDLLOVERRIDES=bcryptprimitives=n,b;mscoree=;mshtml=")
}

// Disk is the path of drive C: on this system.
func (w *Windows) Disk() string { return filepath.Join(w.prefix, "drive_c") }

// Path is how programs of w call a path of this system.
func (w *Windows) Path(path string) string { return "Z:" + strings.ReplaceAll(path, "/", `\`) }

// Command is a Windows program, by its path on this system. It is a process of
// this system as well: killing it is killing the program.
func (w *Windows) Command(ctx context.Context, exe string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, w.wine, append([]string{w.Path(exe)}, args...)...)
	cmd.Env = w.environment()
	return cmd
}
