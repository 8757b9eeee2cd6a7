// Package concurrency has the names of etcd's recipes, for tests.
package concurrency

import "context"

type Session struct{}
type Mutex struct{}

func NewSession(client any) (*Session, error)     { return &Session{}, nil }
func (s *Session) Done() <-chan struct{}          { return nil }
func (s *Session) Close() error                   { return nil }
func NewMutex(s *Session, prefix string) *Mutex   { return &Mutex{} }
func (m *Mutex) Lock(ctx context.Context) error   { return nil }
func (m *Mutex) Unlock(ctx context.Context) error { return nil }
