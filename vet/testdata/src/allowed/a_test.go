package allowed

func badInTest() {}
