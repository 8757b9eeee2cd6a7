package redis

import (
	"context"
	"strconv"

	"github.com/solehold/solehold/cluster"
)

// Stick runs the script for a claim that no time ends.
func (b *Backend) Stick(ctx context.Context, r cluster.Request) (cluster.Grant, error) {
	keys := b.keys(r.Name)
	answer, err := b.scripts.stick.Run(ctx, b.client, keys, cluster.RecordOf(r).Text()).Slice()
	if err != nil {
		return cluster.Grant{}, unknown(ctx, err)
	}
	kind, token, text, err := parse(answer)
	switch {
	case err != nil:
		return cluster.Grant{}, err
	case kind == 0:
		return cluster.StuckBy(r, keys[0], text, token)
	}
	return cluster.GrantAfter(token, text), nil
}

// Note runs the script for what lies beside such a claim. The text beside it has the nonce.
func (b *Backend) Note(ctx context.Context, c cluster.Claim, from, to string) error {
	if !cluster.Beside(c, from) {
		return cluster.ErrNotThere
	}
	n, err := b.scripts.note.Run(ctx, b.client, b.keys(c.Name), strconv.FormatUint(c.Token, 10), from, to).Int()
	switch {
	case err != nil:
		return unknown(ctx, err)
	case n == 0:
		return cluster.ErrNotThere
	}
	return nil
}
