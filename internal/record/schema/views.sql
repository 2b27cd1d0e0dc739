-- Views with the columns of Azure's tables, so that questions asked of Azure
-- can be asked of a record. Columns that only Azure can fill are NULL.
-- Columns: https://learn.microsoft.com/azure/azure-monitor/reference/tables/
-- (AzureMetrics, AppServiceHTTPLogs, AppServiceConsoleLogs,
-- AppServicePlatformLogs). Beyond them stand two aliases that written queries
-- use: SiteName, and Message in AppServiceConsoleLogs.

DROP VIEW IF EXISTS AppServiceHTTPLogs;
-- One row for each request that was sent, when it ended. TimeTaken is what a
-- front end sees: from sent to done. Without an answer ScStatus is NULL.
CREATE VIEW AppServiceHTTPLogs AS
SELECT
  strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(p.done_ns, p.sent_ns) / 1000000 / 1000.0, 'unixepoch') AS TimeGenerated,
  NULL AS CIp,
  NULL AS ComputerName,
  NULL AS Cookie,
  NULL AS CsBytes,
  a.addr AS CsHost,
  s.method AS CsMethod,
  CASE WHEN instr(s.path, '?') > 0 THEN substr(s.path, instr(s.path, '?') + 1) END AS CsUriQuery,
  CASE WHEN instr(s.path, '?') > 0 THEN substr(s.path, 1, instr(s.path, '?') - 1) ELSE s.path END AS CsUriStem,
  NULL AS CsUsername,
  NULL AS Referer,
  CASE WHEN o.name = 'ok' THEN 'Success' ELSE 'Failure' END AS Result,
  p.bytes AS ScBytes,
  p.status AS ScStatus,
  NULL AS ScSubStatus,
  NULL AS ScWin32Status,
  NULL AS SourceSystem,
  replace(a.addr, rtrim(a.addr, '0123456789'), '') AS SPort,
  NULL AS TenantId,
  (p.done_ns - p.sent_ns + 500000) / 1000000 AS TimeTaken,
  'AppServiceHTTPLogs' AS Type,
  NULL AS UserAgent,
  NULL AS _BilledSize,
  NULL AS _IsBillable,
  NULL AS _ResourceId,
  NULL AS _SubscriptionId,
  a.name AS SiteName
FROM probes p
JOIN outcomes o ON o.id = p.outcome
JOIN streams s ON s.id = p.stream_id
JOIN apps a ON a.id = s.app_id
WHERE p.sent_ns IS NOT NULL;

DROP VIEW IF EXISTS AppServiceConsoleLogs;
-- Azure sets Level by the stream: stderr is Error, stdout Informational.
CREATE VIEW AppServiceConsoleLogs AS
SELECT
  strftime('%Y-%m-%dT%H:%M:%fZ', l.at_ns / 1000000 / 1000.0, 'unixepoch') AS TimeGenerated,
  NULL AS Category,
  NULL AS ContainerId,
  r.host AS Host,
  CASE l.stream WHEN 'stderr' THEN 'Error' ELSE 'Informational' END AS Level,
  NULL AS OperationName,
  l.line AS ResultDescription,
  NULL AS SourceSystem,
  NULL AS TenantId,
  'AppServiceConsoleLogs' AS Type,
  NULL AS _BilledSize,
  NULL AS _IsBillable,
  NULL AS _ResourceId,
  NULL AS _SubscriptionId,
  l.app AS SiteName,
  l.line AS Message
FROM logs l CROSS JOIN run r;

