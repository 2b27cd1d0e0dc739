package frontend

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"time"

	"brink/internal/clock"
)

// silent takes what net/http has to say about connections that broke: clients
// and apps that fail are what is being measured, not news.
var silent = log.New(io.Discard, "", 0)

// passage is a request on its way to an app.
type passage struct {
	addr, app string
	arrived   time.Time
}

type passageKey struct{}

func passageOf(ctx context.Context) passage {
	p, _ := ctx.Value(passageKey{}).(passage)
	return p
}

var errLate = errors.New("the answer did not begin in time")

// newProxy passes a request on once, over a connection of its own, and every
// piece of the answer as it comes. Host, query and body stay as they are;
// X-Forwarded-For, -Host and -Proto are added, as App Service does.
func newProxy(clk clock.Clock, answer time.Duration, dial func(context.Context, string) (net.Conn, error)) *httputil.ReverseProxy {
	if dial == nil {
		d := &net.Dialer{KeepAlive: -1}
		dial = func(ctx context.Context, addr string) (net.Conn, error) { return d.DialContext(ctx, "tcp", addr) }
	}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			// The transport keeps a request's end from its connection's making.
			if own, ok := ctx.Value(requestKey{}).(context.Context); ok {
				ctx = own
			}
			return dial(ctx, addr)
		},
		DisableKeepAlives:      true, // a connection that is not used again is never retried
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHead,
	}
	return &httputil.ReverseProxy{
		Transport:     &timely{clock: clk, answer: answer, next: transport},
		FlushInterval: -1,
		ErrorLog:      silent,
		ErrorHandler:  failed,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", passageOf(r.In.Context()).addr
			r.Out.URL.RawQuery = r.In.URL.RawQuery
			r.Out.Host = r.In.Host
			r.SetXForwarded()
		},
		ModifyResponse: func(r *http.Response) error {
			r.Header.Set(Header, ByApp)
			return nil
		},
	}
}

// failed answers a request that could not be passed on, or whose answer never
// began.
func failed(w http.ResponseWriter, r *http.Request, err error) {
	app := passageOf(r.Context()).app
	switch {
	case errors.Is(err, errLate):
		refuse(w, http.StatusGatewayTimeout, app+" did not answer in time")
	case r.Context().Err() != nil:
		panic(http.ErrAbortHandler) // the client has gone, or the front end is closed
	default:
		refuse(w, http.StatusBadGateway, fmt.Sprintf("%s broke the connection: %v", app, err))
	}
}

// timely ends requests whose answer has not begun in time.
type timely struct {
	clock  clock.Clock
	answer time.Duration
	next   http.RoundTripper
}

type requestKey struct{}

// RoundTrip leaves the context open when the answer has begun: its body is still
// to come. It ends with the client's request.
func (t *timely) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	limit := t.clock.NewTimer(t.answer - t.clock.Now().Sub(passageOf(ctx).arrived))
	begun, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-limit.C():
			cancel(errLate)
		case <-begun:
		}
	}()
	resp, err := t.next.RoundTrip(r.WithContext(context.WithValue(ctx, requestKey{}, ctx)))
	close(begun)
	<-watched
	limit.Stop()
	if context.Cause(ctx) == errLate {
		if err == nil {
			resp.Body.Close()
		}
		err = errLate
	}
	if err != nil {
		cancel(err)
		return nil, err
	}
	return resp, nil
}
