package main_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// found is one hit.
type found struct {
	ID             int64
	Title, Snippet string
}

// search gives the hits of a query; more are further parameters.
func (s *service) search(t *testing.T, query string, more ...string) []found {
	t.Helper()
	var got struct{ Hits []found }
	path := "/search?" + strings.Join(append(more, "q="+url.QueryEscape(query)), "&")
	if err := json.Unmarshal([]byte(s.do(t, 200, "GET", path, "")), &got); err != nil {
		t.Fatal(err)
	}
	return got.Hits
}

// reason gives the error of an answer in JSON, which each answer with a status from 400 is.
func reason(t *testing.T, body string) string {
	t.Helper()
	var got struct{ Error string }
	if err := json.Unmarshal([]byte(body), &got); err != nil || got.Error == "" {
		t.Errorf("%q is not an error in JSON: %v", body, err)
	}
	return got.Error
}

func TestNotesComeBack(t *testing.T) {
	s := start(t, kb(t.TempDir()))
	for _, n := range [][2]string{
		{"plain", "one line"},
		{"lines", "one\r\ntwo\n\n\tthree  "},
		{`"quotes" and 'quotes'`, `it's "so", isn't it; DROP TABLE notes; --`},
		{"Größe, Ελλάδα, Россия, 日本語", "ÄÖÜ ß ﬁ \u00e9 e\u0301 👩‍👩‍👧 \u202e rtl"},
		{`<script>alert(1)</script>`, `</ul><img src=x onerror=alert(1)> &amp; {{.}}`},
		{"controls", "nul \x00 bell \x07 end"},
		{strings.Repeat("ü", 200), strings.Repeat("long ", 100_000)},
	} {
		s.expect(t, s.add(t, n[0], n[1]), n[0], n[1])
	}
	s.expect(t, s.add(t, "  trimmed\n", " text is not "), "trimmed", " text is not ")
}

func TestSearch(t *testing.T) {
	s := start(t, kb(t.TempDir()))
	restart := s.add(t, "A restart cures it", "The second process waited without limit. It's the \"exclusive\" access.")
	hall := s.add(t, "Große Halle", "Der Schlüssel zur Tür liegt im Büro")
	russian := s.add(t, "Блокировка", "Файл занят другим процессом")
	for query, want := range map[string]int64{
		"restart":               restart, // in a title
		"WAITED":                restart, // in other case
		`"without limit"`:       restart, // in this order
		"exclu*":                restart, // by its start
		"second AND limit":      restart,
		"NEAR(second limit, 5)": restart,
		"text: process":         restart, // in one column
		`"It's"`:                restart,
		"schlussel":             hall, // without the dots
		"SCHLÜSSEL OR nothing":  hall,
		"процессом":             russian,
		"ФАЙЛ":                  russian,
	} {
		if hits := s.search(t, query); len(hits) != 1 || hits[0].ID != want {
			t.Errorf("%s finds %v, want note %d", query, hits, want)
		}
	}
	if hits := s.search(t, "absent"); len(hits) != 0 {
		t.Errorf("found %v", hits)
	}
	if got := s.search(t, "schlüssel")[0].Snippet; got != "Der [Schlüssel] zur Tür liegt im Büro" {
		t.Errorf("the snippet is %q", got)
	}
	if body := s.do(t, 200, "GET", "/search?q=absent", ""); body != "{\"hits\":[]}\n" {
		t.Errorf("no hits are %q", body)
	}
}

func TestSearchLimits(t *testing.T) {
	s := start(t, kb(t.TempDir()))
	for range 25 {
		s.add(t, "many", "of them "+strings.Repeat("x", 5000))
	}
	if n := len(s.search(t, "many")); n != 20 {
		t.Errorf("%d hits without a limit", n)
	}
	if n := len(s.search(t, "many", "limit=3")); n != 3 {
		t.Errorf("%d hits with limit 3", n)
	}
	if n := len([]rune(s.search(t, "them")[0].Snippet)); n > 400 {
		t.Errorf("a snippet has %d characters", n)
	}
	for _, limit := range []string{"0", "-1", "101", "x", "1e1", "99999999999999999999"} {
		reason(t, s.do(t, 400, "GET", "/search?q=many&limit="+limit, ""))
	}
}

