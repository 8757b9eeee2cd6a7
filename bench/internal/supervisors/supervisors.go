// Package supervisors does to supervisors what happens to them in the field, and
// counts from outside what then lives: they are killed, started twice at once, told
// to stop while a process of the service does not listen, has left the group or is
// frozen. It also measures how soon a service runs again, and what an idle
// supervisor costs.
//
// The service is a small program that says when its main began. All processes
// carry a mark in their environment, the supervisors too; they are counted and
// ended by it. All waits are bounded.
package supervisors
