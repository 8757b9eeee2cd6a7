package allowed

func bad() {} // want `bad at a.go:3`

//solehold:allow bad the name is historical
func badAbove() {}

func badBeside() {} //solehold:allow bad the name is historical

//solehold:allow bad
func badWithoutReason() {} // want `badWithoutReason at a.go:11`

//solehold:allow other the name is historical
func badForAnother() {} // want `badForAnother at a.go:14`

//solehold:allow bad the name is historical

func badTooFar() {} // want `badTooFar at a.go:18`
