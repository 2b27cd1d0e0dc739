package doctor

import (
	"slices"
	"strings"
	"testing"
)

// A machine that thrashes explains both, and the cascade explains the starts
// that fail in it (the mechanism, as in explains): it stands before them.
func TestWhatFollowsStandsInTheOrderOfItsOwnCauses(t *testing.T) {
	var modes []Mode
	for _, f := range inCausalOrder([]Finding{{Mode: SwapThrash}, {Mode: FailedStart, Subject: "a"}, {Mode: FailedStart, Subject: "b"}, {Mode: RestartCascade}}) {
		modes = append(modes, f.Mode)
	}
	if want := []Mode{SwapThrash, RestartCascade, FailedStart, FailedStart}; !slices.Equal(modes, want) {
		t.Errorf("the order is %v, want %v", modes, want)
	}
}

// Starts that fail in a cascade are one line of it, and none guesses at a cause of
// its own, in the document neither (the mechanism, as in explains).
func TestFailedStartsOfACascadeAreOneLineWithoutAGuess(t *testing.T) {
	for _, f := range fixtures(t) {
		if f.name != "restart-cascade/six-apps-three-rounds" {
			continue
		}
		r := f.diagnose(t)
		var b strings.Builder
		if err := Text(&b, r, TextOptions{Width: 4000}); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(b.String(), "\nfollows "); n != 1 || strings.Contains(b.String(), "nothing listens") {
			t.Errorf("%d lines of what follows, want 1 without a guess:\n%s", n, b.String())
		}
		starts := 0
		for _, f := range r.Findings {
			if f.Mode != FailedStart {
				continue
			}
			starts++
			if said := f.Cause + strings.Join(f.Now, " ") + strings.Join(f.Properly, " "); f.CausedBy != RestartCascade || strings.Contains(said, "listens") || strings.Contains(said, "HTTP") {
				t.Errorf("%s follows from %q and says: %s", f.Subject, f.CausedBy, said)
			}
		}
		if starts != 6 {
			t.Errorf("%d failed starts, want 6", starts)
		}
		return
	}
	t.Error("the fixture is gone")
}

// No mode is its own cause by way of others, so that every order ends.
func TestNoCauseIsItsOwnConsequence(t *testing.T) {
	for mode := range explains {
		seen := map[Mode]bool{}
		todo := slices.Clone(explains[mode])
		for len(todo) > 0 {
			m := todo[0]
			todo = todo[1:]
			if m == mode {
				t.Fatalf("%s is its own consequence", mode)
			}
			if !seen[m] {
				seen[m] = true
				todo = append(todo, explains[m]...)
			}
		}
	}
}

// Names of sites have no underscores; what follows one is the container's own.
func TestASiteIsNamedWithoutItsContainersNumber(t *testing.T) {
	for container, want := range map[string]string{
		"shop_0_3f2a9c1d": "shop", "shop_2_9a7c": "shop", "shop_1": "shop", "shop-2": "shop-2", "shop": "shop",
	} {
		if got := siteName(container); got != want {
			t.Errorf("%s is of %s, want %s", container, got, want)
		}
	}
}

// Two apps whose names begin alike are two; what stands behind a mark that no
// name of its kind has is a part of one.
func TestNamesOfOneProgram(t *testing.T) {
	for pair, want := range map[[2]string]bool{
		{"relay.service", "relay"}: true, {"hooks-6c5d-7xk2p", "hooks-6c5d-7xk2p/hooks"}: true, {"shop", "shop_0_3f2a9c1d"}: true,
		{"", "shop"}: true, {"shop", "shop"}: true, {"api", "api-worker"}: false, {"api.service", "api-worker"}: false, {"web", "website"}: false,
	} {
		if got := sameProgram(pair[0], pair[1]); got != want {
			t.Errorf("%v: %v, want %v", pair, got, want)
		}
	}
}
