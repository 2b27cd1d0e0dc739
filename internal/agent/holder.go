package agent

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"brink/internal/system"
	"brink/internal/wire"
)

// holder is a process that stands for memory of the platform's.
type holder struct {
	platform *platform
	name     string
	cmd      *exec.Cmd
	// ready is closed when it is filled, ended when it has been waited for.
	ready, ended chan struct{}
	// wanted is false once the agent ends it. Somebody waits for an attended one
	// to be filled and tells of a failure.
	wanted, attended atomic.Bool
	said             *tail // on stderr
}

// hold starts a holder in a cgroup of its own and returns when it is filled. On
// an error nothing is left of it.
func (p *platform) hold(name string, h system.Holding) (*holder, error) {
	r, err := p.startHolder(name, h, true)
	if err != nil {
		return nil, err
	}
	if err := r.await(p.ctx); err != nil {
		r.end()
		return nil, err
	}
	return r, nil
}

// sidecar starts the companion of an app, nil where the plan has none. It is
// filled while the app starts.
func (p *platform) sidecar(number string) (*holder, error) {
	s := p.share()
	if s.SidecarMB == 0 {
		return nil, nil
	}
	return p.startHolder("sidecar"+number, system.Holding{MB: s.SidecarMB, Hot: s.SidecarHotMB, Every: time.Duration(s.HotEveryNs)}, false)
}

// startHolder starts a holder; an attended one is waited for by await.
func (p *platform) startHolder(name string, h system.Holding, attended bool) (*holder, error) {
	r := &holder{platform: p, name: name, ready: make(chan struct{}), ended: make(chan struct{}), said: new(tail)}
	argv := append(append([]string{}, p.agent.opts.Hold...), h.Args()...)
	r.cmd = exec.Command(argv[0], argv[1:]...)
	r.cmd.Env = []string{"GOMAXPROCS=1"}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	problems, err := r.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.start(r.cmd, name); err != nil {
		return nil, fmt.Errorf("the platform's %s: %w", name, err)
	}
	r.wanted.Store(true)
	r.attended.Store(attended)
	p.tree.add(r.cmd.Process.Pid)
	p.agent.register()
	go r.follow(out, problems)
	return r, nil
}

// follow reads what the process says until it ends.
func (h *holder) follow(out, problems io.Reader) {
	var read sync.WaitGroup
	read.Go(func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			if s.Text() == system.Ready {
				close(h.ready)
				break
			}
		}
		_, _ = io.Copy(io.Discard, out)
	})
	read.Go(func() {
		for s := bufio.NewScanner(problems); s.Scan(); {
			h.said.add("stderr", s.Text())
		}
	})
	read.Wait()
	_ = h.platform.agent.spawn.wait(h.cmd) // the state says it all
	close(h.ended)
	h.tellEnd()
}

// start starts cmd on the plan's CPUs, in the cgroup of that name where there
// are cgroups.
func (p *platform) start(cmd *exec.Cmd, name string) error {
	if p.cgroup != nil {
		leaf, err := p.cgroup.Leaf(name)
		if err != nil {
			return err
		}
		f, err := leaf.Place(cmd)
		if err != nil {
			return err
		}
		defer f.Close()
	}
	return p.agent.spawn.start(cmd, p.cpus())
}

// await waits until it is filled. Its error is a *wire.Fault of kind NoRoom when
// memory or disk did not do.
func (h *holder) await(ctx context.Context) error {
	select {
	case <-h.ready:
		return nil
	case <-h.ended:
		return &wire.Fault{Kind: wire.NoRoom, Text: fmt.Sprintf("the platform's %s could not be filled: its process %s", h.name, h.how())}
	case <-ctx.Done():
		return fmt.Errorf("the platform's %s: %w", h.name, context.Cause(ctx))
	}
}

// how says how the process ended.
func (h *holder) how() string {
	_, _, text := outcome(h.cmd.ProcessState)
	if said := h.said.String(); said != "" {
		text += " and said: " + said
	}
	return text
}

// tellEnd reports a holder that ended although it should not have: the plan is
// not what it was any more. It belongs to no app.
func (h *holder) tellEnd() {
	select {
	case <-h.ready:
	default:
		if h.attended.Load() {
			return // await tells
		}
	}
	if !h.wanted.Load() {
		return
	}
	code, signal, _ := outcome(h.cmd.ProcessState)
	h.platform.agent.out.put(wire.Event{
		Kind: wire.Exited, AtNs: h.platform.agent.clock.Now().UnixNano(), Pid: h.cmd.Process.Pid, Code: code, Signal: signal,
		Detail: fmt.Sprintf("the platform's %s is gone: its process %s", h.name, h.how()),
	})
}

// end ends the process and returns when it is gone. It may be called on nil and
// more than once.
func (h *holder) end() {
	if h == nil {
		return
	}
	h.wanted.Store(false)
	select {
	case <-h.ended:
		return
	default:
	}
	// It has not been waited for, so that the pid is still its own.
	_ = syscall.Kill(h.cmd.Process.Pid, syscall.SIGKILL)
	<-h.ended
}

// inflate replaces the inflated memory.
func (p *platform) inflate(in wire.Inflation) error {
	if in.MB < 1 || in.TouchEveryNs < 0 {
		return &wire.Fault{Kind: wire.BadRequest, Text: fmt.Sprintf("%d MB touched every %s cannot be inflated", in.MB, time.Duration(in.TouchEveryNs))}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inflated.end()
	var err error
	p.inflated, err = p.hold("inflated", system.Holding{MB: in.MB, Hot: in.MB, Every: time.Duration(in.TouchEveryNs)})
	return err
}

func (p *platform) deflate() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inflated.end()
	p.inflated = nil
}
