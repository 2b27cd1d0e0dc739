package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

const dataHead = "# source: a table\n# plan: {cpus: %d}\n# host: local\n# accelerator: none\n# workload: \"4 at once: /work\"\nmetric,unit,step,value\n"

// dataFiles writes two data files with three values each into a new directory.
func dataFiles(t *testing.T, cpus ...string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for i, name := range []string{"a.csv", "b.csv"} {
		text := strings.Replace(dataHead, "%d", cpus[i], 1)
		for _, x := range [][]string{{"1", "1.1", "1.2"}, {"2", "2.1", "2.2"}}[i] {
			text += "last_answer_s,s,one," + x + "\n"
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// execute runs one command by itself.
func execute(command func(*app) *cobra.Command, json bool, args ...string) (string, error) {
	var out, errs bytes.Buffer
	a := &app{stdout: &out, stderr: &errs, json: json, quiet: true}
	cmd := command(a)
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(context.Background())
	return out.String(), err
}

func codeOf(err error) int {
	var coded *exitError
	if errors.As(err, &coded) {
		return coded.code
	}
	return exitDone
}

// With three against three and complete separation p is 2 / C(6, 3) = 0.1.
func TestCompareCommandPrintsTextJSONAndAPage(t *testing.T) {
	dataFiles(t, "1", "1")
	text, err := execute((*app).compareCommand, false, "a.csv", "b.csv", "--out", "page.html")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text, "(U = 9, p = 0.1; 0.1 after Holm's correction for 1 test)") {
		t.Error(text)
	}
	page, err := os.ReadFile("page.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<h1>a.csv against b.csv</h1>", "Time to the last answer in every repetition", "A: one"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	text, err = execute((*app).compareCommand, true, "a.csv", "b.csv")
	var c struct {
		Pairs []struct {
			Metrics []struct{ P, U float64 }
		}
	}
	if err = errors.Join(err, json.Unmarshal([]byte(text), &c)); err != nil || c.Pairs[0].Metrics[0].P != 0.1 || c.Pairs[0].Metrics[0].U != 9 {
		t.Errorf("%v: %s", err, text)
	}
}

func TestCompareCommandRefuses(t *testing.T) {
	dataFiles(t, "1", "2")
	for _, x := range []struct {
		args []string
		want string
	}{
		{[]string{"a.csv", "b.csv"}, "a.csv and b.csv are not comparable\n  the plans differ: cpus: 1 in A, 2 in B (step one); --allow plan compares them all the same"},
		{[]string{"a.csv", "b.csv", "--allow", "plans"}, "--allow plans: it is one or more of plan,accelerator,host,workload,apps,brink"},
		{[]string{"a.csv", "b.csv", "--out", "a.db"}, "--out a.db: the page is HTML, so its name ends in .html"},
		{[]string{"a.csv", "b.csv", "--effect", "last_answer_s"}, `--effect "last_answer_s": write METRIC=SIZE, such as latency_p50_ms=20%`},
		{[]string{"a.csv"}, "compare is missing an argument; it is used like this: compare A B"},
	} {
		_, err := execute((*app).compareCommand, false, x.args...)
		if err == nil || err.Error() != x.want || codeOf(err) != exitInput {
			t.Errorf("%q: exit code %d\ngot  %v\nwant %s", x.args, codeOf(err), err, x.want)
		}
	}
	if _, err := execute((*app).compareCommand, false, "a.csv", "b.csv", "--allow", "plan"); err != nil {
		t.Errorf("allowed, and yet: %v", err)
	}
}

func TestStudyCommandRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	_, err := execute((*app).studyCommand, false, "here", "there")
	if err == nil || err.Error() != "here is no run: it does not exist" || codeOf(err) != exitInput {
		t.Errorf("exit code %d: %v", codeOf(err), err)
	}
}
