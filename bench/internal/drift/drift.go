// Package drift notices when the floor no longer makes the system calls that
// solehold makes: it traces both with strace(1) and compares the lists.
package drift
