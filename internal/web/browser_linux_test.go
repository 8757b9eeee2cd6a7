package web_test

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/testneed"
	"github.com/solehold/solehold/internal/web"
)

// screenshotVar names a folder for the pictures that docs/serve.md shows.
const screenshotVar = "SOLEHOLD_SCREENSHOT"

// browser opens pages in Chromium and notes what it complains about and what it
// fetches from elsewhere.
type browser struct {
	context.Context
	t    *testing.T
	base string

	mu      sync.Mutex
	trouble []string
}

func open(t *testing.T, base string) *browser {
	t.Helper()
	chromium := testneed.Program(t, "chromium", "apt-get install chromium")
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium), chromedp.NoSandbox,
		chromedp.WSURLReadTimeout(patience), chromedp.WindowSize(1200, 1000))
	limit, stopLimit := context.WithTimeout(context.Background(), 4*patience)
	allocator, stopAllocator := chromedp.NewExecAllocator(limit, options...)
	tab, stop := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		chromedp.Cancel(tab) // waits for the browser to end
		stop()
		stopAllocator()
		stopLimit()
	})
	b := &browser{Context: tab, t: t, base: base}
	must(t, chromedp.Listen(tab, b.hear))
	call(b, network.Enable, network.EnableParams{})
	call(b, log.Enable, cdp.Empty{})
	return b
}

// call asks the browser something that it must do.
func call[P, R any](b *browser, command cdp.Command[P, R], params P) {
	b.t.Helper()
	_, err := chromedp.Call(b, command, params)
	must(b.t, err)
}

func (b *browser) hear(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch ev := ev.(type) {
	case *runtime.EventConsoleAPICalled:
		b.trouble = append(b.trouble, fmt.Sprintf("console: %v", ev.Type))
	case *runtime.EventExceptionThrown:
		b.trouble = append(b.trouble, ev.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		b.trouble = append(b.trouble, fmt.Sprintf("%s: %s", ev.Entry.Level, ev.Entry.Text))
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(ev.Request.URL, b.base+"/") {
			b.trouble = append(b.trouble, "fetched "+ev.Request.URL)
		}
	}
}

// calm says that nothing was complained of.
func (b *browser) calm() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.trouble) > 0 {
		b.t.Errorf("the browser: %q", b.trouble)
	}
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	must(b.t, chromedp.Do(b, steps...))
}

// eval gives the value of an expression on the page.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	value, err := chromedp.Run(b, chromedp.Evaluate[T](expression))
	must(b.t, err)
	return value
}

// wait waits until an expression is true on the page.
func (b *browser) wait(expression string) {
	b.t.Helper()
	for end := time.Now().Add(patience); !eval[bool](b, expression); {
		if time.Now().After(end) {
			b.t.Fatalf("never true: %s\n%s", expression, eval[string](b, "document.body.innerText"))
		}
		<-time.After(20 * time.Millisecond)
	}
}

// click clicks the first link that has the text, where it is: the page may put another
// element there at any moment, as it is live.
func (b *browser) click(text string) {
	b.t.Helper()
	link := fmt.Sprintf(`document.evaluate('//main//a[contains(., "%s")]', document, null, 9).singleNodeValue`, text)
	b.wait("!!" + link)
	at := eval[struct{ X, Y float64 }](b, `(() => {
		const a = `+link+`;
		a.scrollIntoView({block: "center"});
		const r = a.getClientRects()[0];
		return {X: r.left + r.width / 2, Y: r.top + r.height / 2};
	})()`)
	b.do(chromedp.MouseClickXY(at.X, at.Y))
}

