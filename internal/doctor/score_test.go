package doctor

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/rogpeppe/go-internal/txtar"

	"brink/internal/evidence"
)

// expectation is a fixture's expect.yaml: what is known of the case from
// outside this program, and what must not be said of it.
type expectation struct {
	About string `yaml:"about"` // what was the matter, in a sentence
	// Verdict and Mode are the answer; Mode is that of the first finding. Also
	// must be found too, as its consequences or beside it.
	Verdict Verdict `yaml:"verdict"`
	Mode    Mode    `yaml:"mode"`
	Also    []Mode  `yaml:"also"`
	// Numbers must be named, to half a percent. Say are patterns of what must be
	// said.
	Numbers []float64 `yaml:"numbers"`
	Say     []string  `yaml:"say"`
	// Forbid are modes that must not be found; Never are patterns of what must
	// not be said.
	Forbid []Mode   `yaml:"forbid"`
	Never  []string `yaml:"must_not_say"`
	// AtMost is the highest level that the evidence carries.
	AtMost Level `yaml:"at_most"`
}

// fixture is a case with its expectation.
type fixture struct {
	name   string
	group  string // its mode, or "cases"
	files  map[string][]byte
	expect expectation
}

// fixtures reads testdata: a folder with an expect.yaml is one, and so is a
// .txtar that holds one.
func fixtures(t *testing.T) []fixture {
	t.Helper()
	var all []fixture
	err := filepath.WalkDir("testdata", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch {
		case d.Name() == "expect.yaml":
			all = append(all, folderFixture(t, filepath.Dir(path)))
		case filepath.Ext(path) == ".txtar":
			archive, err := txtar.ParseFile(path)
			if err != nil {
				return err
			}
			f := fixture{name: strings.TrimSuffix(path, ".txtar"), files: map[string][]byte{}}
			for _, file := range archive.Files {
				f.files[file.Name] = file.Data
			}
			all = append(all, f)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		f := &all[i]
		f.name = strings.TrimPrefix(filepath.ToSlash(f.name), "testdata/")
		f.group, _, _ = strings.Cut(f.name, "/")
		if err := yaml.UnmarshalWithOptions(f.files["expect.yaml"], &f.expect, yaml.Strict()); err != nil {
			t.Fatalf("%s: expect.yaml: %v", f.name, err)
		}
		delete(f.files, "expect.yaml")
	}
	return all
}

func folderFixture(t *testing.T, dir string) fixture {
	t.Helper()
	f := fixture{name: dir, files: map[string][]byte{}}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		f.files[filepath.ToSlash(rel)] = data
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fixture) diagnose(t *testing.T) *Report {
	t.Helper()
	c, err := evidence.FromFiles(f.files)
	if err != nil {
		t.Fatalf("%s: %v", f.name, err)
	}
	return Diagnose(c)
}

// wrongs lists what is wrong with a report; unknown says that it has no verdict
// where there should be one.
func (f *fixture) wrongs(r *Report) (wrongs []string, unknown bool) {
	e := &f.expect
	add := func(format string, args ...any) { wrongs = append(wrongs, fmt.Sprintf(format, args...)) }
	unknown = r.Verdict == Unknown && e.Verdict != Unknown
	if r.Verdict != e.Verdict {
		add("the verdict is %s, want %s", r.Verdict, e.Verdict)
	}
	var modes []Mode
	for i := range r.Findings {
		modes = append(modes, r.Findings[i].Mode)
	}
	if e.Mode != "" && (len(modes) == 0 || modes[0] != e.Mode) {
		add("the findings are %v, want %s first", modes, e.Mode)
	}
	for _, m := range e.Also {
		if !slices.Contains(modes, m) {
			add("the findings are %v, want %s among them", modes, m)
		}
	}
	for _, m := range e.Forbid {
		if slices.Contains(modes, m) {
			add("%s is found, and must not be", m)
		}
	}
	said, numbers := spoken(r)
	for _, n := range e.Numbers {
		if !slices.ContainsFunc(numbers, func(have float64) bool { return math.Abs(have-n) <= 0.005*math.Abs(n) }) {
			add("the number %v is not named (named are %v)", n, numbers)
		}
	}
	for _, p := range e.Say {
		if !regexp.MustCompile("(?i)" + p).MatchString(said) {
			add("it does not say %q", p)
		}
	}
	for _, p := range e.Never {
		if m := regexp.MustCompile("(?i)" + p).FindString(said); m != "" {
			add("it says %q", m)
		}
	}
	if e.AtMost != "" && len(r.Findings) > 0 && rank(r.Findings[0].Level) < rank(e.AtMost) {
		add("the level is %s, and the evidence carries %s at most", r.Findings[0].Level, e.AtMost)
	}
	return wrongs, unknown
}

func rank(l Level) int {
	return slices.Index([]Level{Observed, StronglySuggested, Inferred, Correlated}, l)
}

// spoken is all that a report claims, without what it says it is not, and the
// numbers that it names.
func spoken(r *Report) (string, []float64) {
	var b strings.Builder
	var numbers []float64
	add := func(list []Number) {
		for _, n := range list {
			numbers = append(numbers, n.Value)
		}
	}
	b.WriteString(r.Summary + "\n")
	for i := range r.Findings {
		f := &r.Findings[i]
		fmt.Fprintln(&b, f.What, f.Span, f.Cause, strings.Join(f.Now, " "), strings.Join(f.Properly, " "), strings.Join(f.Settle, " "))
		add(f.Numbers)
	}
	for _, list := range [][]Check{r.Good, r.Unsure, r.Notes} {
		for _, c := range list {
			fmt.Fprintln(&b, c.Text, c.Settle)
			add(c.Numbers)
		}
	}
	return b.String(), numbers
}

// TestScore judges every fixture and prints, per mode, how many are right,
// wrong and without a verdict (make doctor-score).
func TestScore(t *testing.T) {
	type score struct{ right, wrong, unknown int }
	table := map[string]*score{}
	var rows []string
	for _, f := range fixtures(t) {
		row := string(f.expect.Mode)
		if row == "" {
			row = string(f.expect.Verdict)
		}
		s := table[row]
		if s == nil {
			s = &score{}
			table[row] = s
			rows = append(rows, row)
		}
		wrongs, unknown := f.wrongs(f.diagnose(t))
		switch {
		case unknown:
			s.unknown++
		case len(wrongs) > 0:
			s.wrong++
		default:
			s.right++
		}
		if len(wrongs) > 0 {
			t.Errorf("%s:\n\t%s", f.name, strings.Join(wrongs, "\n\t"))
		}
	}
	slices.Sort(rows)
	total := score{}
	t.Logf("%-24s %5s %5s %7s", "mode", "right", "wrong", "unknown")
	for _, row := range rows {
		s := table[row]
		t.Logf("%-24s %5d %5d %7d", row, s.right, s.wrong, s.unknown)
		total.right, total.wrong, total.unknown = total.right+s.right, total.wrong+s.wrong, total.unknown+s.unknown
	}
	t.Logf("%-24s %5d %5d %7d", "all", total.right, total.wrong, total.unknown)
}
