"""Read by gunicorn by itself when it is started in this folder."""

import os
import sys

import settings

# A worker that exits with 2 is started again for ever; the master is not.
try:
    settings.alloc_mb()
except ValueError as err:
    print(err, file=sys.stderr)
    sys.exit(2)


def post_worker_init(worker):
    """Say when a worker can serve: gunicorn itself logs only that it boots."""
    worker.log.info("Worker ready with pid: %s", worker.pid)


def post_fork(server, worker):
    """Tell the app how many workers there are: it has no other way to know."""
    os.environ["BRINK_WORKERS"] = str(server.cfg.workers)
