package locks

import (
	"go/types"
	"strings"
)

// short gives the name by which the rules call the package with this import path, or "" for one they do not know.
// System call packages share a name, as do forks and major versions of one library.
func short(path string) string {
	if i := strings.LastIndex(path, "/vendor/"); i >= 0 {
		path = path[i+len("/vendor/"):]
	}
	path = strings.TrimPrefix(path, "vendor/")
	switch path {
	case "syscall", "golang.org/x/sys/unix", "golang.org/x/sys/windows":
		return "sys"
	case "io/ioutil":
		return "os" // its functions are those of os under older names
	case "os", "fmt", "log", "time", "runtime", "bufio", "io", "path/filepath", "os/exec", "strconv":
		return path[strings.LastIndex(path, "/")+1:]
	case "path":
		return "filepath"
	}
	return library(path)
}

// library is the part of short that is about modules.
func library(path string) string {
	if strings.HasSuffix(path, "/client/pkg/v3/fileutil") || strings.HasSuffix(path, "etcd/pkg/fileutil") {
		return "etcdfile"
	}
	switch versionless(path) {
	case "github.com/solehold/solehold":
		return "solehold"
	case "github.com/gofrs/flock", "github.com/theckman/go-flock":
		return "gofrs"
	case "github.com/juju/fslock":
		return "fslock"
	case "github.com/juju/mutex":
		return "jujumutex"
	case "github.com/alexflint/go-filemutex":
		return "filemutex"
	case "github.com/nightlyone/lockfile":
		return "nightlyone"
	case "github.com/allan-simon/go-singleinstance":
		return "singleinstance"
	case "github.com/danjacques/gofslock/fslock":
		return "gofslock"
	case "github.com/prometheus/prometheus/tsdb/fileutil":
		return "promfile"
	case "github.com/rogpeppe/go-internal/lockedfile", "cmd/go/internal/lockedfile":
		return "lockedfile"
	case "cmd/go/internal/lockedfile/internal/filelock", "github.com/rogpeppe/go-internal/lockedfile/internal/filelock":
		return "filelock"
	}
	return engine(path)
}

// engine is the part of short that is about locks across hosts, about maps, and about logs that end the process.
func engine(path string) string {
	switch versionless(path) {
	case "go.etcd.io/etcd/client/concurrency", "go.etcd.io/etcd/clientv3/concurrency", "github.com/coreos/etcd/clientv3/concurrency":
		return "concurrency"
	case "github.com/redis/go-redis", "github.com/go-redis/redis":
		return "redis"
	case "github.com/go-redsync/redsync":
		return "redsync"
	case "github.com/bsm/redislock":
		return "redislock"
	case "github.com/hashicorp/consul/api":
		return "consul"
	case "github.com/edsrzf/mmap-go":
		return "mmapgo"
	case "github.com/sirupsen/logrus", "github.com/golang/glog", "k8s.io/klog":
		return "log"
	}
	return ""
}

// versionless cuts the elements v2, v3 and so on from an import path.
func versionless(path string) string {
	var kept []string
	for e := range strings.SplitSeq(path, "/") {
		if v, ok := strings.CutPrefix(e, "v"); ok && v != "" && strings.Trim(v, "0123456789") == "" {
			continue
		}
		kept = append(kept, e)
	}
	return strings.Join(kept, "/")
}

// fullName gives "os.Create" or "os.File.Close".
func fullName(pkg string, fn *types.Func) string {
	sig, ok := fn.Type().(*types.Signature)
	if !ok || sig.Recv() == nil {
		return pkg + "." + fn.Name()
	}
	t := sig.Recv().Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if named, ok := types.Unalias(t).(*types.Named); ok {
		return pkg + "." + named.Obj().Name() + "." + fn.Name()
	}
	return pkg + "." + fn.Name()
}
