module bad.example/kb

go 1.26

require (
	github.com/gofrs/flock v0.13.0
	github.com/redis/go-redis/v9 v9.0.0
	golang.org/x/sys v0.50.0
)
