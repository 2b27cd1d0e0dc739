"""brink's Python workload for ASGI servers, without a framework: the endpoints of app.py."""

import asyncio
import json
import logging
import multiprocessing
import os
import time
from urllib.parse import parse_qsl

import uvicorn

import upstream
import workload
from params import BadParameter

block = workload.allocate(exit_code=2)
worker = workload.Worker()
log = logging.getLogger("uvicorn.error")


class Call:
    """One request as an endpoint sees it."""

    def __init__(self, scope):
        self._start_ns = time.perf_counter_ns()
        self.number = worker.count()
        query = scope["query_string"].decode("ascii", "replace")
        self.pairs = parse_qsl(query, keep_blank_values=True)

    def served_ns(self):
        return time.perf_counter_ns() - self._start_ns


async def health(call):
    return workload.health()


async def ping(call):
    return workload.ping()


async def stats(call):
    server = f"uvicorn/{uvicorn.__version__}"
    return worker.stats(block, call.number, server, os.environ.get("WEB_CONCURRENCY"))


# The loop goes on serving others meanwhile.
async def thread_hold(call):
    secs = workload.hold_secs(call.pairs)
    await asyncio.sleep(secs)
    return workload.held(secs, call.served_ns)


# What an asynchronous program must not do, and does by accident: nobody else is
# served meanwhile.
async def block_hold(call):
    secs = workload.hold_secs(call.pairs)
    time.sleep(secs)
    return workload.held(secs, call.served_ns)


async def ask_upstream(call):
    ms = workload.upstream_ms(call.pairs)
    await upstream.ask_async(ms)
    return workload.waited(ms, call.served_ns)


async def cpu_burn(call):
    return workload.burn(call.pairs, call.served_ns)


async def do_work(call):
    load = workload.Load(call.pairs, block)
    block.touch(load.touch_mb)
    read_mb = await asyncio.to_thread(worker.file.read, load.file_mb)
    return load.done(read_mb, call.served_ns)


async def diag_proc(call):
    return workload.proc()


ENDPOINTS = {
    "/health": health,
    "/ping": ping,
    "/stats": stats,
    "/thread-hold": thread_hold,
    "/block-hold": block_hold,
    "/upstream": ask_upstream,
    "/cpu-burn": cpu_burn,
    "/work": do_work,
    "/diag/proc": diag_proc,
}


async def answer(scope, call):
    """Status and body."""
    if scope["method"] not in ("GET", "HEAD"):
        return 405, workload.NOT_ALLOWED
    endpoint = ENDPOINTS.get(scope["path"])
    if endpoint is None:
        return 404, workload.NOT_FOUND
    try:
        return 200, await endpoint(call)
    except BadParameter as err:
        return 400, {"error": str(err)}
    except upstream.UpstreamFailed as err:
        return 502, {"error": str(err)}
    except OSError as err:
        return 500, workload.refused(err)


async def serve(scope, send):
    call = Call(scope)
    status, body = await answer(scope, call)
    text = json.dumps(body).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(text)).encode()),
        (b"x-brink-pid", str(os.getpid()).encode()),
        (b"x-brink-served-ns", str(call.served_ns()).encode()),
    ]
    if status == 405:
        headers.append((b"allow", b"GET, HEAD"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text})


def say_ready():
    # Alone, without a parent process, it is no worker among others.
    if multiprocessing.parent_process():
        log.info("Worker ready with pid: %d", os.getpid())


async def live(receive, send):
    """The server's own start and end."""
    await receive()
    await send({"type": "lifespan.startup.complete"})
    # The server, which has been woken before this runs, listens by then.
    asyncio.get_running_loop().call_soon(say_ready)
    await receive()
    await send({"type": "lifespan.shutdown.complete"})


async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        await live(receive, send)
    elif scope["type"] == "http":
        await serve(scope, send)
    else:
        raise RuntimeError(f"there is no answer to {scope['type']}")
