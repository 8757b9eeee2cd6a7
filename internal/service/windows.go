package service

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf16"
)

// task makes one task: at logon, and again and again where it watches.
func (j Job) task() ([]File, error) {
	line := windowsLine(j.Command[1:])
	if varied := regexp.MustCompile(`%[^%]+%|\$\(`).FindString(j.Command[0] + "\n" + line); varied != "" {
		return nil, replacedError("Task Scheduler", varied)
	}
	name, m := j.Name, &markup{}
	if j.Every > 0 {
		name += "-watch"
	}
	m.WriteString(`<?xml version="1.0" encoding="UTF-16"?>` + "\n")
	m.note("", fmt.Sprintf("%s task: schtasks /create /tn %s /xml FILE", made, name))
	m.WriteString(`<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
`)
	m.element("    ", "Description", j.description())
	m.WriteString("  </RegistrationInfo>\n  <Triggers>\n    <LogonTrigger>\n      <Enabled>true</Enabled>\n    </LogonTrigger>\n")
	if j.Every > 0 {
		m.note("    ", "The watch: from one moment in the past on, without end.")
		fmt.Fprintf(m, "    <TimeTrigger>\n      <Repetition>\n        <Interval>%s</Interval>\n      </Repetition>\n      <StartBoundary>2020-01-01T00:00:00</StartBoundary>\n      <Enabled>true</Enabled>\n    </TimeTrigger>\n", isoTime(j.Every))
	}
	m.WriteString("  </Triggers>\n")
	j.principal(m)
	j.taskSettings(m)
	m.WriteString("  <Actions Context=\"Author\">\n    <Exec>\n")
	m.element("      ", "Command", j.Command[0])
	m.element("      ", "Arguments", line)
	m.WriteString("    </Exec>\n  </Actions>\n</Task>\n")
	return []File{{Name: name + ".xml", Text: m.String(), Encode: utf16Text}}, m.err
}

func (j Job) principal(m *markup) {
	m.WriteString("  <Principals>\n    <Principal id=\"Author\">\n")
	if j.User != "" {
		m.element("      ", "UserId", j.User)
	}
	m.WriteString("      <LogonType>InteractiveToken</LogonType>\n      <RunLevel>LeastPrivilege</RunLevel>\n    </Principal>\n  </Principals>\n")
}

// taskSettings says all that has a default which stops a service.
func (j Job) taskSettings(m *markup) {
	set := func(name, value, why string) {
		if why != "" {
			m.note("    ", why)
		}
		m.element("    ", name, value)
	}
	m.WriteString("  <Settings>\n")
	set("MultipleInstancesPolicy", "IgnoreNew", "One at a time of this task. Other tasks and people are kept out by the lock, not by this.")
	set("DisallowStartIfOnBatteries", "false", "Said because it is true where it is not said: a laptop on battery would have no service.")
	set("StopIfGoingOnBatteries", "false", "")
	set("StartWhenAvailable", "true", "")
	limit := "PT0S"
	why := "Without limit: by itself the Task Scheduler ends every task after 72 hours."
	if j.Every > 0 {
		limit, why = isoTime(lookLimit), "A look that hangs must not be the last one."
	}
	set("ExecutionTimeLimit", limit, why)
	if j.Every == 0 {
		m.note("    ", "Only a failure starts it again: to be turned away ends with 0.")
		m.WriteString("    <RestartOnFailure>\n      <Interval>PT1M</Interval>\n      <Count>5</Count>\n    </RestartOnFailure>\n")
	}
	m.WriteString("  </Settings>\n")
}

func replacedError(who, text string) error {
	return fmt.Errorf("the %s would put something else in the place of %q: put the command into a script", who, text)
}

func isoTime(d time.Duration) string { return fmt.Sprintf("PT%dS", seconds(d)) }

// utf16Text is what the Task Scheduler reads: little endian, with a mark of the
// byte order, and the line ends of Windows.
func utf16Text(text string) []byte {
	b := []byte{0xFF, 0xFE}
	for _, unit := range utf16.Encode([]rune(strings.ReplaceAll(text, "\n", "\r\n"))) {
		b = append(b, byte(unit), byte(unit>>8))
	}
	return b
}

// winsvc makes the commands that register a service: Windows has no file for it.
func (j Job) winsvc() ([]File, error) {
	if j.User != "" {
		return nil, fmt.Errorf("a Windows service gets its user with a password, which belongs into no file: leave the user out, and afterwards say sc.exe config %s obj= %s password= …", j.Name, j.User)
	}
	line, name := windowsLine(j.Command), powershellWord(j.Name)
	if varied := regexp.MustCompile(`%[^%]+%`).FindString(line); varied != "" {
		return nil, replacedError("service manager", varied)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# %s winsvc: powershell -ExecutionPolicy Bypass -File THIS, as an administrator
# To remove it: sc.exe stop %s; sc.exe delete %s
$ErrorActionPreference = 'Stop'
# Fails where there is a service of this name: nothing is replaced.
New-Service -Name %s -StartupType Automatic -DisplayName %s -Description %s -BinaryPathName %s
# Later than the disks and the network, which a start at boot would race.
sc.exe config %s start= delayed-auto
# After a failure again, later each time; a day without one forgets them.
sc.exe failure %s reset= 86400 actions= restart/5000/restart/30000/restart/60000
# Also after an exit code and not only after a crash; to be turned away is 0 and no failure.
sc.exe failureflag %s 1
`, made, name, name, name, name, powershellWord(j.description()), powershellWord(line), name, name, name)
	return []File{{Name: j.Name + ".ps1", Text: b.String(), Encode: withMark}}, nil
}

// withMark lets Windows PowerShell know that a text is UTF-8.
func withMark(text string) []byte {
	return []byte("\uFEFF" + strings.ReplaceAll(text, "\n", "\r\n"))
}
