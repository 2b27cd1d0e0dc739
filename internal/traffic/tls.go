package traffic

import (
	"context"
	"crypto/tls"
	"net"
)

// overTLS returns a dialer whose connections have shaken hands.
func overTLS(dial Dialer, config *tls.Config) Dialer {
	config = config.Clone()
	config.NextProtos = []string{"http/1.1"}
	return func(ctx context.Context, addr string) (net.Conn, error) {
		raw, err := dial(ctx, addr)
		if err != nil {
			return nil, err
		}
		conn := tls.Client(raw, config)
		if err := conn.HandshakeContext(ctx); err != nil {
			raw.Close()
			return nil, handshakeError{err}
		}
		return &tlsConn{Conn: conn, raw: raw}, nil
	}
}

// handshakeError says that a connection stood and TLS on it did not.
type handshakeError struct{ error }

func (e handshakeError) Error() string { return "TLS handshake: " + e.error.Error() }

func (e handshakeError) Unwrap() error { return e.error }

// tlsConn closes at once. The farewell that a tls.Conn sends waits up to five
// seconds for a peer that reads nothing, and requests are cut short on time.
type tlsConn struct {
	*tls.Conn
	raw net.Conn
}

func (c *tlsConn) Close() error { return c.raw.Close() }
