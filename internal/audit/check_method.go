package audit

import (
	"fmt"
	"math"
)

// clockResolution: a duration read on a clock of some resolution is possible
// for something that takes at least so long. Start and end are each cut to the
// resolution, so the reading is off by less than one unit in either direction.
type clockResolution struct {
	Observed   string `yaml:"observed"`
	Least      string `yaml:"least"`
	Resolution string `yaml:"resolution"`
}

func (c *clockResolution) run(f *figures) (answer, error) {
	observed, unit, err := f.number("observed", c.Observed)
	if err != nil {
		return answer{}, err
	}
	least, _, err := f.number("least", c.Least)
	if err != nil {
		return answer{}, err
	}
	resolution, _, err := f.number("resolution", c.Resolution)
	if err != nil {
		return answer{}, err
	}
	if resolution < 0 {
		return answer{}, at("resolution", "a clock's resolution is not negative")
	}
	a := answer{outcome: Holds, computed: &observed, claimed: &Span{Lo: &least}, unit: unit}
	switch {
	case observed >= least:
		a.gives = fmt.Sprintf("%s is read where it takes %s or more", withUnit(observed, unit), withUnit(least, unit))
	case observed+resolution > least:
		a.gives = fmt.Sprintf("%s is read where it takes %s: possible on a clock that counts in steps of %s", withUnit(observed, unit), withUnit(least, unit), withUnit(resolution, unit))
	default:
		a.outcome = Contradicts
		a.gives = fmt.Sprintf("what takes %s or more cannot end after %s; a clock that counts in steps of %s stands for less than %s here and cannot show that anything was faster",
			withUnit(least, unit), withUnit(observed, unit), withUnit(resolution, unit), withUnit(observed+resolution, unit))
	}
	return a, nil
}

// blindMeasure: a duration says something about contention. It does not if the
// work is bounded by wall time, for then the duration is what it was told.
type blindMeasure struct {
	Controlled string `yaml:"controlled"`
	Measured   string `yaml:"measured"`
	Resolution string `yaml:"resolution"`
	BoundedBy  string `yaml:"bounded_by"`
}

func (c *blindMeasure) run(f *figures) (answer, error) {
	controlled, unit, err := f.number("controlled", c.Controlled)
	if err != nil {
		return answer{}, err
	}
	measured, _, err := f.number("measured", c.Measured)
	if err != nil {
		return answer{}, err
	}
	resolution, _, err := f.number("resolution", c.Resolution)
	if err != nil {
		return answer{}, err
	}
	a := answer{computed: &measured, claimed: &Span{&controlled, &controlled}, unit: unit}
	switch c.BoundedBy {
	case "work":
		a.outcome, a.gives = Holds, "the burn is a fixed amount of work, so its duration can show contention"
	case "wall_time":
		a.outcome = DoesNotFollow
		a.gives = fmt.Sprintf("the burn ends after %s of wall time, alone or not: its duration is what it was told, and contention shows only in work done", withUnit(controlled, unit))
		if math.Abs(measured-controlled) <= resolution {
			a.gives += fmt.Sprintf("; the %s is that, read in steps of %s", withUnit(measured, unit), withUnit(resolution, unit))
		}
	default:
		return answer{}, at("bounded_by", "it is wall_time or work")
	}
	return a, nil
}

// definition: a memory percentage contains reclaimable cache (cache: included)
// or does not (cache: excluded). It is told from a reading of meminfo, or else
// from the headroom that the publication says is left.
type definition struct {
	Cache     string `yaml:"cache"`
	Percent   string `yaml:"percent"`
	Total     string `yaml:"total"`
	Free      string `yaml:"free"`
	Available string `yaml:"available"`
	// Headroom is what is said to be left for apps.
	Headroom  *Span    `yaml:"headroom"`
	Tolerance *float64 `yaml:"tolerance"`
}

