package locks

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"path"
	"strconv"
	"strings"
)

// Same says whether two expressions are surely one path: one constant, one variable that is set once, one field, or
// the same made of these.
func (x *Index) Same(a, b ast.Expr) bool {
	if a == nil || b == nil {
		return false
	}
	k := x.Key(a)
	return k != "" && k == x.Key(b)
}

// Key gives a text that is the same for expressions of one path, and "" where e cannot be followed.
func (x *Index) Key(e ast.Expr) string { return x.key(e, 6) }

func (x *Index) key(e ast.Expr, depth int) string {
	if s, ok := x.Str(e); ok {
		return strconv.Quote(s)
	}
	if depth == 0 || e == nil {
		return ""
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return x.key(e.X, depth-1)
	case *ast.Ident, *ast.SelectorExpr:
		return x.varKey(x.Root(e), depth)
	case *ast.BinaryExpr:
		if s, ok := x.Str(e.Y); ok && e.Op == token.ADD && strings.HasPrefix(s, "/") {
			return x.joined(depth, []ast.Expr{e.X}, strconv.Quote(s[1:]))
		}
		return x.joined(depth, []ast.Expr{e.X, e.Y}, "", e.Op.String())
	case *ast.CallExpr:
		return x.callKey(e, depth)
	}
	return ""
}

// varKey follows a variable that is set once. A field that is set in several places stands for itself; a variable that
// is may mean another path each time.
func (x *Index) varKey(v types.Object, depth int) string {
	if v == nil {
		return ""
	}
	itself := fmt.Sprintf("var%d", v.Pos())
	s := x.Sources(v)
	field := v.(*types.Var).IsField()
	switch {
	case len(s) == 0, field && len(s) > 1:
		return itself
	case len(s) > 1 || s[0].Expr == nil:
		return ""
	}
	if s[0].Result == 0 {
		if k := x.key(s[0].Expr, depth-1); k != "" {
			return k
		}
	}
	return itself
}

// joined makes the key of a path that is put together.
func (x *Index) joined(depth int, parts []ast.Expr, rest ...string) string {
	var keys []string
	for _, p := range parts {
		k := x.key(p, depth-1)
		if k == "" {
			return ""
		}
		keys = append(keys, k)
	}
	return "join(" + strings.Trim(strings.Join(append(keys, rest...), ","), ",") + ")"
}

func (x *Index) callKey(e *ast.CallExpr, depth int) string {
	c := x.Call(e)
	switch {
	case c == nil || e.Ellipsis.IsValid():
		return ""
	case c.Name == "filepath.Join":
		return x.joined(depth, e.Args)
	case c.Name == "os.File.Name", c.Name == "gofrs.Flock.Path", c.Name == "gofrs.Flock.String":
		if o := x.Openers(x.Root(c.Recv())); len(o) == 1 {
			return x.key(o[0].Path(), depth-1)
		}
		return ""
	case c.Name == "os.MkdirTemp", c.Name == "os.CreateTemp":
		return "" // another each time
	}
	args := e.Args
	if r := c.Recv(); r != nil {
		args = append([]ast.Expr{r}, args...)
	}
	return x.joined(depth, args, fmt.Sprintf("call%d", c.Func.Pos()))
}

// Str gives the value of a constant string.
func (x *Index) Str(e ast.Expr) (string, bool) {
	if e == nil {
		return "", false
	}
	v := x.info.Types[e].Value
	if v == nil || v.Kind() != constant.String {
		return "", false
	}
	return constant.StringVal(v), true
}

// Follow gives the expression behind a variable that is set once, and e itself where there is none.
func (x *Index) Follow(e ast.Expr) ast.Expr {
	for range 4 {
		v := x.Root(e)
		s := x.Sources(v)
		if v == nil || len(s) != 1 || s[0].Expr == nil || s[0].Result != 0 {
			return e
		}
		e = s[0].Expr
	}
	return e
}

// LockNamed says whether a path is a lock file by its name: a constant end such as ".lock", or a variable such as
// lockPath.
func (x *Index) LockNamed(e ast.Expr) bool {
	return x.named(e, []string{".lock", ".lck"}, []string{"lock", "lck"})
}

// PidNamed says whether a path is a pid file by its name.
func (x *Index) PidNamed(e ast.Expr) bool {
	return x.named(e, []string{".pid"}, []string{"pid"})
}

func (x *Index) named(e ast.Expr, ends, words []string) bool {
	if e == nil {
		return false
	}
	if v := x.Root(e); v != nil && fileWord(v.Name(), words) {
		return true
	}
	base := path.Base(x.lastConst(e))
	for _, s := range ends {
		if strings.HasSuffix(base, s) || base == strings.TrimPrefix(s, ".") {
			return true
		}
	}
	return false
}

// fileWord says whether a name is one of the words followed by "file" or "path", in any writing.
func fileWord(name string, words []string) bool {
	name = strings.ToLower(strings.ReplaceAll(name, "_", ""))
	for _, w := range words {
		for _, suffix := range []string{"file", "path", "filename", "filepath"} {
			if at := strings.LastIndex(name, w+suffix); at >= 0 && !strings.HasSuffix(name[:at], "b") && !strings.HasSuffix(name[:at], "c") {
				return true // neither "block" nor "clock"
			}
		}
	}
	return false
}

// lastConst gives the constant that a path ends with, or "".
func (x *Index) lastConst(e ast.Expr) string {
	if s, ok := x.Str(e); ok {
		return s
	}
	switch e := ast.Unparen(x.Follow(e)).(type) {
	case *ast.BinaryExpr:
		return x.lastConst(e.Y)
	case *ast.CallExpr:
		if c := x.Call(e); c != nil && (c.Name == "filepath.Join" || c.Name == "fmt.Sprintf") && len(e.Args) > 0 {
			if c.Name == "fmt.Sprintf" {
				return x.lastConst(e.Args[0])
			}
			return x.lastConst(e.Args[len(e.Args)-1])
		}
	case *ast.BasicLit:
		s, _ := x.Str(e)
		return s
	}
	return ""
}

// OnLock gives the lock on the file of this path, or nil.
func (x *Index) OnLock(p ast.Expr) *Lock {
	for _, l := range x.Locks() {
		if x.Same(l.Path, p) {
			return l
		}
	}
	return nil
}
