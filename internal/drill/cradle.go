package drill

// CradleVerb is the word by which this program is called to be a cradle: the process below which one start lives.
const CradleVerb = "__cradle"

// order is what a cradle is told; one line of JSON.
type order struct {
	Do   string   // arm, fill, free, readonly, writable, occupy, engine, plug, address, cut, heal
	Argv []string // the command
	Env  []string
	Log  string // takes the command's output
	PID  int    // the number to occupy, or the host to plug in
	N    int    // the number of a host
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
	Switch bool   `json:",omitempty"` // a network of its own, with the switch that hosts are plugged into
	Wire   bool   `json:",omitempty"` // a network of its own, which can be plugged in
	Boot   string `json:",omitempty"` // a boot id of its own, with processes and names of its own
	Ahead  int64  `json:",omitempty"` // seconds by which its clocks since boot differ
}

// EngineVerb is the word by which this program is called to be an engine: a real etcd, with its data below the folder that
// follows, at the address after that. It writes one line to its standard output once it can answer.
const EngineVerb = "__engine"

// BystanderVerb is the word by which this program is called to do nothing until it is ended.
const BystanderVerb = "__bystander"
