package service

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// markup is an XML text that is being written. Its first error stays.
type markup struct {
	strings.Builder
	err error
}

// note writes a comment, which gives the reason of the element below it. XML
// allows no two dashes in one.
func (m *markup) note(indent, why string) {
	fmt.Fprintf(m, "%s<!-- %s -->\n", indent, strings.ReplaceAll(why, "--", "- -"))
}

// text escapes a text that somebody else has chosen.
func (m *markup) text(s string) string {
	if bad := strings.IndexFunc(s, notInXML); bad >= 0 || !utf8.ValidString(s) {
		m.err = fmt.Errorf("%q has characters that such a definition cannot carry (XML 1.0)", s)
		return ""
	}
	// encoding/xml does the same and would make the program larger by 4%.
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;", "\t", "&#x9;", "\n", "&#xA;", "\r", "&#xD;").Replace(s)
}

// element writes one element with text in it.
func (m *markup) element(indent, name, text string) {
	fmt.Fprintf(m, "%s<%s>%s</%s>\n", indent, name, m.text(text), name)
}

func notInXML(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF
}
