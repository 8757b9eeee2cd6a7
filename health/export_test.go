package health

import (
	"context"
	"net"
)

// ReadAnswer reads an answer as the HTTP probe does.
func ReadAnswer(conn net.Conn) (status int, body []byte, err error) {
	a, err := readAnswer(conn)
	if a == nil {
		return 0, nil, err
	}
	return a.status, a.body, err
}

// Bounded is how a look at a file or a command is kept from hanging.
type Bounded struct{ stuck stuck }

// Do does what may hang.
func (b *Bounded) Do(ctx context.Context, do func()) error {
	_, err := waited(ctx, &b.stuck, func() (struct{}, error) { do(); return struct{}{}, nil })
	return err
}
