package cli

import "testing"

// A command that is made alone must say of itself what it says among all.
func TestACommandAloneIsTheSame(t *testing.T) {
	usage := func(t *testing.T, name string, args ...string) string {
		t.Helper()
		found, _, err := new(app).root(args).Find([]string{name})
		if err != nil || found.Name() != name {
			t.Fatalf("args %q: looking for %s: found %s, error %v", args, name, found.Name(), err)
		}
		return found.UsageString()
	}
	for _, c := range new(app).commands() {
		alone, among := usage(t, c.name, c.name, "--help"), usage(t, c.name, "help", c.name)
		if alone != among {
			t.Errorf("alone:\n%s\namong the others:\n%s", alone, among)
		}
	}
}
