package diagnose

import (
	"bytes"
	"context"
	"errors"
	"os"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/evidence"
)

// Part is one file of an incident.
type Part struct {
	// Incident is what the file belongs to; only its ID is filled in where its
	// description cannot be read.
	Incident evidence.Incident
	// Text is the content.
	Text []byte
	// Cut says that there is more than was read.
	Cut bool
}

// Incidents lists the incidents of a directory, oldest first. As the others here
// it returns after o.Timeout at the latest, then with solehold.ErrUnanswered.
func Incidents(ctx context.Context, dir string, o *solehold.Options) ([]evidence.Incident, error) {
	all, err := inState(ctx, dir, o, evidence.List)
	if errors.Is(err, evidence.ErrNoIncident) {
		return nil, nil
	}
	return all, err
}

// IncidentIDs names them, oldest first, and reads none.
func IncidentIDs(ctx context.Context, dir string, o *solehold.Options) ([]string, error) {
	ids, err := inState(ctx, dir, o, evidence.IDs)
	if errors.Is(err, evidence.ErrNoIncident) {
		return nil, nil
	}
	return ids, err
}

// IncidentParts names the files of an incident.
func IncidentParts(ctx context.Context, dir string, o *solehold.Options, id string) ([]string, error) {
	return inState(ctx, dir, o, func(state *os.Root) ([]string, error) { return evidence.Parts(state, id) })
}

// IncidentPart reads a file of an incident. The error is evidence.ErrNoIncident
// where there is no such one.
func IncidentPart(ctx context.Context, dir string, o *solehold.Options, name PartName) (Part, error) {
	return inState(ctx, dir, o, func(state *os.Root) (p Part, err error) {
		id, err := name.id(state)
		if err != nil {
			return p, err
		}
		if p.Incident, err = evidence.Load(state, id); err != nil {
			p.Incident.ID = id
		}
		p.Text, p.Cut, err = evidence.Part(state, id, name.File)
		return p, err
	})
}

// PartName says which file of which incident is meant.
type PartName struct {
	// ID names the incident; empty means the newest.
	ID string
	// File is the file's name in it.
	File string
}

func (n PartName) id(state *os.Root) (string, error) {
	if n.ID != "" {
		return n.ID, nil
	}
	all, err := evidence.List(state)
	if err == nil && len(all) == 0 {
		err = evidence.ErrNoIncident
	}
	if err != nil {
		return "", err
	}
	return all[len(all)-1].ID, nil
}

// Packed is an incident as a tar.gz.
type Packed struct {
	// ID names the incident.
	ID string
	// Archive is the content.
	Archive []byte
}

// PackIncident packs an incident, the newest where id is empty.
func PackIncident(ctx context.Context, dir string, o *solehold.Options, id string) (Packed, error) {
	return inState(ctx, dir, o, func(state *os.Root) (p Packed, err error) {
		if p.ID, err = (PartName{ID: id}).id(state); err != nil {
			return p, err
		}
		var b bytes.Buffer
		err = evidence.Pack(&b, state, p.ID)
		p.Archive = b.Bytes()
		return p, err
	})
}

// errNoState says that nothing has ever happened to a directory.
var errNoState = errors.New("there are no files of solehold")

// inState works in the state directory of dir, within o.Timeout.
func inState[T any](ctx context.Context, dir string, o *solehold.Options, work func(*os.Root) (T, error)) (T, error) {
	return Ask(ctx, Question{dir, "read the incidents", limit(o)}, func() (none T, err error) {
		state, err := openRoot(dir, o)
		if errors.Is(err, errNoState) {
			return none, evidence.ErrNoIncident
		}
		if err != nil {
			return none, err
		}
		defer state.Close()
		return work(state)
	})
}
