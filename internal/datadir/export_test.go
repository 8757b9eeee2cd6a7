package datadir

// KindOf is what statfs' number of a file system stands for.
func KindOf(magic uint32) (string, Class) {
	k := kindOf(magic)
	return k.name, k.class
}