func (c *definition) run(f *figures) (answer, error) {
	if c.Cache != "included" && c.Cache != "excluded" {
		return answer{}, at("cache", "it is included or excluded")
	}
	percent, _, err := f.number("percent", c.Percent)
	if err != nil {
		return answer{}, err
	}
	total, unit, err := f.number("total", c.Total)
	if err != nil {
		return answer{}, err
	}
	if total <= 0 {
		return answer{}, at("total", "it is above 0")
	}
	switch {
	case c.Free != "" && c.Available != "":
		return c.fromMeminfo(f, percent, total)
	case c.Headroom != nil:
		return c.fromHeadroom(f, percent, total, unit)
	}
	return answer{outcome: CannotBeChecked, gives: "no free and available memory, and no headroom, is published beside the percentage"}, nil
}

func (c *definition) fromMeminfo(f *figures, percent, total float64) (answer, error) {
	free, _, err := f.number("free", c.Free)
	if err != nil {
		return answer{}, err
	}
	available, _, err := f.number("available", c.Available)
	if err != nil {
		return answer{}, err
	}
	with, without := 100*(1-free/total), 100*(1-available/total)
	a := c.answer(math.Abs(percent-with) < math.Abs(percent-without))
	a.computed, a.claimed, a.unit = &without, &Span{&percent, &percent}, "%"
	a.gives = fmt.Sprintf("1 − MemFree / MemTotal is %s and 1 − MemAvailable / MemTotal is %s, where the percentage is %s",
		withUnit(rounded(with), "%"), withUnit(rounded(without), "%"), withUnit(percent, "%"))
	return a, nil
}

// fromHeadroom: with reclaimable cache in the percentage, more than the unused
// rest would be left for apps.
func (c *definition) fromHeadroom(f *figures, percent, total float64, unit string) (answer, error) {
	tolerance, err := f.or("tolerance", c.Tolerance)
	if err != nil {
		return answer{}, err
	}
	rest := total * (1 - percent/100)
	more := c.Headroom.Lo != nil && *c.Headroom.Lo > rest*(1+tolerance)
	a := c.answer(more)
	a.computed, a.claimed, a.unit = &rest, c.Headroom, unit
	a.gives = fmt.Sprintf("%s less %s is %s; the headroom is given as %s, ", withUnit(total, unit), withUnit(percent, "%"), withUnit(rounded(rest), unit), c.Headroom.text(unit))
	if more {
		a.gives += "more than the rest, so the percentage contains what can be reclaimed"
	} else {
		a.gives += "no more than the rest, so nothing in the percentage can be reclaimed"
	}
	return a, nil
}

// answer compares what is claimed with what the numbers say.
func (c *definition) answer(included bool) answer {
	if included == (c.Cache == "included") {
		return answer{outcome: Holds}
	}
	return answer{outcome: Contradicts}
}

// exitCode: a program's exit code shows a cause.
type exitCode struct {
	Program string `yaml:"program"`
	Code    string `yaml:"code"`
	Shows   string `yaml:"shows"`
}

func (c *exitCode) run(f *figures) (answer, error) {
	code, _, err := f.number("code", c.Code)
	if err != nil {
		return answer{}, err
	}
	k, err := known()
	if err != nil {
		return answer{}, err
	}
	a := answer{computed: &code}
	for _, e := range k.ExitCodes {
		if float64(e.Code) != code || e.Program != c.Program && e.Program != "any" {
			continue
		}
		a.gives = fmt.Sprintf("%s's exit code %s: %s (%s)", c.Program, formatNumber(code), e.Meaning, e.Source)
		if a.outcome = DoesNotFollow; e.Shows == c.Shows {
			a.outcome = Holds
		} else {
			a.gives += "; that says nothing about " + c.Shows
		}
		return a, nil
	}
	a.outcome, a.gives = CannotBeChecked, fmt.Sprintf("what exit code %s of %s means is not known", formatNumber(code), c.Program)
	return a, nil
}
