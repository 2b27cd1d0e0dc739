"""What the kernel says, for /diag/proc.

Formats: proc(5), and Documentation/accounting/psi.rst of the kernel.
"""

import errno
import os

SELF_FIELDS = {
    "vm_size_kb": "VmSize",
    "vm_hwm_kb": "VmHWM",
    "rss_kb": "VmRSS",
    "rss_anon_kb": "RssAnon",
    "rss_file_kb": "RssFile",
    "rss_shmem_kb": "RssShmem",
    "vm_swap_kb": "VmSwap",
    "threads": "Threads",
    "voluntary_ctxt_switches": "voluntary_ctxt_switches",
    "nonvoluntary_ctxt_switches": "nonvoluntary_ctxt_switches",
}


def _first_numbers(lines):
    """name -> first number of each "name[:] number ..." line."""
    return {f[0].rstrip(":"): int(f[1]) for f in (line.split() for line in lines)}


def _pressure(lines):
    out = {}
    for line in lines:
        kind, *pairs = line.split()
        values = dict(pair.split("=") for pair in pairs)
        out[kind] = {k: int(v) if k == "total" else float(v) for k, v in values.items()}
    return out


def _self(lines):
    raw = dict(line.split(":", 1) for line in lines)
    numbers = {
        key: int(raw[name].split()[0]) for key, name in SELF_FIELDS.items() if name in raw
    }
    return {"pid": os.getpid(), **numbers}


def snapshot():
    """All of it; a file that cannot be read is None, its reason under unavailable."""
    root = os.environ.get("PROC_ROOT") or "/proc"
    unavailable = {}

    def read(path, parse):
        try:
            with open(os.path.join(root, path), encoding="ascii") as f:
                return parse(f.read().splitlines())
        except OSError as err:
            unavailable[path] = errno.errorcode.get(err.errno, str(err))
        except (ValueError, IndexError):
            unavailable[path] = "cannot be parsed"
        return None

    return {
        "meminfo": read("meminfo", _first_numbers),
        "vmstat": read("vmstat", _first_numbers),
        "pressure": {
            name: read(f"pressure/{name}", _pressure) for name in ("memory", "cpu", "io")
        },
        "self": read("self/status", _self),
        "unavailable": unavailable,
    }
