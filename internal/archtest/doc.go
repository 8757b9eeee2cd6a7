// Package archtest keeps the house rules as tests.
//
// A rule is a row of [Rules]: a name, a reason, and a function from a parsed source tree to the places that break it.
// The repository and the planted trees in testdata go through the same functions, so a rule that cannot fail is found.
// Budgets follow the same form: a budget is the number of places that may be over a limit.
//
// # Exceptions
//
// A place that a rule would make worse says so, with the reason:
//
//	//archtest:allow RULE reason in a few words
//
// The comment covers its own line when code stands before it, and otherwise its comment group and the line below it, so
// it may end a doc comment. An exception without a reason, for an unknown rule, or where nothing breaks the rule is
// itself a finding.
//
// # What is read
//
// All Go files whatever their build tags, parsed and not type-checked. Directories that the go command ignores, modules
// below this one and files ignored by git (bin, data) are left out. Generated files obey the import rules and no budget.
package archtest
