package drill_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/solehold/solehold/internal/drill"
	"github.com/solehold/solehold/internal/testneed"
)

// screenshotVar names a file for a picture of the page, as docs/drill.md shows it.
const screenshotVar = "SOLEHOLD_SCREENSHOT"

// written gives the page about some reports.
func written(t *testing.T, reports ...drill.Report) string {
	t.Helper()
	var text bytes.Buffer
	must(t, drill.WritePage(&text, reports))
	return text.String()
}

func TestPageOfNothing(t *testing.T) {
	if got := written(t); !strings.Contains(got, "<h1>solehold drill</h1>") {
		t.Error(got)
	}
	got := written(t, drill.Report{Scenario: "clock", Verdict: drill.NotRun, Reasons: []string{"it takes root"}, Rounds: []drill.Round{{Number: 1}}})
	for _, want := range []string{"it takes root", `class="verdict not"`, "round 1: 0 at most"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q", want)
		}
	}
}

// TestPageEscapes has texts that others wrote in every place of a report.
func TestPageEscapes(t *testing.T) {
	const bad = `"><script>alert(1)</script><img src=x onerror=alert(1)>`
	r := drill.Report{
		Scenario: bad, Verdict: bad, Command: []string{bad}, Also: []string{bad}, Dir: bad, Again: bad, By: []string{bad}, Left: []string{bad},
		Reasons: []string{bad}, Notes: []string{bad}, Gaps: []string{bad}, Refused: drill.Refusals{Count: 1, Ends: map[string]int{bad: 1}},
		Rounds: []drill.Round{{
			Number: 1, Took: 1, Clash: &drill.Clash{Owners: []drill.Owner{{Command: bad, Why: bad}}}, Reasons: []string{bad},
			Starts: []drill.Life{{Number: 1, End: bad, Output: bad}}, Events: []drill.Event{{What: bad, Detail: bad}},
		}},
	}
	got := written(t, r)
	if strings.Contains(got, "<script") || strings.Contains(got, "<img") {
		t.Errorf("not escaped: %s", got)
	}
}

// TestPageIsSelfContained looks for whatever a browser would fetch.
func TestPageIsSelfContained(t *testing.T) {
	got := written(t, drill.Report{Scenario: "race", Verdict: drill.Pass})
	if found := regexp.MustCompile(`(?i)(src|href|action)\s*=|url\(|@import|<script|<link|<iframe`).FindString(got); found != "" {
		t.Errorf("it has %s", found)
	}
}

// TestPicture checks where the bars are: 840 units for the round's time, from 130 on.
func TestPicture(t *testing.T) {
	round := drill.Round{
		Number: 1, Took: 10, Owners: 2, Clash: &drill.Clash{At: 5},
		Starts: []drill.Life{
			{Number: 1, PID: 11, Began: 0, Ended: 8, End: "exit 0", Owned: []drill.Span{{From: 1, To: 6}}, Stopped: []drill.Span{{From: 2, To: 3}}},
			{Number: 2, PID: 12, Began: 2, Owned: []drill.Span{{From: 5, To: 10}}, Also: true},
			{Number: 3, PID: 13, Began: -1, Ended: 99},
			{Number: 4, Began: 4, Ended: 4},
		},
	}
	got := written(t, drill.Report{Scenario: "race", Verdict: drill.Failed, Rounds: []drill.Round{round}})
	bar := func(x, w float64, y int, fill string) string {
		return fmt.Sprintf(`<rect x="%v" width="%v" y="%d" height="10" fill="%s"/>`, x, w, y, fill)
	}
	const life, own, clash = "#c3cad2", "#1a7f37", "#b42318"
	for _, want := range []string{
		bar(130, 672, 2, life), bar(214, 420, 2, own), bar(550, 84, 2, clash), // it shares the time from 5 to 6
		bar(298, 672, 18, life), bar(550, 420, 18, own), bar(550, 84, 18, clash),
		bar(130, 840, 34, life), bar(466, 1.5, 50, life), // what lies outside is cut, what is short is seen all the same
		`<rect x="298" width="84" y="2" height="4"`, "2 also · pid 12", "1 · pid 11",
		`<line x1="550" x2="550" y1="0" y2="68" stroke="#1d2329"`, "<title>start 1, pid 11: 0s to 8.00s exit 0</title>",
		">2.50s</text>", ">10.00s</text>", `viewBox="0 0 1000 90"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	round.Clash = nil
	if got := written(t, drill.Report{Scenario: "race", Rounds: []drill.Round{round}}); strings.Contains(got, `height="10" fill="`+clash) && strings.Contains(got, "stroke-dasharray") {
		t.Error("without a clash there is one in the picture")
	}
}

// browser opens a page in Chromium and notes what it complains about and what it fetches.
type browser struct {
	context.Context
	mu      sync.Mutex
	trouble []string
}

func open(t *testing.T, url string) *browser {
	t.Helper()
	chromium := testneed.Program(t, "chromium", "apt-get install chromium")
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium), chromedp.NoSandbox,
		chromedp.WSURLReadTimeout(patience), chromedp.WindowSize(1100, 1200))
	limit, stopLimit := context.WithTimeout(context.Background(), 2*patience)
	allocator, stopAllocator := chromedp.NewExecAllocator(limit, options...)
	tab, stop := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		chromedp.Cancel(tab) // waits for the browser to end
		stop()
		stopAllocator()
		stopLimit()
	})
	b := &browser{Context: tab}
	must(t, chromedp.Listen(tab, b.hear))
	ask(t, b, func(ctx context.Context) (struct{}, error) {
		_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
		return struct{}{}, err
	})
	must(t, chromedp.Do(tab, chromedp.Navigate(url)))
	return b
}

