package drill

// CradleVerb is the word by which this program is called to be a cradle: the process below which one start lives.
const CradleVerb = "__cradle"

// order is what a cradle is told; one line of JSON.
type order struct {
	Do   string   // arm, fill, free, readonly, writable, occupy
	Argv []string // the command
	Env  []string
	Log  string // takes the command's output
	PID  int    // the number to occupy
}

// news is what a cradle tells; one line of JSON.
type news struct {
	What   string // ready, armed, started, failed, exited, empty, done
	PID    int    `json:",omitempty"` // as the cradle counts
	Code   int    `json:",omitempty"`
	Signal int    `json:",omitempty"`
	Error  string `json:",omitempty"`
	Device uint64 `json:",omitempty"` // what the data directory lies on
}

// place is where a cradle stands: which of its namespaces are its own.
type place struct {
	Data   string // the data directory
	Join   int    `json:",omitempty"` // the thread whose mounts are shared
	Device uint64 `json:",omitempty"` // what the data directory lies on there
	Small  bool   `json:",omitempty"` // a small file system of its own over the data directory
	Mounts bool   `json:",omitempty"` // mounts of its own
	Boot   string `json:",omitempty"` // a boot id of its own, with processes and names of its own
	Ahead  int64  `json:",omitempty"` // seconds by which its clocks since boot differ
}

// BystanderVerb is the word by which this program is called to do nothing until it is ended.
const BystanderVerb = "__bystander"
