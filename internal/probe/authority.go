package probe

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// CheckAuthorities says in one sentence what is wrong with the certificates that
// the environment names for the targets over https (SSL_CERT_FILE and
// SSL_CERT_DIR), or returns nil. Package crypto/x509, which uses them, passes over
// what it cannot read, and every server would seem to be the one at fault.
func CheckAuthorities(targets []Target) error {
	if !slices.ContainsFunc(targets, func(t Target) bool { return t.secure }) {
		return nil
	}
	if name := os.Getenv("SSL_CERT_FILE"); name != "" {
		text, err := os.ReadFile(name)
		if err != nil {
			return unreadable("SSL_CERT_FILE", name, err)
		}
		if !x509.NewCertPool().AppendCertsFromPEM(text) {
			return fmt.Errorf("SSL_CERT_FILE names %s, which holds no certificate in PEM", name)
		}
	}
	for _, dir := range filepath.SplitList(os.Getenv("SSL_CERT_DIR")) {
		if _, err := os.ReadDir(dir); err != nil {
			return unreadable("SSL_CERT_DIR", dir, err)
		}
	}
	return nil
}

func unreadable(variable, name string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return fmt.Errorf("%s names %s, which cannot be read: %w", variable, name, err)
}
