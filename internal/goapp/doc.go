// Package goapp is the workload that is built into brink: a master and exec'd
// workers with the endpoints of apps/flask and apps/node, behaving under load
// as gunicorn with sync workers does. It stands in where gunicorn cannot be
// had, and it is the second server in experiments that ask whether an effect
// belongs to gunicorn or to the worker model.
//
// The master opens the listener and runs the workers, which share it. A worker
// takes the next connection of the kernel's accept queue when it is done with
// the one before, so waiting happens in the kernel, first come first served.
//
// The log has gunicorn's line format and wording where gunicorn has a line for
// it, so that one reader understands both:
//
//	[2026-05-04 10:00:00 +0000] [PID] [LEVEL] MESSAGE
//
//	INFO      Listening at: http://ADDRESS (PID)
//	INFO      Booting worker with pid: PID
//	INFO      Worker ready with pid: PID
//	CRITICAL  WORKER TIMEOUT (pid:PID)
//	WARNING   Worker with pid PID was terminated due to signal N
//	WARNING   Worker with pid PID exited with code N
//	ERROR     Worker failed to boot.
//	INFO      Handling signal: NAME
//	INFO      Shutting down: Master
//
// The PID in brackets is the writer's: the master's, but for what a worker
// says about its own boot.
package goapp
