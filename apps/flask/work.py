"""The loads that the endpoints put on the machine."""

import os
import tempfile
import threading
import time

PAGE = 4096
MB = 1 << 20

STEPS_PER_UNIT = 100_000


def lcg(x, steps):
    """Steps of the generator of Numerical Recipes, modulo 2**32."""
    for _ in range(steps):
        x = (x * 1664525 + 1013904223) & 0xFFFFFFFF
    return x


def burn_work(units):
    """A fixed amount of work; the checksum proves that it was done."""
    return lcg(1, units * STEPS_PER_UNIT)


def burn_until(secs):
    """Burn CPU until secs of wall time have passed; the steps that fitted in."""
    end = time.monotonic() + secs
    x, steps = 1, 0
    while time.monotonic() < end:
        x = lcg(x, 1000)
        steps += 1000
    return steps


class Block:
    """ALLOC_MB megabytes, every page of them written to."""

    def __init__(self, mb):
        self.mb = mb
        self._bytes = bytearray(mb * MB)
        self.touch(mb)

    def touch(self, mb):
        """Write one byte to each page of the first mb megabytes."""
        self._bytes[0 : mb * MB : PAGE] = b"\x01" * (mb * MB // PAGE)


class WorkFile:
    """A file in TMPDIR without a name, so that nothing is left behind.

    It belongs to one worker and grows to the largest size asked for.
    """

    def __init__(self):
        self._lock = threading.Lock()
        self._file = None
        self._mb = 0

    def read(self, mb):
        """Read the first mb megabytes; the megabytes that were read."""
        if mb == 0:
            return 0
        with self._lock:
            self._grow(mb)
        done = 0
        while done < mb * MB:
            part = os.pread(self._file.fileno(), MB, done)
            if not part:
                raise OSError("the work file is shorter than it was written")
            done += len(part)
        return done // MB

    def _grow(self, mb):
        if self._file is None:
            self._file = tempfile.TemporaryFile(
                dir=os.environ.get("TMPDIR") or "/tmp", buffering=0
            )
        while self._mb < mb:
            done = 0
            while done < MB:
                done += os.pwrite(self._file.fileno(), b"b" * (MB - done), self._mb * MB + done)
            self._mb += 1
