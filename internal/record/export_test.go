package record

// Seal lets tests write slots that no Encoder would.
func Seal(text []byte) []byte { return seal(text) }
