package check

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/token"

	"golang.org/x/tools/go/analysis"
)

// render gives n as gofmt writes it.
func render(fset *token.FileSet, n ast.Node) string {
	var b bytes.Buffer
	if err := format.Node(&b, fset, n); err != nil {
		return "?"
	}
	return b.String()
}

// Replace makes a fix that writes text in place of n.
func Replace(what string, n ast.Node, text string) []analysis.SuggestedFix {
	return []analysis.SuggestedFix{{
		Message:   what,
		TextEdits: []analysis.TextEdit{{Pos: n.Pos(), End: n.End(), NewText: []byte(text)}},
	}}
}

// Mark makes the remark at another place that belongs to a finding.
func Mark(n ast.Node, text string) analysis.RelatedInformation {
	return analysis.RelatedInformation{Pos: n.Pos(), End: n.End(), Message: text}
}
