package web

import (
	"html/template"
	"strings"
)

// markdown makes HTML of our own pages about findings, which are headings,
// paragraphs, lists and code. Everything else is text.
func markdown(text string) template.HTML {
	m := &pageText{}
	for line := range strings.Lines(text) {
		m.line(strings.TrimRight(line, "\n"))
	}
	m.end()
	return template.HTML(m.b.String()) //nolint:gosec // escaped on the way
}

// pageText is a page that is being made.
type pageText struct {
	b    strings.Builder
	open string // the element that lines are added to, empty for none
}

func (m *pageText) line(line string) {
	fence := strings.HasPrefix(line, "```")
	switch {
	case m.open == "pre" && fence:
		m.end()
	case m.open == "pre":
		m.b.WriteString(template.HTMLEscapeString(line) + "\n")
	case fence:
		m.begin("pre")
	case line == "":
		m.end()
	case strings.HasPrefix(line, "# "):
		m.whole("h1", line[2:])
	case strings.HasPrefix(line, "## "):
		m.whole("h2", line[3:])
	case strings.HasPrefix(line, "- "):
		m.begin("ul")
		m.b.WriteString("<li>" + inline(line[2:]))
	default:
		if m.open == "" {
			m.begin("p")
		}
		m.b.WriteString(" " + inline(strings.TrimSpace(line)) + "\n")
	}
}

func (m *pageText) begin(element string) {
	if m.open == element {
		return
	}
	m.end()
	m.open = element
	m.b.WriteString("<" + element + ">")
}

func (m *pageText) end() {
	if m.open != "" {
		m.b.WriteString("</" + m.open + ">\n")
	}
	m.open = ""
}

func (m *pageText) whole(element, text string) {
	m.end()
	m.b.WriteString("<" + element + ">" + inline(text) + "</" + element + ">\n")
}

// inline marks code.
func inline(text string) string {
	var b strings.Builder
	for i, part := range strings.Split(text, "`") {
		if i%2 == 1 {
			b.WriteString("<code>" + template.HTMLEscapeString(part) + "</code>")
		} else {
			b.WriteString(template.HTMLEscapeString(part))
		}
	}
	return b.String()
}
