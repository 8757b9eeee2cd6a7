package datadir

// KindOf is what statfs' number of a file system stands for.
func KindOf(magic uint32) (string, Class) {
	k := kindOf(magic)
	return k.name, k.class
}

// OpenNew opens a file that must not exist yet.
func OpenNew(s *State, name string) (File, error) { return s.open(name, toMake) }
