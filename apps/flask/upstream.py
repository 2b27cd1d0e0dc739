"""The slow dependency: a real HTTP request to whatever BRINK_UPSTREAM names."""

import asyncio
import http.client
import os
import re

# How much longer than it was asked to take the dependency may take: it may
# have a queue of its own.
PATIENCE_SECS = 30

MAX_MS = 3_600_000


class UpstreamFailed(Exception):
    """The dependency did not answer; str() is the sentence for the client."""


def _address():
    url = os.environ.get("BRINK_UPSTREAM", "")
    if not url:
        raise UpstreamFailed(
            "BRINK_UPSTREAM is not set: it names the slow dependency, such as http://127.0.0.1:9000"
        )
    found = re.fullmatch(r"http://([0-9A-Za-z.-]+):([0-9]{1,5})/?", url)
    if not found:
        raise UpstreamFailed(f'BRINK_UPSTREAM must be http://host:port, not "{url}"')
    return found[1], int(found[2])


def _reason(err):
    if isinstance(err, (TimeoutError, asyncio.TimeoutError)):
        return "it did not answer in time"
    return str(err) or type(err).__name__


def _check(status):
    if status != 200:
        raise UpstreamFailed(f"the upstream failed: it answered with status {status}")


def ask(ms):
    """Wait for the dependency as a synchronous client does: in poll, on a socket."""
    host, port = _address()
    try:
        client = http.client.HTTPConnection(host, port, timeout=ms / 1000 + PATIENCE_SECS)
        try:
            client.request("GET", f"/delay?ms={ms}", headers={"Connection": "close"})
            answer = client.getresponse()
            answer.read()
        finally:
            client.close()
    except (OSError, http.client.HTTPException) as err:
        raise UpstreamFailed(f"the upstream failed: {_reason(err)}") from err
    _check(answer.status)


async def ask_async(ms):
    """Wait for the dependency without blocking the event loop."""
    host, port = _address()
    asking = _get(host, port, f"/delay?ms={ms}")
    try:
        status = await asyncio.wait_for(asking, ms / 1000 + PATIENCE_SECS)
    except (OSError, ValueError, asyncio.TimeoutError) as err:
        raise UpstreamFailed(f"the upstream failed: {_reason(err)}") from err
    _check(status)


async def _get(host, port, target):
    """The status of the answer; ValueError when there is none."""
    reader, writer = await asyncio.open_connection(host, port)
    try:
        head = f"GET {target} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode("ascii"))
        found = re.match(rb"HTTP/1\.[01] ([0-9]{3})\b", await reader.readline())
        if not found:
            raise ValueError("it closed the connection without an answer")
        await reader.read()
        return int(found[1])
    finally:
        writer.close()
