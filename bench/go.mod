module github.com/solehold/solehold/bench

go 1.26.0

require (
	github.com/gofrs/flock v0.13.2
	github.com/juju/fslock v0.0.0-20160525022230-4d5c94c67b4b
	github.com/nightlyone/lockfile v1.0.0
	github.com/rogpeppe/go-internal v1.16.0
	github.com/solehold/solehold v0.0.0
	go.etcd.io/bbolt v1.5.0
	golang.org/x/sys v0.50.0
)

require gopkg.in/check.v1 v1.0.0-20201130134442-10cb98267c6c // indirect

replace github.com/solehold/solehold => ../
