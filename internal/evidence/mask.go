package evidence

import (
	"regexp"
	"strings"
)

const masked = "***"

// secretName tells names whose values are not for a ticket.
func secretName(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{"pass", "secret", "token", "key", "auth", "cred", "cookie", "session", "private", "dsn", "sas"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// maskEnv masks the values of variables whose name or value looks like a secret.
func maskEnv(vars []string) []string {
	out := make([]string, len(vars))
	for i, v := range vars {
		name, value, ok := strings.Cut(v, "=")
		switch {
		case ok && secretName(name) && !strings.HasPrefix(name, "SOLEHOLD_"):
			out[i] = name + "=" + masked
		case ok:
			out[i] = name + "=" + maskText(value)
		default:
			out[i] = v
		}
	}
	return out
}

// maskArgs masks the values of options that look like secrets, written as
// --name=value or --name value, and passwords in URLs.
func maskArgs(args []string) []string {
	out := make([]string, len(args))
	hideNext := false
	for i, a := range args {
		name, _, ok := strings.Cut(a, "=")
		option := strings.HasPrefix(a, "-")
		switch {
		case hideNext && !option:
			out[i] = masked
		case ok && secretName(name):
			out[i] = name + "=" + masked
		default:
			out[i] = maskText(a)
		}
		hideNext = option && !ok && secretName(a)
	}
	return out
}

// maskText masks what is secret wherever it stands: the password of a URL, a
// bearer token, and the values of assignments with telling names.
func maskText(s string) string {
	s = regexp.MustCompile(`(://[^/\s:@]*:)[^@/\s]+@`).ReplaceAllString(s, "${1}"+masked+"@")
	s = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}`).ReplaceAllString(s, "$1 "+masked)
	return regexp.MustCompile(`(?i)\b([\w.-]*(?:pass(?:word|wd)?|secret|token|api_?key)[\w.-]*\s*[=:]\s*)("[^"]*"|\S+)`).ReplaceAllString(s, "${1}"+masked)
}