// trouble is a host where something is wrong: a directory with a past over a reboot,
// an incident, and somebody who writes beside its owner.
func trouble(t *testing.T) (dir string, o web.Options) {
	t.Helper()
	base, err := os.MkdirTemp("", "srv-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(base) })
	base, err = filepath.EvalSymlinks(base)
	must(t, err)
	dir = filepath.Join(base, "kb")
	must(t, os.Mkdir(dir, 0o755))
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	must(t, err)
	now, _, _ := strings.Cut(string(id), "-")
	at := time.Now().Add(-30 * time.Hour)
	e := func(after time.Duration, boot string, token uint64, kind journal.Kind) journal.Event {
		return journal.Event{Time: at.Add(after), Seq: int64(after), Boot: boot, Host: "srv1", Kind: kind, Token: token, PID: 800 + int(token), Name: "kb --addr :8080"}
	}
	vanished, crash, refused := e(20*time.Hour, now, 2, journal.Vanished), e(26*time.Hour, now, 3, journal.Vanished), e(29*time.Hour, now, 4, journal.Refused)
	vanished.Class, crash.Class, refused.More = "reboot", "crash", 4
	incident := e(27*time.Hour, now, 4, journal.Incident)
	incident.Detail = "20261129T132007Z-1: pid 804 has not answered for 94s"
	history(t, dir,
		e(0, "one", 1, journal.Acquired), e(time.Second, "one", 1, journal.Ready), e(5*time.Hour, "one", 1, journal.Released), e(5*time.Hour+time.Millisecond, "one", 2, journal.Acquired),
		vanished, e(20*time.Hour, now, 3, journal.Acquired), crash, e(26*time.Hour, now, 4, journal.Acquired), incident, refused, e(29*time.Hour+time.Second, now, 4, journal.Released),
	)
	for i := range 60 {
		history(t, dir, journal.Event{Time: at.Add(29*time.Hour + time.Minute + time.Duration(i)*time.Second), Boot: now, Kind: journal.Refused, PID: 900 + i, Name: "kb --addr :8080", By: "kb-watch"})
	}
	evidence(t, dir, "20261129T132007Z-1", "pid 804 has not answered for 94s. It waits in flock() for index/LOCK, held by pid 740 (kb --addr :8080).")
	start(t, []string{"kb", "--addr", ":8080"}, "hold "+dir)
	start(t, []string{"import", "--into", "kb"}, "write "+filepath.Join(dir, "index"))
	free := filepath.Join(base, "scratch")
	must(t, os.Mkdir(free, 0o755))
	o = shows(free)
	o.Overview.Examine = time.Hour // once
	return dir, o
}

// TestBrowser walks as a user does: from the alert to its holder to its incident in
// three clicks, without a complaint of the browser; and looks whether everybody can.
func TestBrowser(t *testing.T) {
	t.Parallel()
	dir, o := trouble(t)
	o.Clusters = clusters(t, "etcd://e1:2379,e2:2379/kb")
	base := serve(t, o)
	b := open(t, base)
	until(t, base+"/", "SH030 danger")
	until(t, base+"/", "srv2")
	b.do(chromedp.Navigate(base + "/?q=" + filepath.Base(filepath.Dir(dir)))) // others work on this host
	b.wait(`/HELD srv2 .*4711/.test(document.querySelector("table.cluster tbody tr")?.innerText.replace(/\s+/g, " ")) === true`)
	b.accessible("overview")
	b.shoot("serve-overview.png")
	b.click("SH030 danger")
	b.wait(`location.pathname === "/findings"`)
	b.accessible("findings")
	b.click(dir)
	b.wait(`location.pathname === "/dir"`)
	b.wait(`document.querySelectorAll("svg.chart rect").length === 5 && document.querySelectorAll("svg.chart .reboot").length === 1`)
	b.accessible("directory")
	b.shoot("serve-directory.png")
	b.click("20261129T132007Z-1")
	b.wait(`document.body?.innerText.includes("It waits in flock() for index/LOCK") === true`)
	b.accessible("incident")
	for _, path := range []string{"/waits", "/finding/SH030", "/dir?page=2&path=" + url.QueryEscape(dir)} {
		b.do(chromedp.Navigate(base + path))
		b.accessible(path)
	}
	b.printed(base)
	b.calm()
}

// TestLive sees a holder come and go without a reload, with a form that is being
// filled in left alone.
func TestLive(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	b := open(t, serve(t, shows(dir)))
	b.do(chromedp.Navigate(b.base + "/?q=" + url.QueryEscape(dir))) // others work on this host
	b.wait(`document.querySelector("td .state")?.innerText.includes("FREE") === true`)
	eval[bool](b, `window.same = true`)
	_, end := start(t, nil, "hold "+dir)
	b.wait(`document.querySelector("td .state")?.innerText.includes("HELD") === true`)
	eval[bool](b, `document.getElementById("q").focus() === undefined`)
	end()
	b.wait(`document.activeElement.id === "q"`)
	eval[bool](b, `document.activeElement.blur() === undefined`)
	start(t, nil, "hold "+dir)
	b.wait(`/HELD/.test(document.querySelector("td .state")?.innerText) && document.querySelector("td.n").innerText === "2"`)
	if !eval[bool](b, `window.same === true`) {
		t.Error("the page was loaded again")
	}
	b.calm()
}

// A path without a place to break is broken all the same, in a window as narrow as a phone.
func TestLongWords(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(dataDir(t), strings.Repeat("x", 100))
	must(t, os.Mkdir(dir, 0o755))
	start(t, nil, "hold "+dir)
	start(t, nil, "write "+filepath.Join(dir, strings.Repeat("index", 20)))
	o := shows(dir)
	o.Overview.Examine = time.Hour // once
	base := serve(t, o)
	b := open(t, base)
	until(t, base+"/", "SH030 danger")
	for _, path := range []string{"/", "/findings", "/dir?path=" + url.QueryEscape(dir)} {
		b.do(chromedp.Navigate(base + path))
		b.narrow(path)
	}
}

// unlabelled finds what a screen reader could not name, and what is missing for its
// user to find the way.
const unlabelled = `(() => {
	const bad = [], name = e => e.getAttribute("aria-label") || (e.labels && e.labels.length && e.labels[0].innerText) || e.innerText;
	for (const e of document.querySelectorAll("a, button, input, select, summary, svg[role=img], [role=region], nav")) {
		const title = e.querySelector && e.querySelector("title");
		if (!(name(e) || (title && title.textContent) || "").trim() && !e.getAttribute("aria-labelledby")) bad.push("no name: " + e.outerHTML.slice(0, 120));
	}
	for (const e of document.querySelectorAll("[aria-labelledby]")) if (!document.getElementById(e.getAttribute("aria-labelledby"))) bad.push("names nothing: " + e.outerHTML.slice(0, 80));
	for (const landmark of ["header", "nav", "main", "footer", "h1"]) if (!document.querySelector(landmark)) bad.push("no " + landmark);
	if (document.querySelectorAll("h1").length !== 1) bad.push("not one h1");
	if (!document.documentElement.lang) bad.push("no language");
	let level = 1;
	for (const h of document.querySelectorAll("main h1, main h2, main h3")) { const n = +h.tagName[1]; if (n > level + 1) bad.push("a level is left out: " + h.innerText); level = n; }
	const ids = [...document.querySelectorAll("[id]")].map(e => e.id);
	for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) if (!id.startsWith("SH")) bad.push("twice: " + id);
	for (const th of document.querySelectorAll("th")) if (!th.scope) bad.push("a heading of nothing: " + th.innerText);
	return bad;
})()`

// faint finds texts whose colour is too near to what is behind it: below 4.5 to 1.
const faint = `(() => {
	const rgb = s => (s.match(/[\d.]+/g) || []).map(Number);
	const light = c => { const [r, g, b] = c.map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const behind = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0.99) if (c.length >= 3 && !(c.length === 4 && c[3] === 0)) return c.slice(0, 3); } return [255, 255, 255]; };
	const bad = new Set();
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let n; n = walk.nextNode();) {
		const e = n.parentElement;
		if (!n.textContent.trim() || !e.checkVisibility() || e.closest(".graph svg")) continue;
		const style = getComputedStyle(e), ink = rgb(e.closest("svg") ? style.fill : style.color).slice(0, 3);
		const [a, b] = [light(ink), light(behind(e))].sort((x, y) => y - x);
		if ((a + 0.05) / (b + 0.05) < 4.5) bad.add(e.tagName + "." + e.className + " " + ((a + 0.05) / (b + 0.05)).toFixed(2) + ": " + n.textContent.trim().slice(0, 40));
	}
	return [...bad];
})()`

// stops are the elements that the tab key should lead to, in the order of reading.
const stops = `[...document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")].filter(e => e.checkVisibility())`

// accessible looks at a page as it is for those who cannot see well, have no mouse,
// or a small window.
func (b *browser) accessible(page string) {
	b.t.Helper()
	b.wait(`document.readyState === "complete"`)
	if bad := eval[[]string](b, unlabelled); len(bad) > 0 {
		b.t.Errorf("%s: %q", page, bad)
	}
	for _, scheme := range []string{"dark", "light"} {
		call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		if bad := eval[[]string](b, faint); len(bad) > 0 {
			b.t.Errorf("%s, %s: %q", page, scheme, bad)
		}
	}
	b.narrow(page)
	b.tabbed(page)
}

// narrow looks whether a page fits into windows of a phone and of a desk; the last one stays.
func (b *browser) narrow(page string) {
	b.t.Helper()
	for _, width := range []int64{360, 1200} {
		b.do(chromedp.EmulateViewport(width, 900))
		if wide := eval[int](b, `document.documentElement.scrollWidth`); wide > int(width) {
			b.t.Errorf("%s is %d wide in a window of %d", page, wide, width)
		}
	}
}

// tabbed goes through the page by the tab key alone: each element in order, and where
// one is can be seen.
func (b *browser) tabbed(page string) {
	b.t.Helper()
	eval[bool](b, `(getSelection().removeAllRanges(), window.want = `+stops+`, window.want[0].focus(), window.bad = [], true)`)
	for i := range min(eval[int](b, `window.want.length`), 40) {
		eval[bool](b, fmt.Sprintf(`(() => {
			const e = document.activeElement, want = %[1]s[%[2]d];
			if (e !== want) window.bad.push("at " + e.outerHTML.slice(0, 80) + " instead of " + (want && want.outerHTML.slice(0, 80)));
			if (%[2]d && getComputedStyle(e).outlineStyle === "none") window.bad.push("cannot be seen: " + e.outerHTML.slice(0, 80));
			return true;
		})()`, stops, i))
		b.do(chromedp.KeyEvent("\t"))
	}
	if bad := eval[[]string](b, `window.bad`); len(bad) > 0 {
		b.t.Errorf("%s: %q", page, bad[:min(len(bad), 3)])
	}
}

// printed makes a PDF of the overview.
func (b *browser) printed(base string) {
	b.t.Helper()
	b.do(chromedp.Navigate(base + "/"))
	pdf, err := chromedp.Run(b, chromedp.PrintToPDF())
	must(b.t, err)
	if !bytes.HasPrefix(pdf, []byte("%PDF-")) || len(pdf) < 5000 {
		b.t.Errorf("%d bytes of PDF", len(pdf))
	}
}

// shoot takes a picture for the docs, if it is asked for.
func (b *browser) shoot(name string) {
	b.t.Helper()
	folder := os.Getenv(screenshotVar)
	if folder == "" {
		return
	}
	b.do(chromedp.EmulateViewport(1100, 800))
	eval[bool](b, `(document.activeElement.blur(), scrollTo(0, 0), true)`)
	png, err := chromedp.Run(b, chromedp.CaptureScreenshot())
	must(b.t, err)
	must(b.t, os.WriteFile(filepath.Join(folder, name), png, 0o644))
}
