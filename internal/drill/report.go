package drill

import "time"

// Verdict is how a drill ended.
type Verdict string

// The verdicts.
const (
	Pass   Verdict = "pass"
	Failed Verdict = "fail"
	NotRun Verdict = "not run"
)

// ByLife is in Report.By where owners were known only by living on.
const ByLife = "lives"

// Report is what a drill has seen. Times are seconds.
type Report struct {
	// Scenario is what was forced.
	Scenario string `json:"scenario"`
	// Command was started, Also as the second entrance.
	Command []string `json:"command"`
	Also    []string `json:"also,omitempty"`
	// Dir is the data directory; Kept says that it was made here and left.
	Dir  string `json:"dir"`
	Kept bool   `json:"kept,omitempty"`
	// Seed makes the same random points again, Again is the command line for that.
	Seed  uint64 `json:"seed"`
	Again string `json:"again"`
	// Starters is how many were started in a round.
	Starters int `json:"starters"`
	// Began is when.
	Began time.Time `json:"began"`
	// Took is how long.
	Took float64 `json:"took"`
	// Verdict says whether the promise was kept; Reasons say why not.
	Verdict Verdict  `json:"verdict"`
	Reasons []string `json:"reasons,omitempty"`
	// Owners is the most that were seen at once.
	Owners int `json:"owners"`
	// By says what owners were known by.
	By []string `json:"by,omitempty"`
	// Refused are the starts that ended by themselves beside an owner.
	Refused Refusals `json:"refused"`
	// Next are the times from the death of an owner to the next one.
	Next Times `json:"next"`
	// Cut are the times from the cut of an owner's link to the next owner.
	Cut Times `json:"cut"`
	// Healthy are the times from a start to its first good answer.
	Healthy Times `json:"healthy"`
	// Left are processes that outlived the start they belonged to and were ended by the drill.
	Left []string `json:"left,omitempty"`
	// Notes say what else was seen, and Gaps what could not be.
	Notes []string `json:"notes,omitempty"`
	Gaps  []string `json:"gaps,omitempty"`
	// Rounds are the rounds.
	Rounds []Round `json:"rounds"`
}

// Refusals counts starts that were turned away.
type Refusals struct {
	// Count is how many.
	Count int `json:"count"`
	// Ends counts them by how they ended, as "exit 0".
	Ends map[string]int `json:"ends,omitempty"`
	// Slowest is the longest time from its start to its end.
	Slowest float64 `json:"slowest,omitempty"`
}

// Times sums up durations.
type Times struct {
	// Count is how many there are.
	Count int `json:"count"`
	// Median is the middle one.
	Median float64 `json:"median,omitempty"`
	// Slowest is the longest one.
	Slowest float64 `json:"slowest,omitempty"`
}

// Round is one try.
type Round struct {
	// Number counts from 1.
	Number int `json:"number"`
	// Began is when, from the drill's beginning; Took how long.
	Began float64 `json:"began"`
	Took  float64 `json:"took"`
	// Owners is the most that were seen at once.
	Owners int `json:"owners"`
	// Clash is the first moment with more than one owner.
	Clash *Clash `json:"clash,omitempty"`
	// Starts are the lives of the commands.
	Starts []Life `json:"starts"`
	// Events are what happened, in order; times are from the round's beginning.
	Events []Event `json:"events"`
	// Reasons say why the round failed.
	Reasons []string `json:"reasons,omitempty"`
}

// Clash is a moment with more than one owner.
type Clash struct {
	// At is when, from the round's beginning.
	At float64 `json:"at"`
	// Owners are those who were there.
	Owners []Owner `json:"owners"`
}

// Owner is one start that was seen to own the data.
type Owner struct {
	// Start is its number.
	Start int `json:"start"`
	// PID is the process that was seen.
	PID int `json:"pid"`
	// Command is its command line.
	Command string `json:"command,omitempty"`
	// Why says by what it was known.
	Why string `json:"why"`
}

// Life is one start of the command.
type Life struct {
	// Number counts from 1 in its round.
	Number int `json:"number"`
	// PID is its first process.
	PID int `json:"pid,omitempty"`
	// Also says that it was the second entrance.
	Also bool `json:"also,omitempty"`
	// Began and Ended are from the round's beginning; Ended is 0 for one that the end of the round ended.
	Began float64 `json:"began"`
	Ended float64 `json:"ended,omitempty"`
	// End says how its first process ended, as "exit 0" or "signal 9"; empty while it lives.
	End string `json:"end,omitempty"`
	// Owned are the times in which it owned the data.
	Owned []Span `json:"owned,omitempty"`
	// Stopped are the times in which it was halted by the drill.
	Stopped []Span `json:"stopped,omitempty"`
	// Output is the end of what it printed, for one that ended by itself.
	Output string `json:"output,omitempty"`
}

// Span is a part of a round.
type Span struct {
	// From and To are from the round's beginning.
	From float64 `json:"from"`
	To   float64 `json:"to"`
}

// Event is one thing that happened.
type Event struct {
	// At is when, from the round's beginning.
	At float64 `json:"at"`
	// Start is the number of the start, 0 for none.
	Start int `json:"start,omitempty"`
	// What is the kind, Detail says more.
	What   string `json:"what"`
	Detail string `json:"detail,omitempty"`
}
