// Package floor makes the system calls of solehold bare: the same calls with the
// same arguments in the same order, without records, tables and goroutines
// around them. What solehold.Acquire takes beyond them is its own.
//
// It takes no part in the protocol, and locks nothing that anybody relies on.
package floor
