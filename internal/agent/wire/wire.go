// Package wire is what `solehold run` and its cluster agent say to each other over a socket: JSON objects, one a line.
// What comes over it is bounded and checked, also where it is a socket pair that nobody else has, and a kind that is not
// known ends the conversation: half understood deadlines are worse than none.
//
//	run    start               the lock that is wanted, and where
//	agent  waiting*, delayed   who has it; how long the one before may still work
//	agent  granted | refused | failed
//	run    tree*               what to stop if the run itself cannot
//	agent  acked*              the deadlines count from here
//	agent  settled*            of a sticky claim: the engine has said that it is ours, at this place
//	agent  trouble*            how many requests the engine has failed
//	agent  told, kill          stop now, kill now
//	run    release             everything has ended
//	agent  released
package wire

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Version is that of the messages.
const Version = 1

// maxLine bounds one message in bytes.
const maxLine = 64 << 10

// ErrWire is wrapped by the error for what is no message of this version.
var ErrWire = errors.New("not a message between run and agent of this version: are solehold and solehold-cluster of the same release?")

// Kind names a message.
type Kind string

// The kinds of messages, in the order of a life.
const (
	Start    Kind = "start"
	Waiting  Kind = "waiting"
	Delayed  Kind = "delayed"
	Granted  Kind = "granted"
	Refused  Kind = "refused"
	Failed   Kind = "failed"
	Tree     Kind = "tree"
	Acked    Kind = "acked"
	Settled  Kind = "settled"
	Trouble  Kind = "trouble"
	Told     Kind = "told"
	Kill     Kind = "kill"
	Release  Kind = "release"
	Released Kind = "released"
)

// Fault says what kind of failure it was.
type Fault string

// The faults of a failed message.
const (
	Usage   Fault = "usage"   // the command line or the URL is wrong
	Away    Fault = "away"    // the engine does not answer
	Unsafe  Fault = "unsafe"  // it would not be safe: a foreign key, a file that cannot be read
	Behind  Fault = "behind"  // its tokens are not above the last one here
	Kept    Fault = "kept"    // a sticky claim is in the way, or is not proven to be ours
	Gone    Fault = "gone"    // the sticky claim of an earlier start was broken, or has gone elsewhere
	Stopped Fault = "stopped" // the wait was ended
	Missing Fault = "missing" // there is no agent to be started
	Denied  Fault = "denied"  // the agent of the host does not serve this run
)

// Message is one line. Which fields are set depends on the kind.
type Message struct {
	// Version is that of the sender.
	Version int `json:"v"`
	// Kind says what it is.
	Kind Kind `json:"kind"`

	// URL says where the engine is; it has no secrets.
	URL string `json:"url,omitempty"`
	// Name is the lock.
	Name string `json:"name,omitempty"`
	// Info is what others see of the holder: ours in a start, the other's in waiting and refused.
	Info string `json:"info,omitempty"`
	// Grace is the time between the stop signal and SIGKILL.
	Grace time.Duration `json:"grace,omitempty"`
	// Wait is how long to wait for a holder: 0 not at all, below 0 without limit. The lock-delay comes after it.
	Wait time.Duration `json:"wait,omitempty"`
	// Limit is how long the engine may take to answer who does not wait; in delayed, how long the lock-delay takes.
	Limit time.Duration `json:"limit,omitempty"`
	// Floor is the highest token that the data has seen.
	Floor uint64 `json:"floor,omitempty"`
	// Dir and State are the data directory and where solehold's files lie; State is empty by default.
	Dir   string `json:"dir,omitempty"`
	State string `json:"state,omitempty"`

	// Sticky, in a start, asks for a sticky claim; in granted and refused it says that the claim is one.
	Sticky *Sticky `json:"sticky,omitempty"`

	// Engine and Key say where the claim lies.
	Engine string `json:"engine,omitempty"`
	Key    string `json:"key,omitempty"`
	// Token is the fencing token: ours in granted, the holder's in waiting and refused.
	Token uint64 `json:"token,omitempty"`
	// Sent is when the last acknowledged renewal was sent, on CLOCK_BOOTTIME; TTL counts from there.
	Sent time.Duration `json:"sent,omitempty"`
	TTL  time.Duration `json:"ttl,omitempty"`
	// Errors counts the requests that the engine has failed until now.
	Errors uint64 `json:"errors,omitempty"`

	// PID and Start name the first process of the tree, Cgroup the directory of its group; PID is 0 before it is started.
	PID    int    `json:"pid,omitempty"`
	Start  uint64 `json:"start,omitempty"`
	Cgroup string `json:"cgroup,omitempty"`

	// Fault and Text say what went wrong, or why.
	Fault Fault  `json:"fault,omitempty"`
	Text  string `json:"text,omitempty"`
}

// Sticky is what is to be said of a claim without a lease.
type Sticky struct {
	// Nonce is what the directory keeps; Token that of a claim which was owned in an earlier start, or 0.
	Nonce string `json:"nonce,omitempty"`
	Token uint64 `json:"token,omitempty"`
	// Place is where we are, Places where the claim may have been taken on before.
	Place  string   `json:"place,omitempty"`
	Places []string `json:"places,omitempty"`
	// Settled says, in a start, that nobody can have had the claim of Token but this place; in granted, that the engine has
	// said so now. Away says that the command may begin without a word of the engine.
	Settled bool `json:"settled,omitempty"`
	Away    bool `json:"away,omitempty"`
	// Since is when the holder made its claim, in refused.
	Since string `json:"since,omitempty"`
}

// check refuses what this version does not know.
func (m Message) check() error {
	switch m.Kind {
	case Start, Waiting, Delayed, Granted, Refused, Failed, Tree, Acked, Settled, Trouble, Told, Kill, Release, Released:
	default:
		return fmt.Errorf("%w (kind %.40q)", ErrWire, m.Kind)
	}
	if m.Version != Version || m.PID < 0 || m.Sent < 0 || m.TTL < 0 || m.Grace < 0 || m.Limit < 0 {
		return fmt.Errorf("%w (version %d, kind %s)", ErrWire, m.Version, m.Kind)
	}
	return nil
}

// Write sends one message in one write.
func Write(w io.Writer, m Message) error {
	m.Version = Version
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// Reader reads messages.
type Reader struct{ lines *bufio.Scanner }

// NewReader reads from r.
func NewReader(r io.Reader) *Reader {
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	return &Reader{s}
}

// Read gives the next message. io.EOF is the end of the peer; an error that wraps ErrWire a peer of another version.
func (r *Reader) Read() (Message, error) {
	if !r.lines.Scan() {
		if err := r.lines.Err(); err != nil {
			return Message{}, fmt.Errorf("%w (%w)", ErrWire, err)
		}
		return Message{}, io.EOF
	}
	var m Message
	if err := json.Unmarshal(r.lines.Bytes(), &m); err != nil {
		return Message{}, fmt.Errorf("%w (%w)", ErrWire, err)
	}
	return m, m.check()
}
