package web

import (
	"net"
	"net/http"
	"strings"
)

// policy lets a page use its own style and script, and nothing else.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guard answers only who may ask, for what may be asked, and tells the browser what
// the page may do.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		switch {
		case !s.hosts[hostName(r.Host)]:
			// A name that an attacker chose can lead here; a browser then takes this for his page.
			refuse(w, http.StatusMisdirectedRequest, "this server is not asked by that name (Host); allow it with --allow-host")
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			refuse(w, http.StatusMethodNotAllowed, "only GET and HEAD: nothing can be changed here")
		case r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") != "navigate":
			refuse(w, http.StatusForbidden, "a page of another site may link here, and nothing else")
		case r.ContentLength != 0 && r.Body != http.NoBody:
			refuse(w, http.StatusBadRequest, "a question has no body here")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func refuse(w http.ResponseWriter, code int, why string) {
	w.Header().Set("Connection", "close")
	http.Error(w, why, code)
}

// hostName is the name in a Host header, without the port, the brackets and the dot
// at its end.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
