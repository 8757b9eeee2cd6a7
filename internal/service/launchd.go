package service

import (
	"fmt"
	"path"
	"time"
)

// launchdPause is the least time between two starts; launchd's own default.
const launchdPause = 10 * time.Second

// plist writes the elements of a property list.
type plist struct{ markup }

func (p *plist) key(name, why string) {
	if why != "" {
		p.note("  ", why)
	}
	p.element("  ", "key", name)
}

func (p *plist) word(name, value, why string) {
	p.key(name, why)
	p.element("  ", "string", value)
}

func (p *plist) number(name string, n int, why string) {
	p.key(name, why)
	p.element("  ", "integer", fmt.Sprint(n))
}

func (p *plist) truth(name string, is bool, why string) {
	p.key(name, why)
	fmt.Fprintf(p, "  <%t/>\n", is)
}

// launchd needs no second job for the time of a stop: it kills what is left of
// the process group only, and solehold stops the whole tree.
func (j Job) launchd() ([]File, error) {
	p := &plist{}
	p.WriteString(`<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
`)
	p.note("", made+" launchd: launchctl bootstrap "+j.domain()+" FILE")
	p.WriteString("<plist version=\"1.0\">\n<dict>\n")
	label := j.Name
	if j.Every > 0 {
		label += ".watch"
	}
	p.word("Label", label, "")
	p.key("ProgramArguments", "")
	p.WriteString("  <array>\n")
	for _, word := range j.Command {
		p.element("    ", "string", word)
	}
	p.WriteString("  </array>\n")
	p.truth("RunAtLoad", true, "")
	j.again(p)
	if j.User != "" {
		p.word("UserName", j.User, "")
	}
	log := path.Join("/var/log", label+".log")
	if j.Session {
		log = path.Join(j.Home, "Library/Logs", label+".log")
	}
	p.word("StandardOutPath", log, "launchd keeps no output: without these the one line of a refusal is lost.")
	p.word("StandardErrorPath", log, "")
	p.WriteString("</dict>\n</plist>\n")
	return []File{{Name: label + ".plist", Text: p.String()}}, p.err
}

func (j Job) domain() string {
	if j.Session {
		return "gui/UID"
	}
	return "system"
}

// again says when the job runs again.
func (j Job) again(p *plist) {
	if j.Every > 0 {
		p.number("StartInterval", seconds(j.Every), "One look, and what follows from it. Looks never overlap: launchd starts a job only when it has ended.")
		return
	}
	p.key("KeepAlive", "Only a failure starts it again. To be turned away ends with 0, which plain KeepAlive would answer with a start every ten seconds.")
	p.WriteString("  <dict>\n")
	p.element("    ", "key", "SuccessfulExit")
	p.WriteString("    <false/>\n  </dict>\n")
	p.number("ThrottleInterval", seconds(launchdPause), "launchd never gives up: it is solehold that does, by its flags restart and restart-max.")
	p.number("ExitTimeOut", seconds(j.Grace+stopMargin), "Longer than the grace period of solehold; launchd kills after 20 seconds by itself.")
	p.truth("AbandonProcessGroup", false, "What is left of the group dies with the job.")
}
