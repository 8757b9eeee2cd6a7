package drill

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

const (
	engineIP  = "10.77.0.254" // of the switch, where the engine serves; hosts have those from 1 on
	engineTTL = 5 * time.Second
	maxHosts  = 200
	switchDev = "hbr"
)

// needsNetwork is for what takes a network of its own.
func needsNetwork() error {
	if err := needsRoot(); err != nil {
		return err
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return fmt.Errorf("%w: it takes the program ip (iproute2), for networks of its own", ErrNotHere)
	}
	return nil
}

// partition runs the command below solehold run --cluster, on hosts with a disk and a network each and an engine between
// them. Then nothing from or to the owner arrives any more: it must be gone before the next one comes.
func partition(p *play) error {
	guard, err := p.clusterRun()
	if err != nil {
		return err
	}
	center, hosts, err := p.network()
	if err != nil {
		return err
	}
	x := p.below(guard, hosts[0])
	if err := p.release(x); err != nil {
		return err
	}
	owners, err := p.settle()
	if err != nil || !p.demand(owners, x) {
		return err
	}
	var others []*start
	for _, h := range hosts[1:] {
		others = append(others, p.below(guard, h))
	}
	if err := p.release(others...); err != nil {
		return err
	}
	if _, err := p.settle(); err != nil {
		return err
	}
	if err := p.order(center, order{Do: "cut", N: 1}); err != nil {
		return err
	}
	if next, err := p.next(others, time.Now()); err != nil || next == nil {
		return err
	}
	if err := p.order(center, order{Do: "heal", N: 1}); err != nil {
		return err
	}
	owners, err = p.settle()
	if err == nil {
		p.demand(owners, p.starts...)
	}
	return err
}

// next waits until one of the others owns the data. It is nil, and the round has failed, where it does not come to that.
func (p *play) next(others []*start, cut time.Time) (*start, error) {
	var next *start
	err := p.until(p.Limit, func(*post) bool {
		owners := p.owners()
		i := slices.IndexFunc(others, func(x *start) bool { return slices.Contains(owners, x) })
		if i >= 0 {
			next = others[i]
		}
		return next != nil || !slices.ContainsFunc(others, (*start).alive)
	})
	if next != nil {
		p.cuts = append(p.cuts, since(cut, time.Now()))
	} else if err == nil || err == errTooLong {
		p.demand(nil, others...)
		return nil, nil
	}
	return next, err
}

// clusterRun is the command line before the command.
func (p *play) clusterRun() ([]string, error) {
	tool := p.Tool
	if tool == "" {
		tool = filepath.Join(filepath.Dir(p.Self[0]), "solehold")
		if _, err := exec.LookPath(tool); err != nil {
			if tool, err = exec.LookPath("solehold"); err != nil {
				return nil, fmt.Errorf("%w: it takes the program solehold, beside this one or on PATH", ErrNotHere)
			}
		}
	}
	at := fmt.Sprintf("etcd://%s:2379/drill?ttl=%v", engineIP, engineTTL)
	limit := p.Limit.String()
	return []string{tool, "run", "--cluster", at, "--cluster-name", "drill", "--wait", limit, "--timeout", limit, p.Dir, "--"}, nil
}

// below plans a start of the command below a guard.
func (p *play) below(guard []string, h *host) *start {
	x := p.newStart(h)
	x.argv = slices.Concat(guard, x.argv)
	return x
}

// network makes the hosts, the switch between them, and the engine there.
func (p *play) network() (center *host, hosts []*host, err error) {
	if p.Starters > maxHosts {
		return nil, nil, fmt.Errorf("%d hosts: at most %d", p.Starters, maxHosts)
	}
	if center, err = p.newHost(place{Data: p.Dir, Switch: true}); err != nil {
		return nil, nil, err
	}
	data, err := os.MkdirTemp(p.work, "etcd-")
	if err != nil {
		return nil, nil, err
	}
	engine := append(slices.Clone(p.Self), EngineVerb, data, engineIP+":2379")
	if err := p.order(center, order{Do: "engine", Argv: engine, Log: filepath.Join(data, "log")}); err != nil {
		return nil, nil, err
	}
	for n := 1; n <= p.Starters; n++ {
		h, err := p.newHost(place{Data: p.Dir, Small: true, Wire: true})
		if err == nil {
			err = p.order(center, order{Do: "plug", PID: h.pid, N: n})
		}
		if err == nil {
			err = p.order(h, order{Do: "address", N: n})
		}
		if err != nil {
			return nil, nil, err
		}
		hosts = append(hosts, h)
	}
	return center, hosts, nil
}

// layNetwork makes the switch, in the network of this process.
func layNetwork() error {
	return errors.Join(
		ip("link", "set", "lo", "up"),
		ip("link", "add", switchDev, "type", "bridge"),
		ip("addr", "add", engineIP+"/24", "dev", switchDev),
		ip("link", "set", switchDev, "up"),
	)
}

// wire does something to the cables: a host has one called eth0, and the switch its other end.
func wire(o order) error {
	n := strconv.Itoa(o.N)
	port := "v" + n
	switch o.Do {
	case "plug":
		return errors.Join(
			ip("link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", strconv.Itoa(o.PID)),
			ip("link", "set", port, "master", switchDev, "up"),
		)
	case "address":
		return errors.Join(
			ip("addr", "add", "10.77.0."+n+"/24", "dev", "eth0"),
			ip("link", "set", "eth0", "up"), ip("link", "set", "lo", "up"),
		)
	case "cut": // nothing arrives any more, and nobody is told
		return ip("link", "set", port, "nomaster")
	}
	return ip("link", "set", port, "master", switchDev)
}

func ip(args ...string) error {
	out, err := exec.Command("ip", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %q: %w: %s", args, err, out)
	}
	return nil
}

// engine starts the engine and waits until it can answer. It ends with this cradle.
func (c *cradle) engine(o order) error {
	log, err := os.Create(o.Log)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(o.Argv[0], o.Argv[1:]...)
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		text, _ := os.ReadFile(o.Log)
		return fmt.Errorf("the engine does not come up: %w: %s", err, text)
	}
	return nil
}
