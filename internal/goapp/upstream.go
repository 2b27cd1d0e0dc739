package goapp

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"
)

const (
	maxUpstreamMS = 3_600_000
	// upstreamPatience is how much longer than it was asked to take the slow
	// dependency may take: it may have a queue of its own.
	upstreamPatience = 30 * time.Second
	maxUpstreamBody  = 1 << 20
)

// upstreamFailed is the sentence that a client gets when the slow dependency
// did not answer.
type upstreamFailed string

func (u upstreamFailed) Error() string { return string(u) }

var upstreamAddress = pattern(`^http://[0-9A-Za-z.-]+:[0-9]{1,5}/?$`)

// askUpstream returns when the dependency that BRINK_UPSTREAM names has
// answered, after ms milliseconds at least. Each request has a connection of its own.
func askUpstream(ms int) error {
	base := os.Getenv("BRINK_UPSTREAM")
	switch {
	case base == "":
		return upstreamFailed("BRINK_UPSTREAM is not set: it names the slow dependency, such as http://127.0.0.1:9000")
	case !upstreamAddress().MatchString(base):
		return upstreamFailed(fmt.Sprintf("BRINK_UPSTREAM must be http://host:port, not \"%s\"", base))
	}
	target, err := url.JoinPath(base, "delay")
	if err != nil {
		return upstreamFailed("BRINK_UPSTREAM cannot be used: " + err.Error())
	}
	client := http.Client{
		Timeout:   time.Duration(ms)*time.Millisecond + upstreamPatience,
		Transport: &http.Transport{DisableKeepAlives: true},
	}
	resp, err := client.Get(fmt.Sprintf("%s?ms=%d", target, ms))
	if err != nil {
		return upstreamFailed("the upstream failed: " + upstreamReason(err))
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(resp.Body, maxUpstreamBody)); err != nil {
		return upstreamFailed("the upstream failed: " + upstreamReason(err))
	}
	if resp.StatusCode != http.StatusOK {
		return upstreamFailed(fmt.Sprintf("the upstream failed: it answered with status %d", resp.StatusCode))
	}
	return nil
}

func upstreamReason(err error) string {
	var asked *url.Error
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "it did not answer in time"
	case errors.As(err, &asked) && asked.Timeout():
		return "it did not answer in time"
	case errors.As(err, &asked):
		return asked.Err.Error()
	}
	return err.Error()
}
