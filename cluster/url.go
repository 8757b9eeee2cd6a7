package cluster

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"
)

// ErrURL is wrapped by every error of [ParseURL].
var ErrURL = errors.New("not a cluster URL")

var errPassword = fmt.Errorf("%w: it has a password, which every user of this machine can see in a command line: "+
	"use password-file=FILE or the variable %s", ErrURL, PasswordVariable)

// PasswordVariable is the environment variable that a password is taken from.
const PasswordVariable = "SOLEHOLD_CLUSTER_PASSWORD"

// Target is where an engine is and how it is used.
type Target struct {
	// Engine is the scheme: etcd, redis, zookeeper, postgres.
	Engine string
	// Hosts are host:port, in the order of the URL; an engine may have a default port.
	Hosts []string
	// Prefix is the path: under it lies all that is written. "/solehold" by default.
	Prefix string
	// TTL, Grace and Delay are as in Options; 0 where the URL has none.
	TTL, Grace, Delay time.Duration
	// User and Password are the credential. The password comes from a file or the environment, never from the URL.
	User, Password string
	// TLS is on when the URL says so or names a file for it.
	TLS bool
	// CAFile, CertFile and KeyFile are PEM files for TLS.
	CAFile, CertFile, KeyFile string
	// Params are the other parameters; the engine refuses what it does not know.
	Params url.Values
}

// Sources are where secrets come from.
type Sources struct {
	// Env looks up an environment variable.
	Env func(string) string
	// ReadFile reads a file.
	ReadFile func(string) ([]byte, error)
}

// ParseURL reads etcd://h1:2379,h2:2379/prefix?ttl=15s. The parameters ttl, grace, delay, user, password-file, tls, ca,
// cert and key are for every engine. A password in the URL is refused: command lines are seen by every user of a machine.
// No error shows what may be a secret.
func ParseURL(raw string, from Sources) (Target, error) {
	u, err := splitURL(raw)
	if err != nil {
		return Target{}, err
	}
	q, err := url.ParseQuery(u.query)
	if err != nil {
		return Target{}, fmt.Errorf("%w: its parameters cannot be read", ErrURL)
	}
	t := Target{Engine: u.scheme, Hosts: u.hosts, Prefix: u.path, User: u.user, Params: q}
	t.CAFile, t.CertFile, t.KeyFile = t.pop("ca"), t.pop("cert"), t.pop("key")
	if user := t.pop("user"); user != "" {
		t.User = user
	}
	switch v := t.pop("tls"); v {
	case "", "0", "false":
	case "1", "true":
		t.TLS = true
	default:
		return Target{}, fmt.Errorf("%w: tls is 1 or 0", ErrURL)
	}
	t.TLS = t.TLS || t.CAFile+t.CertFile+t.KeyFile != ""
	return t, errors.Join(t.times(), t.secret(from))
}

// pieces are the parts of a URL. Package url does not take several hosts with ports, and its errors show the whole text.
type pieces struct {
	scheme, user, path, query string
	hosts                     []string
}

func splitURL(raw string) (p pieces, err error) {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok || scheme == "" {
		return p, fmt.Errorf("%w: want ENGINE://HOST:PORT,.../PREFIX?ttl=15s", ErrURL)
	}
	rest, p.query, _ = strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(rest, "/")
	if strings.Contains(path, "@") {
		return p, errPassword // with a slash in it; no prefix has one
	}
	if i := strings.LastIndex(authority, "@"); i >= 0 {
		user, _, secret := strings.Cut(authority[:i], ":")
		if secret {
			return p, errPassword
		}
		if p.user, err = url.PathUnescape(user); err != nil {
			return p, fmt.Errorf("%w: its user cannot be read", ErrURL)
		}
		authority = authority[i+1:]
	}
	p.scheme, p.hosts = strings.ToLower(scheme), strings.Split(authority, ",")
	for _, h := range p.hosts {
		if !validHost(h) {
			return p, fmt.Errorf("%w: %.80q is not HOST or HOST:PORT", ErrURL, h)
		}
	}
	if p.path, err = url.PathUnescape(strings.Trim(path, "/")); err != nil || strings.Contains(p.path, "..") {
		return p, fmt.Errorf("%w: its prefix cannot be used", ErrURL)
	}
	if p.path == "" {
		p.path = "solehold"
	}
	p.path = "/" + p.path
	return p, nil
}

// validHost takes HOST, HOST:PORT and [IPV6]:PORT.
func validHost(h string) bool {
	if host, port, err := net.SplitHostPort(h); err == nil {
		return host != "" && port != ""
	}
	return h != "" && !strings.ContainsAny(h, ":/@[] ")
}

// pop takes a parameter out.
func (t *Target) pop(key string) string {
	v := t.Params.Get(key)
	t.Params.Del(key)
	return v
}

func (t *Target) times() error {
	for key, p := range map[string]*time.Duration{"ttl": &t.TTL, "grace": &t.Grace, "delay": &t.Delay} {
		v := t.pop(key)
		if v == "" {
			continue
		}
		d, err := time.ParseDuration(v)
		if err != nil || d <= 0 {
			return fmt.Errorf("%w: %s is a time such as 15s", ErrURL, key)
		}
		*p = d
	}
	return nil
}

// secret reads the password.
func (t *Target) secret(from Sources) error {
	if t.Params.Has("password") {
		return errPassword
	}
	file := t.pop("password-file")
	if file == "" {
		if from.Env != nil {
			t.Password = from.Env(PasswordVariable)
		}
		return nil
	}
	if from.ReadFile == nil {
		return fmt.Errorf("%w: no file can be read here", ErrURL)
	}
	b, err := from.ReadFile(file)
	if err != nil {
		return fmt.Errorf("%w: password-file: %w", ErrURL, err)
	}
	t.Password = strings.TrimRight(string(b), "\r\n")
	return nil
}

// String gives where the engine is, without parameters and without the password.
func (t Target) String() string {
	return fmt.Sprintf("%s://%s%s", t.Engine, strings.Join(t.Hosts, ","), t.Prefix)
}

// Options gives the options that the URL has a say in, checked with the sum when they cannot work.
func (t Target) Options() (Options, error) {
	o := Options{TTL: t.TTL, Grace: t.Grace, Delay: t.Delay}
	if o.TTL == 0 {
		o.TTL = DefaultTTL
	}
	return o, o.check()
}

// WithPort gives the hosts, with a port where there is none.
func (t Target) WithPort(port string) []string {
	all := slices.Clone(t.Hosts)
	for i, h := range all {
		if _, _, err := net.SplitHostPort(h); err != nil {
			all[i] = net.JoinHostPort(h, port)
		}
	}
	return all
}

// Unknown refuses parameters that are none of those which the engine knows.
func (t Target) Unknown(known ...string) error {
	for key := range t.Params {
		if slices.Contains(known, key) {
			continue
		}
		return fmt.Errorf("%w: %s does not know the parameter %.40q", ErrURL, t.Engine, key)
	}
	return nil
}
