// Package healthtls adds TLS to the probes of package health. It is apart so that a program that asks over plain HTTP
// only does not link TLS.
package healthtls

import (
	"context"
	"crypto/tls"
	"net"

	"github.com/solehold/solehold/health"
)

// HTTP gives a probe as [health.HTTP] does, for https URLs too. The server's certificate is not verified, as Kubernetes
// does not: a probe asks whether a service is well, and sends no secret but what the caller puts into its headers.
func HTTP(target string, opts health.HTTPOptions) (health.Probe, error) {
	if opts.Secure == nil {
		opts.Secure = Unverified
	}
	return health.HTTP(target, opts)
}

// Unverified makes a TLS connection of conn with whatever certificate the server shows. It is meant for
// [health.HTTPOptions.Secure]. When ctx is done the handshake ends with an error. The connection may speak HTTP/1 only.
func Unverified(ctx context.Context, conn net.Conn, host string) (net.Conn, error) {
	secure := tls.Client(conn, &tls.Config{ServerName: host, InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
	return secure, secure.HandshakeContext(ctx)
}
