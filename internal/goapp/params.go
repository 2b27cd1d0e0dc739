package goapp

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const maxSecs = 3600

// badParameter is the sentence that a client gets for a parameter that cannot
// be used. The other workloads use the same sentences.
type badParameter string

func (b badParameter) Error() string { return string(b) }

func badf(format string, args ...any) error { return badParameter(fmt.Sprintf(format, args...)) }

// only refuses names that are not allowed, and repeated ones.
func only(query url.Values, allowed ...string) error {
	for name, values := range query {
		if !slices.Contains(allowed, name) {
			return badf("unknown parameter \"%s\": allowed are %s", name, strings.Join(allowed, ", "))
		}
		if len(values) > 1 {
			return badf("%s is given more than once", name)
		}
	}
	return nil
}

// pattern is compiled when it is first used: only a worker needs it.
func pattern(source string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(source) })
}

var decimal = pattern(`^[0-9]+(\.[0-9]+)?$`)

// seconds is a required decimal number from 0 to 3600.
func seconds(query url.Values, name string) (float64, error) {
	if !query.Has(name) {
		return 0, badf("%s is missing: it must be a number from 0 to %d", name, maxSecs)
	}
	secs, err := strconv.ParseFloat(query.Get(name), 64)
	if err != nil || !decimal().MatchString(query.Get(name)) || secs > maxSecs {
		return 0, badf("%s must be a number from 0 to %d", name, maxSecs)
	}
	return secs, nil
}

func duration(secs float64) time.Duration { return time.Duration(secs * float64(time.Second)) }

var digits = pattern(`^[0-9]{1,9}$`)

// whole is a whole number from low to high, low when the parameter is absent.
func whole(query url.Values, name string, low, high int) (int, error) {
	if !query.Has(name) {
		return low, nil
	}
	n, err := strconv.Atoi(query.Get(name))
	if err != nil || !digits().MatchString(query.Get(name)) || n < low || n > high {
		return 0, badf("%s must be a whole number from %d to %d", name, low, high)
	}
	return n, nil
}

// required is a whole number from low to high that must be there.
func required(query url.Values, name string, low, high int) (int, error) {
	if !query.Has(name) {
		return 0, badf("%s is missing: it must be a whole number from %d to %d", name, low, high)
	}
	return whole(query, name, low, high)
}
