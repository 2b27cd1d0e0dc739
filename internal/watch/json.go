package watch

import (
	"math"
	"time"

	"brink/internal/gauge"
	"brink/internal/kernel"
)

// Format names the JSON of a snapshot. The part behind the slash counts up when
// a field changes its meaning or goes; new fields may come at any time.
const Format = "brink-watch/1"

type document struct {
	Format   string           `json:"format"`
	At       time.Time        `json:"at"`
	Interval float64          `json:"interval_s"`
	Servers  []serverDocument `json:"servers"`
}

// In all documents null stands for what is unknown.
type serverDocument struct {
	Name        string            `json:"name"`
	Kind        gauge.Kind        `json:"kind"`
	Why         string            `json:"why"`
	PID         *int              `json:"pid"`
	NetNS       *uint64           `json:"netns"`
	Workers     *uint64           `json:"workers"`
	Busy        *uint64           `json:"busy"`
	BusyAtLeast uint64            `json:"busy_at_least"`
	Idle        *uint64           `json:"idle"`
	Queued      *uint64           `json:"queued"`
	Open        *uint64           `json:"open_connections"`
	CPUs        *float64          `json:"cpus"`
	RSS         *uint64           `json:"rss_bytes"`
	Service     *float64          `json:"service_s"`
	Error       *float64          `json:"service_error"`
	Rate        *float64          `json:"rate_per_s"`
	Sustainable *float64          `json:"sustainable_per_s"`
	Saturated   *bool             `json:"saturated"`
	WaitVarying *float64          `json:"expected_wait_mmc_s"`
	WaitAlike   *float64          `json:"expected_wait_mdc_s"`
	Sockets     []socketDocument  `json:"sockets"`
	Processes   []processDocument `json:"processes"`
}

type socketDocument struct {
	Listen     string   `json:"listen"`
	Queue      uint32   `json:"queue"`
	Limit      *uint64  `json:"limit"`
	Oldest     *float64 `json:"oldest_s"`
	Abandoned  *uint64  `json:"abandoned"`
	Drops      *uint64  `json:"drops"`
	DropsTotal *uint64  `json:"drops_total"`
}

type processDocument struct {
	PID     int           `json:"pid"`
	Start   uint64        `json:"start_ticks"`
	Master  bool          `json:"master"`
	State   *string       `json:"state"`
	Run     string        `json:"run_state"`
	Held    *uint64       `json:"held_connections"`
	Serving *uint64       `json:"serving"`
	Unread  *uint64       `json:"unread_bytes"`
	RunFor  *float64      `json:"run_s"`
	Ready   *float64      `json:"ready_s"`
	RSS     uint64        `json:"rss_bytes"`
	Wait    *waitDocument `json:"waits_on"`
}

type waitDocument struct {
	Call string  `json:"call"`
	Peer *string `json:"peer"`
	Sure bool    `json:"sure"`
}

// Document returns the snapshot as what encoding/json writes in the form that
// [Format] names and docs/watch.md describes. It refers to the snapshot.
func Document(s *gauge.Snapshot) any {
	doc := document{Format: Format, At: s.At.UTC(), Interval: s.Interval.Seconds(), Servers: make([]serverDocument, len(s.Servers))}
	for i, server := range s.Servers {
		doc.Servers[i] = documentOf(server)
	}
	return doc
}

func documentOf(s *gauge.Server) serverDocument {
	d := serverDocument{
		Name: s.Name, Kind: s.Kind, Why: s.Why,
		Workers: number(s.Workers), Busy: number(s.Busy), BusyAtLeast: s.BusyAtLeast, Idle: number(s.Idle),
		Queued: number(s.Queued), Open: number(s.Open),
		CPUs: figure(s.CPU), Service: figure(s.Service), Error: figure(s.ServiceError), Rate: figure(s.Rate), Sustainable: figure(Sustainable(s)),
		Sockets: make([]socketDocument, len(s.Sockets)), Processes: make([]processDocument, len(s.Processes)),
	}
	if s.NetNS != 0 {
		d.NetNS = &s.NetNS
	}
	if s.PID != 0 {
		d.PID, d.RSS = &s.PID, &s.RSSBytes
	}
	if varying, alike := ExpectedWait(s); varying.Known && alike.Known {
		saturated := math.IsInf(varying.Value, 1)
		d.Saturated = &saturated
		if !saturated {
			d.WaitVarying, d.WaitAlike = figure(varying), figure(alike)
		}
	}
	for i := range s.Sockets {
		d.Sockets[i] = documentOfSocket(&s.Sockets[i])
	}
	for i := range s.Processes {
		d.Processes[i] = documentOfProcess(&s.Processes[i])
	}
	return d
}

func documentOfSocket(k *gauge.Socket) socketDocument {
	return socketDocument{
		Listen: k.Address(), Queue: k.Queue, Limit: number(k.Limit), Oldest: figure(k.Oldest),
		Abandoned: number(k.Abandoned), Drops: number(k.Drops), DropsTotal: number(k.DropsTotal),
	}
}

func documentOfProcess(p *gauge.Process) processDocument {
	d := processDocument{
		PID: p.PID, Start: p.StartTicks, Master: p.Master, Run: runState(p.RunState),
		Held: number(p.Held), Serving: number(p.Serving), Unread: number(p.Unread),
		RunFor: figure(p.Run), Ready: figure(p.Ready), RSS: p.RSSBytes,
	}
	if p.State != gauge.Unknown {
		text := p.State.String()
		d.State = &text
	}
	if p.Wait.Call != "" {
		d.Wait = &waitDocument{Call: p.Wait.Call, Sure: p.Wait.Sure}
		if p.Wait.Peer.IsValid() {
			peer := p.Wait.Peer.String()
			d.Wait.Peer = &peer
		}
	}
	return d
}

func runState(state byte) string {
	if state == 0 {
		return ""
	}
	return string(rune(state))
}

func number(n kernel.Num) *uint64 {
	if !n.Known {
		return nil
	}
	return &n.Value
}

func figure(m gauge.Measure) *float64 {
	if !m.Known {
		return nil
	}
	return &m.Value
}
