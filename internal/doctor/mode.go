package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// Mode is a failure mode.
type Mode string

// The modes.
const (
	StrictOvercommit  Mode = "strict-overcommit"
	HiddenMemory      Mode = "hidden-memory"
	CPUThrottling     Mode = "cpu-throttling"
	SwapThrash        Mode = "swap-thrash"
	FileThrash        Mode = "file-thrash"
	MemoryPressure    Mode = "memory-pressure"
	MemoryPlateau     Mode = "memory-plateau"
	CapacityCliff     Mode = "capacity-cliff"
	CPUContention     Mode = "cpu-contention"
	OOMKill           Mode = "oom-kill"
	BootTimeoutLoop   Mode = "boot-timeout-loop"
	FailedStart       Mode = "failed-start"
	SlowStart         Mode = "slow-start"
	RestartCascade    Mode = "restart-cascade"
	CrashLoop         Mode = "crash-loop"
	EventLoopBlocked  Mode = "event-loop-blocked"
	WorkerExhaustion  Mode = "worker-exhaustion"
	WorkerTimeout     Mode = "worker-timeout"
	AcceptQueueFilled Mode = "accept-queue-overflow"
)

// Modes lists all modes, in the order in which findings of equal standing are
// reported.
func Modes() []Mode {
	modes := make([]Mode, len(rules))
	for i := range rules {
		modes[i] = rules[i].Mode
	}
	return modes
}

// ParseMode finds a mode by name. The error lists all.
func ParseMode(name string) (Mode, error) {
	if modes := Modes(); slices.Contains(modes, Mode(name)) {
		return Mode(name), nil
	}
	var names []string
	for _, m := range Modes() {
		names = append(names, string(m))
	}
	return "", fmt.Errorf("no failure mode is named %q; there are: %s", name, strings.Join(names, ", "))
}