// TestHostileQueries: whatever is asked, the answer is hits or what is wrong with the question.
func TestHostileQueries(t *testing.T) {
	s := start(t, kb(t.TempDir()))
	id := s.add(t, "one", "note")
	for _, query := range []string{
		`"`, `'`, `"open`, "AND", "a AND", "OR a", "NOT", "a NOT", "(", ")", "((a)", "a)", "*", "^", "-a", "a-b", "c++", "+",
		"{", "{a b", "nocolumn: a", "rank: a", "NEAR(", "NEAR(a", "NEAR(a, x)", "*reads", "*id", "'; DROP TABLE notes; --",
		"\\", "@", "#", ";", ",", ".", ":", "a:b:c", "\x00", "\x01", strings.Repeat("(", 256), strings.Repeat("x", 257), " ", "",
	} {
		body := s.do(t, 400, "GET", "/search?q="+url.QueryEscape(query), "")
		if why := reason(t, body); strings.Contains(why, "internal") {
			t.Errorf("%q: %s", query, why)
		}
	}
	for _, query := range []string{`""`, `"'; DROP TABLE notes; --"`, "a\x00\"", "\xff\xfe", "NEAR", "日本", "👩‍👩‍👧", strings.Repeat("a ", 128)} {
		s.search(t, query)
	}
	s.expect(t, id, "one", "note")
}

func TestBadNotes(t *testing.T) {
	s := start(t, kb(t.TempDir()))
	for _, c := range []struct {
		status int
		body   string
	}{
		{400, ""},
		{400, "null"},
		{400, "[]"},
		{400, "{"},
		{400, `{"title": "a"}`},
		{400, `{"text": "a"}`},
		{400, `{"title": " ", "text": "a"}`},
		{400, `{"title": "a", "text": "\n"}`},
		{400, `{"title": 1, "text": "a"}`},
		{400, `{"title": "a", "text": "a", "id": 7}`},
		{400, `{"title": "a", "text": "a"} {}`},
		{400, `{"title": "a", "text": "a"}}`},
		{400, `{"title": "` + strings.Repeat("ü", 201) + `", "text": "a"}`},
		{413, `{"title": "a", "text": "` + strings.Repeat("a", 1<<20) + `"}`},
		{413, `{"title": "a", "text": "a"}` + strings.Repeat(" ", 1<<20)},
	} {
		body := s.do(t, c.status, "POST", "/notes", c.body)
		reason(t, body)
	}
	reason(t, s.do(t, 404, "GET", "/notes/1", "")) // none was taken
}

func TestNoSuchThing(t *testing.T) {
	s := start(t, kb(t.TempDir()))
	for _, c := range []struct {
		status       int
		method, path string
	}{
		{404, "GET", "/notes/1"},
		{404, "GET", "/notes/-1"},
		{400, "GET", "/notes/x"},
		{400, "GET", "/notes/99999999999999999999"},
		{404, "GET", "/nothing"},
		{404, "GET", "/notes/1/2"},
		{405, "GET", "/notes"},
		{405, "DELETE", "/notes/1"},
		{405, "POST", "/search"},
		{405, "POST", "/"},
		{405, "PUT", "/healthz"},
	} {
		reason(t, s.do(t, c.status, c.method, c.path, ""))
	}
}

// TestPageEscapes puts what a browser could run into note, query and error.
func TestPageEscapes(t *testing.T) {
	s := start(t, kb(t.TempDir()))
	if page := s.do(t, 200, "GET", "/", ""); !strings.Contains(page, `name="q"`) || strings.Contains(page, "Nothing found") {
		t.Errorf("the page is\n%s", page)
	}
	s.add(t, "<script>alert('title')</script>", "needle <img src=x onerror=alert(1)> needle")
	hostile := `needle OR "><script>alert(2)</script>"`
	for status, query := range map[int]string{200: hostile, 400: `"<script>alert(3)</script>`} {
		page := s.do(t, status, "GET", "/?q="+url.QueryEscape(query), "")
		if strings.Contains(page, "<script") || strings.Contains(page, "<img") || !strings.Contains(page, "&lt;script&gt;") {
			t.Errorf("the page for %s is\n%s", query, page)
		}
	}
	if page := s.do(t, 200, "GET", "/?q=absent", ""); !strings.Contains(page, "Nothing found") {
		t.Errorf("the page is\n%s", page)
	}
	answer, err := http.Get(s.url + "/?q=needle")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if policy := answer.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") {
		t.Errorf("the policy is %q", policy)
	}
}

// TestOtherSites: a page of another site, opened in a browser on this machine, must not add notes.
func TestOtherSites(t *testing.T) {
	s := start(t, kb(t.TempDir()))
	r, err := http.NewRequest("POST", s.url+"/notes", strings.NewReader(`{"title": "a", "text": "b"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Origin", "https://elsewhere.example")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusForbidden {
		t.Errorf("it got %d", answer.StatusCode)
	}
}
