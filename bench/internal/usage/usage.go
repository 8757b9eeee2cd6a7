// Package usage reads what a process has used from /proc.
package usage
