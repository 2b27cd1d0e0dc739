"""brink's Python workload for WSGI servers: endpoints that hold, burn and touch on request."""

import os
import time

from flask import Flask, abort, g, jsonify, request
from werkzeug.exceptions import HTTPException

import upstream
import workload
from params import BadParameter

# 3 is gunicorn's word for "worker failed to boot": it stops instead of looping.
block = workload.allocate(exit_code=3)
worker = workload.Worker()
app = Flask(__name__)


def _new_worker():
    global worker
    worker = workload.Worker()


# Under --preload this module is loaded once, before the workers exist.
os.register_at_fork(after_in_child=_new_worker)


@app.before_request
def start():
    g.start_ns = time.perf_counter_ns()
    g.served = worker.count()
    if request.method not in ("GET", "HEAD"):
        abort(405)


@app.after_request
def sign(response):
    response.headers["X-Brink-Pid"] = str(os.getpid())
    response.headers["X-Brink-Served-Ns"] = str(served_ns())
    return response


def served_ns():
    return time.perf_counter_ns() - g.start_ns


def pairs():
    return request.args.items(multi=True)


@app.get("/health")
def health():
    return jsonify(workload.health())


@app.get("/ping")
def ping():
    return jsonify(workload.ping())


@app.get("/stats")
def stats():
    server = request.environ.get("SERVER_SOFTWARE", "unknown")
    return jsonify(worker.stats(block, g.served, server, os.environ.get("BRINK_WORKERS")))


# Both wait in the same way here: what differs is the server's event loop.
@app.get("/thread-hold")
@app.get("/block-hold")
def hold():
    secs = workload.hold_secs(pairs())
    time.sleep(secs)
    return jsonify(workload.held(secs, served_ns))


@app.get("/upstream")
def ask_upstream():
    ms = workload.upstream_ms(pairs())
    upstream.ask(ms)
    return jsonify(workload.waited(ms, served_ns))


@app.get("/cpu-burn")
def cpu_burn():
    return jsonify(workload.burn(pairs(), served_ns))


@app.get("/work")
def do_work():
    load = workload.Load(pairs(), block)
    block.touch(load.touch_mb)
    return jsonify(load.done(worker.file.read(load.file_mb), served_ns))


@app.get("/diag/proc")
def diag_proc():
    return jsonify(workload.proc())


@app.errorhandler(BadParameter)
def bad_parameter(err):
    return jsonify(error=str(err)), 400


@app.errorhandler(upstream.UpstreamFailed)
def upstream_failed(err):
    return jsonify(error=str(err)), 502


@app.errorhandler(OSError)
def machine_refused(err):
    return jsonify(workload.refused(err)), 500


SENTENCES = {404: workload.NOT_FOUND, 405: workload.NOT_ALLOWED}


@app.errorhandler(HTTPException)
def http_error(err):
    response = jsonify(SENTENCES.get(err.code, {"error": err.description}))
    response.status_code = err.code
    if err.code == 405:
        response.headers["Allow"] = "GET, HEAD"
    return response