// ask asks the browser something that it must answer.
func ask[T any](t *testing.T, b *browser, question func(context.Context) (T, error)) T {
	t.Helper()
	answer, err := question(b)
	must(t, err)
	return answer
}

// eval gives the value of an expression on the page.
func eval[T any](t *testing.T, b *browser, expression string) T {
	t.Helper()
	return ask(t, b, func(ctx context.Context) (T, error) { return chromedp.Run(ctx, chromedp.Evaluate[T](expression)) })
}

func (b *browser) hear(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch ev := ev.(type) {
	case *runtime.EventConsoleAPICalled:
		b.trouble = append(b.trouble, fmt.Sprintf("console: %v", ev.Type))
	case *runtime.EventExceptionThrown:
		b.trouble = append(b.trouble, ev.ExceptionDetails.Text)
	case *network.EventRequestWillBeSent:
		if ev.Type != network.ResourceTypeDocument {
			b.trouble = append(b.trouble, "fetched "+ev.Request.URL)
		}
	}
}

// overflowing finds texts that leave their drawing, and boxes that are wider than the window.
const overflowing = `[...document.querySelectorAll('svg text')].filter(t => {
	const a = t.getBoundingClientRect(), b = t.ownerSVGElement.getBoundingClientRect();
	return a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 3 || a.bottom > b.bottom + 1;
}).map(t => t.textContent).concat(document.documentElement.scrollWidth > innerWidth ? ['the page is too wide'] : [])`

// TestPageInChromium opens the page of a real run: complete, nothing fetched, nothing cut off, on paper as well.
func TestPageInChromium(t *testing.T) {
	testneed.Program(t, "flock", "apt-get install util-linux")
	t.Parallel()
	worker := self("write", "{dir}/data")
	good := run(t, drill.Config{Scenario: "hang", Command: append([]string{"flock", "-n", "{dir}/lock"}, worker...), Rounds: 2})
	bad := run(t, drill.Config{Scenario: "orphan", Command: append([]string{"flock", "-n", "-o", "{dir}/lock"}, worker...), Rounds: 2})
	expect(t, good, drill.Pass, "")
	expect(t, bad, drill.Failed, "2 owners at once")
	name := filepath.Join(t.TempDir(), "page.html")
	must(t, os.WriteFile(name, []byte(written(t, readable(bad), readable(good))), 0o600))
	b := open(t, "file://"+name)
	counts := map[string]int{}
	for what, selector := range map[string]string{"rounds": "svg", "clashes": `rect[fill="#b42318"]`, "halts": `rect[fill="#1d2329"]`} {
		counts[what] = eval[int](t, b, "document.querySelectorAll('.round "+selector+"').length")
	}
	if counts["rounds"] != 4 || counts["clashes"] < 4 || counts["halts"] != 2 {
		t.Errorf("drawn: %v", counts)
		for _, round := range bad.Rounds {
			t.Logf("%+v", round)
		}
	}
	for _, width := range []int64{1100, 420} {
		must(t, chromedp.Do(b, chromedp.EmulateViewport(width, 900)))
		if wrong := eval[[]string](t, b, overflowing); len(wrong) > 0 {
			t.Errorf("%d wide: %q", width, wrong)
		}
	}
	printed(t, b)
	shoot(t, b)
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.trouble) > 0 {
		t.Errorf("the browser: %q", b.trouble)
	}
}

// readable names the commands of the test as a user would have them.
func readable(r drill.Report) drill.Report {
	for i, word := range r.Command {
		r.Command[i] = strings.Replace(word, os.Args[0], "/usr/bin/svc", 1)
	}
	for i, left := range r.Left {
		r.Left[i] = strings.Replace(left, os.Args[0], "/usr/bin/svc", 1)
	}
	r.Again = strings.ReplaceAll(r.Again, os.Args[0], "/usr/bin/svc")
	return r
}

// printed makes a PDF, with the colours and without cutting a picture in two.
func printed(t *testing.T, b *browser) {
	t.Helper()
	pdf := ask(t, b, func(ctx context.Context) ([]byte, error) {
		return chromedp.Run(ctx, chromedp.PrintToPDF(chromedp.PDFPrintBackground()))
	})
	if !bytes.HasPrefix(pdf, []byte("%PDF-")) || len(pdf) < 5000 {
		t.Errorf("%d bytes of PDF", len(pdf))
	}
	ask(t, b, func(ctx context.Context) (struct{}, error) {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
		return struct{}{}, err
	})
	split := eval[int](t, b, `[...document.querySelectorAll('.round')].filter(r => getComputedStyle(r).breakInside !== 'avoid').length`)
	if split != 0 {
		t.Errorf("%d rounds may be cut by the end of a sheet", split)
	}
	ask(t, b, func(ctx context.Context) (struct{}, error) {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "screen"})
		return struct{}{}, err
	})
}

// shoot takes the picture for the docs, if it is asked for.
func shoot(t *testing.T, b *browser) {
	t.Helper()
	name := os.Getenv(screenshotVar)
	if name == "" {
		return
	}
	must(t, chromedp.Do(b, chromedp.EmulateViewport(1080, 1000)))
	png := ask(t, b, func(ctx context.Context) ([]byte, error) { return chromedp.Run(ctx, chromedp.CaptureScreenshot()) })
	must(t, os.WriteFile(name, png, 0o644))
}
