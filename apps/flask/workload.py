"""What both entry points answer: app.py under WSGI, asgi.py under ASGI."""

import datetime
import os
import platform
import sys
import threading

import diag
import settings
import work
from params import BadParameter, required, seconds, single, whole
from upstream import MAX_MS

NOT_FOUND = {"error": "unknown path"}
NOT_ALLOWED = {"error": "only GET and HEAD are answered"}


def allocate(exit_code):
    """The block of ALLOC_MB; without a valid one the process ends."""
    try:
        return work.Block(settings.alloc_mb())
    except ValueError as err:
        print(err, file=sys.stderr)
        sys.exit(exit_code)


class Worker:
    """What this process knows about itself."""

    def __init__(self):
        self.file = work.WorkFile()
        self._lock = threading.Lock()
        self._served = 0
        self._started_at = datetime.datetime.now(datetime.timezone.utc)

    def count(self):
        """Count a request and return its number."""
        with self._lock:
            self._served += 1
            return self._served

    def stats(self, block, served, server, workers):
        return {
            "pid": os.getpid(),
            "workers": int(workers) if workers else None,
            "alloc_mb": block.mb,
            "served": served,
            "started_at": self._started_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "runtime": f"Python {platform.python_version()}",
            "server": server,
        }


def health():
    return {"status": "ok", "pid": os.getpid()}


def ping():
    return {"pong": True, "pid": os.getpid()}


def hold_secs(pairs):
    return seconds(single(pairs, "secs"), "secs")


def held(secs, served_ns):
    return _served({"held_secs": secs}, served_ns)


def upstream_ms(pairs):
    return required(single(pairs, "ms"), "ms", 0, MAX_MS)


def waited(ms, served_ns):
    return _served({"upstream_ms": ms}, served_ns)


def burn(pairs, served_ns):
    query = single(pairs, "secs", "work")
    if len(query) != 1:
        raise BadParameter("exactly one of secs and work must be given")
    if "work" in query:
        units = whole(query, "work", 1, 500_000)
        answer = {"work": units, "checksum": work.burn_work(units)}
    else:
        secs = seconds(query, "secs")
        answer = {"burned_secs": secs, "iterations": work.burn_until(secs)}
    return _served(answer, served_ns)


class Load:
    """What one request for /work asks for."""

    def __init__(self, pairs, block):
        query = single(pairs, "touch_mb", "file_mb", "payload_kb")
        self.touch_mb = whole(query, "touch_mb", 0, block.mb)
        self.file_mb = whole(query, "file_mb", 0, 1024)
        self.payload_kb = whole(query, "payload_kb", 0, 16384)

    def done(self, read_mb, served_ns):
        answer = {
            "touched_mb": self.touch_mb,
            "read_mb": read_mb,
            "payload": "x" * (self.payload_kb * 1024),
        }
        return _served(answer, served_ns)


def proc():
    return diag.snapshot()


def refused(err):
    """The answer to a request that the machine refused."""
    return {"error": f"the machine refused: {err}"}


def _served(answer, served_ns):
    return {**answer, "pid": os.getpid(), "served_s": served_ns() / 1e9}