DROP VIEW IF EXISTS AppServicePlatformLogs;
CREATE VIEW AppServicePlatformLogs AS
SELECT
  strftime('%Y-%m-%dT%H:%M:%fZ', e.at_ns / 1000000 / 1000.0, 'unixepoch') AS TimeGenerated,
  NULL AS ActivityId,
  NULL AS ContainerId,
  NULL AS DeploymentId,
  NULL AS Exception,
  r.host AS Host,
  CASE
    WHEN e.kind IN ('gave_up', 'oom_killed', 'worker_killed') THEN 'Error'
    WHEN e.kind IN ('exited', 'worker_exited') AND (coalesce(e.code, 0) <> 0 OR e.signal IS NOT NULL) THEN 'Error'
    WHEN e.kind = 'restarted' THEN 'Warning'
    ELSE 'Informational'
  END AS Level,
  e.app || ': ' || replace(e.kind, '_', ' ')
    || CASE WHEN e.pid IS NULL THEN '' ELSE ', pid ' || e.pid END
    || CASE WHEN e.code IS NULL THEN '' ELSE ', exit code ' || e.code END
    || CASE WHEN e.signal IS NULL THEN '' ELSE ', signal ' || e.signal END
    || CASE e.detail WHEN '' THEN '' ELSE ': ' || e.detail END AS Message,
  e.kind AS OperationName,
  NULL AS SourceSystem,
  NULL AS StackTrace,
  NULL AS TenantId,
  'AppServicePlatformLogs' AS Type,
  NULL AS _BilledSize,
  NULL AS _IsBillable,
  NULL AS _ResourceId,
  NULL AS _SubscriptionId,
  e.app AS SiteName
FROM events e CROSS JOIN run r;

