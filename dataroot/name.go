package dataroot

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxName is the longest name of a service or an instance, in bytes: sockets below
// a root still fit into the 108 bytes that a socket's path may have.
const maxName = 32

// ErrName is wrapped by every error about a name.
var ErrName = errors.New("not a name for a data root")

// NameError says what is wrong with a name.
type NameError struct {
	// Name is what was given.
	Name string
	// Why is the reason in words.
	Why string
}

// Error names both.
func (e *NameError) Error() string { return fmt.Sprintf("%q: %v: %s", e.Name, ErrName, e.Why) }

// Unwrap returns ErrName.
func (e *NameError) Unwrap() error { return ErrName }

// CheckName returns an error unless a name means the same directory everywhere:
// 1 to 32 of a-z, 0-9, '-', '_' and '.', beginning and ending with a letter or
// digit, and none of the words that Windows keeps for devices. Capitals are
// refused because some file systems do not tell them apart, everything beyond
// ASCII because it has several spellings.
func CheckName(name string) error {
	wrong := func(why string) error { return &NameError{Name: name, Why: why} }
	switch {
	case name == "":
		return wrong("it is empty")
	case len(name) > maxName:
		return wrong(fmt.Sprintf("it has %d bytes, and %d are the most", len(name), maxName))
	case !plain(name[0]) || !plain(name[len(name)-1]):
		return wrong("it must begin and end with a letter a-z or a digit")
	case strings.Contains(name, ".."):
		return wrong("it has two dots in a row")
	}
	if i := strings.IndexFunc(name, func(r rune) bool { return r > 0x7f || !plain(byte(r)) && !strings.ContainsRune("-_.", r) }); i >= 0 {
		return wrong(fmt.Sprintf("%q is not one of a-z, 0-9, '-', '_' and '.'", []rune(name[i:])[0]))
	}
	word, _, _ := strings.Cut(name, ".")
	if slices.Contains([]string{"con", "prn", "aux", "nul", "clock$"}, word) || device(word) {
		return wrong("Windows keeps that name for a device")
	}
	return nil
}

func plain(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

func device(word string) bool {
	return len(word) == 4 && (strings.HasPrefix(word, "com") || strings.HasPrefix(word, "lpt")) && word[3] >= '0' && word[3] <= '9'
}

// folder is the directory of a service and an instance. The separator is in
// neither, so no two pairs give one folder.
func folder(name, instance string) (string, error) {
	if err := CheckName(name); err != nil {
		return "", err
	}
	if instance == "" {
		return name, nil
	}
	if err := CheckName(instance); err != nil {
		return "", err
	}
	return name + "@" + instance, nil
}

// split is the way back; ok is false for what is no root's name.
func split(folder string) (name, instance string, ok bool) {
	name, instance, at := strings.Cut(folder, "@")
	return name, instance, CheckName(name) == nil && (!at || CheckName(instance) == nil)
}
