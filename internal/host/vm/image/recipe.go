package image

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"brink/internal/guest"
)

// layout is raised when what Build does to the tree changes.
const layout = 1

// diskMB is the size of the root drive. Its file is sparse, so that only what
// is in it takes space.
const diskMB = 2048

// recipe is everything that decides what an image holds, but for the versions
// that the package sources have on the day. The sources are no part of it.
type recipe struct {
	Layout   int      `json:"layout"`
	Suite    string   `json:"suite"`
	Packages []string `json:"packages"`
	Kernel   string   `json:"kernel"`
	Modules  []string `json:"modules"`
	Node     string   `json:"node"`
	DiskMB   int      `json:"disk_mb"`
	Guest    []string `json:"guest"`
}

var current = recipe{
	Layout: layout,
	// Debian 12: Python 3.11 and Linux 6.1.
	Suite: "bookworm",
	Packages: []string{
		"python3-flask", "gunicorn", "python3-gevent", "python3-uvicorn", // servers
		"crun",                                                                                   // containers
		"gcc", "libc6-dev", "python3-dev", "python3-venv", "python3-setuptools", "python3-wheel", // builds
	},
	// Debian's kernel for virtual machines has ext4, NVMe and PSI built in.
	Kernel: "linux-image-cloud-amd64",
	// The rest are modules: the channel and the network card, containers' file
	// systems, and what lists accept queues.
	Modules: []string{"virtio_pci", "virtio_console", "virtio_net", "overlay", "inet_diag", "tcp_diag", "unix_diag"},
	Node:    "20",
	DiskMB:  diskMB,
	Guest:   []string{guest.Home, guest.CacheDir, guest.ModuleList},
}

// id is the name of the recipe's images.
func (r recipe) id() string {
	b, err := json.Marshal(r)
	if err != nil {
		panic(fmt.Sprintf("a recipe cannot be encoded: %v", err)) // it holds strings and numbers
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:6])
}