DROP VIEW IF EXISTS AzureMetrics;
-- One row per minute, metric and resource. A minute is one value of one
-- instance, as on a plan of one instance: Count is 1 and Total is Average, so
-- that avg(Total), which is how the reference asks, means what it wants to
-- say. Minimum and Maximum are those of the ticks within the minute; what grows
-- between two ticks belongs to the minute of the later one.
--
-- As in Azure the metrics of the plan (Microsoft.Web/serverfarms) are
-- CpuPercentage, MemoryPercentage, HttpQueueLength and DiskQueueLength; those
-- of an app (Microsoft.Web/sites) are Requests, Http5xx, AverageResponseTime
-- and MemoryWorkingSet. Their meanings here:
--   CpuPercentage: the whole machine's CPU where the plan is a machine (the
--     time that was neither idle nor iowait, since ticks get lost in virtual
--     machines; where that is not known, the ticks), else that of the apps, as a share of the plan's CPUs, which the step says, or
--     else the fact "cpus"; it has no rows where neither is known.
--   MemoryPercentage: 1 - MemAvailable / MemTotal, which is what Azure was
--     measured to report. PhysicalMemoryPercentage is 1 - MemFree / MemTotal,
--     which is what Azure says of it; Azure has no metric of that name.
--   HttpQueueLength: connections in the accept queues of all apps together.
--   DiskQueueLength: requests that the disks of swap had under way.
CREATE VIEW AzureMetrics AS
WITH
step_cpus (step_id, cpus) AS MATERIALIZED (
  SELECT id, coalesce(
    CASE WHEN json_valid(json) THEN
      nullif(coalesce(json_extract(json, '$.Plan.CPUs'), json_extract(json, '$.plan.cpus')), 0)
    END,
    (SELECT nullif(CAST(value AS INTEGER), 0) FROM facts WHERE name = 'cpus'))
  FROM steps
),
machine (whole) AS MATERIALIZED (SELECT accelerator <> 'none' FROM run),
plan AS (
  SELECT s.at_ns / 60000000000 AS minute, c.cpus, s.mem_total, s.mem_available, s.mem_free,
    s.at_ns - lag(s.at_ns) OVER w AS dt,
    CASE WHEN m.whole THEN coalesce(
      max(0, (s.at_ns - lag(s.at_ns) OVER w) * c.cpus
        - (s.idle_ns - lag(s.idle_ns) OVER w) - (s.iowait_ns - lag(s.iowait_ns) OVER w)),
      s.busy_ns - lag(s.busy_ns) OVER w)
    ELSE s.cpu_ns - lag(s.cpu_ns) OVER w END AS cpu,
    s.disk_queue_ns - lag(s.disk_queue_ns) OVER w AS queued
  FROM samples s CROSS JOIN machine m
  LEFT JOIN repetitions r ON r.id = s.repetition_id
  LEFT JOIN step_cpus c ON c.step_id = r.step_id
  WHERE s.app = ''
  WINDOW w AS (PARTITION BY s.repetition_id ORDER BY s.at_ns)
),
accepting AS (
  SELECT at_ns / 60000000000 AS minute, sum(queue_depth) AS depth
  FROM samples WHERE app <> '' AND queue_depth IS NOT NULL GROUP BY repetition_id, at_ns
),
requests AS (
  SELECT coalesce(p.done_ns, p.sent_ns) / 60000000000 AS minute, a.name AS app,
    p.status, (p.done_ns - p.sent_ns) / 1e9 AS took
  FROM probes p
  JOIN streams s ON s.id = p.stream_id
  JOIN apps a ON a.id = s.app_id
  WHERE p.sent_ns IS NOT NULL
),
metrics (minute, resource, name, unit, value, least, most) AS (
  SELECT minute, NULL, 'CpuPercentage', 'Percent',
    100.0 * sum(cpu) / sum(dt * cpus), min(100.0 * cpu / (dt * cpus)), max(100.0 * cpu / (dt * cpus))
  FROM plan WHERE dt > 0 AND cpu >= 0 AND cpus > 0 GROUP BY minute
  UNION ALL
  SELECT minute, NULL, 'MemoryPercentage', 'Percent',
    avg(100 - 100.0 * mem_available / mem_total),
    min(100 - 100.0 * mem_available / mem_total), max(100 - 100.0 * mem_available / mem_total)
  FROM plan WHERE mem_total > 0 AND mem_available IS NOT NULL GROUP BY minute
  UNION ALL
  SELECT at_ns / 60000000000, app, 'MemoryWorkingSet', 'Bytes', avg(rss), min(rss), max(rss)
  FROM samples WHERE app <> '' AND rss IS NOT NULL GROUP BY 1, 2
  UNION ALL
  SELECT minute, NULL, 'PhysicalMemoryPercentage', 'Percent',
    avg(100 - 100.0 * mem_free / mem_total),
    min(100 - 100.0 * mem_free / mem_total), max(100 - 100.0 * mem_free / mem_total)
  FROM plan WHERE mem_total > 0 AND mem_free IS NOT NULL GROUP BY minute
  UNION ALL
  SELECT minute, NULL, 'HttpQueueLength', 'Count', avg(depth), min(depth), max(depth)
  FROM accepting GROUP BY minute
  UNION ALL
  SELECT minute, NULL, 'DiskQueueLength', 'Count',
    1.0 * sum(queued) / sum(dt), min(1.0 * queued / dt), max(1.0 * queued / dt)
  FROM plan WHERE dt > 0 AND queued >= 0 GROUP BY minute
  UNION ALL
  SELECT minute, app, 'Requests', 'Count', count(*), count(*), count(*) FROM requests GROUP BY 1, 2
  UNION ALL
  SELECT minute, app, 'Http5xx', 'Count', n, n, n FROM (
    SELECT minute, app, count(*) FILTER (WHERE status BETWEEN 500 AND 599) AS n FROM requests GROUP BY 1, 2)
  UNION ALL
  SELECT minute, app, 'AverageResponseTime', 'Seconds', avg(took), min(took), max(took)
  FROM requests WHERE status IS NOT NULL AND took IS NOT NULL GROUP BY 1, 2
)
SELECT
  strftime('%Y-%m-%dT%H:%M:00.000Z', m.minute * 60, 'unixepoch') AS TimeGenerated,
  CAST(m.value AS REAL) AS Average,
  1.0 AS Count,
  CAST(m.most AS REAL) AS Maximum,
  m.name AS MetricName,
  CAST(m.least AS REAL) AS Minimum,
  coalesce(m.resource, r.host) AS Resource,
  NULL AS ResourceGroup,
  NULL AS ResourceId,
  'MICROSOFT.WEB' AS ResourceProvider,
  NULL AS SourceSystem,
  NULL AS SubscriptionId,
  'PT1M' AS TimeGrain,
  CAST(m.value AS REAL) AS Total,
  'AzureMetrics' AS Type,
  m.unit AS UnitName,
  NULL AS _BilledSize,
  NULL AS _IsBillable,
  NULL AS _ResourceId,
  NULL AS _SubscriptionId
FROM metrics m CROSS JOIN run r;
