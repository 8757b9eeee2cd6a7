package doctor

// Able returns the error of a question that this system cannot answer: an
// *solehold.OpError with the reason Unsupported. Linux tells of every lock; Windows
// tells who has named files open; others tell nobody.
func Able(o Options) error { return able(o) }
