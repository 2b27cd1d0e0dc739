"""brink's Flask workload: endpoints that hold, burn and touch on request."""

import datetime
import os
import platform
import sys
import threading
import time

from flask import Flask, abort, g, jsonify, request
from werkzeug.exceptions import HTTPException

import diag
import settings
import work
from params import BadParameter, seconds, single, whole

try:
    block = work.Block(settings.alloc_mb())
except ValueError as err:
    print(err, file=sys.stderr)
    # gunicorn's word for "worker failed to boot": it stops instead of looping.
    sys.exit(3)

app = Flask(__name__)


class Worker:
    """What this process knows about itself."""

    def __init__(self):
        self.lock = threading.Lock()
        self.served = 0
        self.started_at = datetime.datetime.now(datetime.timezone.utc)
        self.file = work.WorkFile()


worker = Worker()


def _new_worker():
    global worker
    worker = Worker()


# Under --preload this module is loaded once, before the workers exist.
os.register_at_fork(after_in_child=_new_worker)


@app.before_request
def start():
    g.start_ns = time.perf_counter_ns()
    with worker.lock:
        worker.served += 1
        g.served = worker.served
    if request.method not in ("GET", "HEAD"):
        abort(405)


@app.after_request
def sign(response):
    response.headers["X-Brink-Pid"] = str(os.getpid())
    response.headers["X-Brink-Served-Ns"] = str(served_ns())
    return response


def served_ns():
    return time.perf_counter_ns() - g.start_ns


@app.get("/health")
def health():
    return jsonify(status="ok", pid=os.getpid())


@app.get("/ping")
def ping():
    return jsonify(pong=True, pid=os.getpid())


@app.get("/stats")
def stats():
    workers = os.environ.get("BRINK_WORKERS")
    return jsonify(
        pid=os.getpid(),
        workers=int(workers) if workers else None,
        alloc_mb=block.mb,
        served=g.served,
        started_at=worker.started_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        runtime=f"Python {platform.python_version()}",
        server=request.environ.get("SERVER_SOFTWARE", "unknown"),
    )


@app.get("/thread-hold")
def thread_hold():
    secs = seconds(single(request.args, "secs"), "secs")
    time.sleep(secs)
    return jsonify(held_secs=secs, pid=os.getpid(), served_s=served_ns() / 1e9)


@app.get("/cpu-burn")
def cpu_burn():
    query = single(request.args, "secs", "work")
    if len(query) != 1:
        raise BadParameter("exactly one of secs and work must be given")
    if "work" in query:
        units = whole(query, "work", 1, 500_000)
        answer = {"work": units, "checksum": work.burn_work(units)}
    else:
        secs = seconds(query, "secs")
        answer = {"burned_secs": secs, "iterations": work.burn_until(secs)}
    return jsonify(**answer, pid=os.getpid(), served_s=served_ns() / 1e9)


@app.get("/work")
def do_work():
    query = single(request.args, "touch_mb", "file_mb", "payload_kb")
    touch_mb = whole(query, "touch_mb", 0, block.mb)
    file_mb = whole(query, "file_mb", 0, 1024)
    payload_kb = whole(query, "payload_kb", 0, 16384)
    block.touch(touch_mb)
    read_mb = worker.file.read(file_mb)
    return jsonify(
        pid=os.getpid(),
        touched_mb=touch_mb,
        read_mb=read_mb,
        payload="x" * (payload_kb * 1024),
        served_s=served_ns() / 1e9,
    )


@app.get("/diag/proc")
def diag_proc():
    return jsonify(diag.snapshot())


@app.errorhandler(BadParameter)
def bad_parameter(err):
    return jsonify(error=str(err)), 400


@app.errorhandler(OSError)
def machine_refused(err):
    return jsonify(error=f"the machine refused: {err}"), 500


SENTENCES = {
    404: "unknown path",
    405: "only GET and HEAD are answered",
}


@app.errorhandler(HTTPException)
def http_error(err):
    response = jsonify(error=SENTENCES.get(err.code, err.description))
    response.status_code = err.code
    if err.code == 405:
        response.headers["Allow"] = "GET, HEAD"
    return response
