-- Schema 1 of a record. Times are Unix time in ns; a column is NULL where it
-- did not come to that, or where the value is not known. Ids count from 1;
-- repetition 0 stands for what was seen before the first repetition began.

CREATE TABLE run (
  one         INTEGER PRIMARY KEY CHECK (one = 1),
  id          TEXT NOT NULL,
  brink       TEXT NOT NULL,
  experiment  TEXT NOT NULL,
  yaml        TEXT NOT NULL,
  profile     TEXT NOT NULL,
  seed        INTEGER NOT NULL,
  host        TEXT NOT NULL,
  overrides   TEXT NOT NULL, -- JSON array of strings
  accelerator TEXT NOT NULL,
  started_ns  INTEGER NOT NULL,
  ended_ns    INTEGER,
  status      TEXT NOT NULL,
  reason      TEXT NOT NULL
) STRICT;

CREATE TABLE facts (
  id    INTEGER PRIMARY KEY,
  name  TEXT NOT NULL,
  value TEXT NOT NULL
) STRICT;

CREATE TABLE requirements (
  id          INTEGER PRIMARY KEY,
  need        TEXT NOT NULL,
  app         TEXT NOT NULL,
  consequence TEXT NOT NULL,
  substituted INTEGER NOT NULL
) STRICT;

CREATE TABLE steps (
  id      INTEGER PRIMARY KEY,
  ordinal INTEGER NOT NULL,
  name    TEXT NOT NULL UNIQUE,
  title   TEXT NOT NULL,
  json    TEXT NOT NULL
) STRICT;

CREATE TABLE repetitions (
  id             INTEGER PRIMARY KEY,
  step_id        INTEGER NOT NULL REFERENCES steps (id),
  number         INTEGER NOT NULL,
  position       INTEGER NOT NULL,
  twin           INTEGER NOT NULL,
  phase          INTEGER NOT NULL,
  started_ns     INTEGER NOT NULL,
  traffic_ns     INTEGER,
  traffic_end_ns INTEGER,
  ended_ns       INTEGER,
  status         TEXT NOT NULL,
  reason         TEXT NOT NULL,
  limits         TEXT NOT NULL -- JSON
) STRICT;

CREATE TABLE apps (
  id            INTEGER PRIMARY KEY,
  repetition_id INTEGER NOT NULL REFERENCES repetitions (id),
  name          TEXT NOT NULL,
  runtime       TEXT NOT NULL,
  server        TEXT NOT NULL,
  addr          TEXT NOT NULL,
  workers       INTEGER NOT NULL,
  json          TEXT NOT NULL
) STRICT;

CREATE TABLE streams (
  id            INTEGER PRIMARY KEY,
  repetition_id INTEGER NOT NULL REFERENCES repetitions (id),
  app_id        INTEGER NOT NULL REFERENCES apps (id),
  ordinal       INTEGER NOT NULL,
  kind          TEXT NOT NULL,
  method        TEXT NOT NULL,
  path          TEXT NOT NULL,
  json          TEXT NOT NULL,
  scheduled     INTEGER NOT NULL,
  sent          INTEGER NOT NULL,
  held          INTEGER NOT NULL,
  shortfall     REAL NOT NULL,
  note          TEXT NOT NULL
) STRICT;

CREATE TABLE events (
  id            INTEGER PRIMARY KEY,
  repetition_id INTEGER NOT NULL,
  app           TEXT NOT NULL,
  at_ns         INTEGER NOT NULL,
  kind          TEXT NOT NULL,
  pid           INTEGER,
  code          INTEGER,
  signal        INTEGER,
  detail        TEXT NOT NULL
) STRICT;
CREATE INDEX events_in_time ON events (repetition_id, at_ns);

CREATE TABLE logs (
  id            INTEGER PRIMARY KEY,
  repetition_id INTEGER NOT NULL,
  app           TEXT NOT NULL,
  at_ns         INTEGER NOT NULL,
  stream        TEXT NOT NULL,
  line          TEXT NOT NULL,
  cut           INTEGER NOT NULL
) STRICT;
CREATE INDEX logs_in_time ON logs (repetition_id, at_ns);

-- One row per tick and scope; app is empty for the plan. Counters of
-- /proc/vmstat are in pages, psi_* totals in microseconds, memory in bytes.
CREATE TABLE samples (
  id             INTEGER PRIMARY KEY,
  repetition_id  INTEGER NOT NULL,
  app            TEXT NOT NULL,
  at_ns          INTEGER NOT NULL,
  cpu_ns         INTEGER,
  busy_ns        INTEGER,
  rss            INTEGER,
  procs          INTEGER,
  queue_depth    INTEGER,
  queue_limit    INTEGER,
  oldest_ms      INTEGER,
  abandoned      INTEGER,
  overflows      INTEGER,
  listen_drops   INTEGER,
  mem_total      INTEGER,
  mem_available  INTEGER,
  mem_free       INTEGER,
  cached         INTEGER,
  anon_pages     INTEGER,
  slab           INTEGER,
  swap_total     INTEGER,
  swap_free      INTEGER,
  pgscan_kswapd  INTEGER,
  pgscan_direct  INTEGER,
  pgsteal_kswapd INTEGER,
  pgsteal_direct INTEGER,
  pswpin         INTEGER,
  pswpout        INTEGER,
  allocstall     INTEGER,
  pgmajfault     INTEGER,
  refault_anon   INTEGER,
  refault_file   INTEGER,
  oom_kills      INTEGER,
  psi_cpu_some   INTEGER,
  psi_mem_some   INTEGER,
  psi_mem_full   INTEGER,
  psi_io_some    INTEGER,
  psi_io_full    INTEGER,
  agent_cpu_ns   INTEGER,
  agent_rss      INTEGER
) STRICT;
CREATE INDEX samples_in_time ON samples (repetition_id, at_ns);

CREATE TABLE outcomes (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO outcomes (id, name) VALUES
  (1, 'ok'), (2, 'http_4xx'), (3, 'http_5xx'), (4, 'timeout'),
  (5, 'refused'), (6, 'reset'), (7, 'aborted'), (8, 'endless'),
  (9, 'canceled'), (10, 'unsent'), (11, 'out_of_files'), (12, 'out_of_ports'),
  (13, 'unreachable');

-- Clustered by stream, so that a stream is read in the order of its requests
-- without an index beside the table.
CREATE TABLE probes (
  stream_id     INTEGER NOT NULL REFERENCES streams (id),
  seq           INTEGER NOT NULL,
  due_ns        INTEGER,
  sent_ns       INTEGER,
  connected_ns  INTEGER,
  first_byte_ns INTEGER,
  done_ns       INTEGER,
  status        INTEGER,
  outcome       INTEGER NOT NULL REFERENCES outcomes (id),
  err           TEXT,
  pid           INTEGER,
  served_ns     INTEGER,
  bytes         INTEGER NOT NULL,
  PRIMARY KEY (stream_id, seq)
) STRICT, WITHOUT ROWID;
