package lab

// need is something that an experiment cannot do without: it is looked for before the run.
type need struct {
	what string // as it is named to a person
	get  string // how to get it
	ok   func() bool
}

// apart says in which namespaces of its own an experiment runs.
type apart int

const (
	apartNot    apart = iota
	apartMounts       // mounts of its own
	apartPIDs         // mounts and pid numbers of its own
)

func (e *Experiment) missing() string {
	for _, n := range e.needs {
		if !n.ok() {
			return (&missingError{n.what, n.get}).Error()
		}
	}
	return ""
}
