package keylock_test

import (
	"context"
	"fmt"

	"github.com/solehold/solehold/keylock"
)

// One goroutine at a time works on a key; others are refused, or wait in turn.
func Example() {
	table := keylock.New[string]()
	fmt.Println(table.TryLock("kb"), table.TryLock("kb"), table.TryLock("other"))
	table.Unlock("kb")
	fmt.Println(table.Lock(context.Background(), "kb"), table.Len())
	// Output:
	// true false true
	// <nil> 2
}

// A function that locks may call another one that locks the same key: the context
// says that it is in already.
func ExampleTable_Enter() {
	table := keylock.New[string]()
	inner := func(ctx context.Context) {
		_, leave, err := table.Enter(ctx, "kb")
		defer leave()
		fmt.Println("inner", err)
	}
	func(ctx context.Context) {
		ctx, leave, err := table.Enter(ctx, "kb")
		defer leave()
		fmt.Println("outer", err)
		inner(ctx)
		fmt.Println("still in:", !table.TryLock("kb"))
	}(context.Background())
	fmt.Println("left:", table.TryLock("kb"))
	// Output:
	// outer <nil>
	// inner <nil>
	// still in: true
	// left: true
}
