package supervise

import (
	"fmt"
	"strings"
)

// fewOf names some of all for people, and counts the others.
func fewOf[T any](all []T, name func(T) string) string {
	const most = 5
	var names []string
	for _, one := range all[:min(len(all), most)] {
		names = append(names, name(one))
	}
	if len(all) > most {
		names = append(names, fmt.Sprintf("%d more", len(all)-most))
	}
	return strings.Join(names, ", ")
}
