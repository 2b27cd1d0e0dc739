-- name: restarts
-- description: What apps wrote, and what happened to them, that speaks of restarts and crash loops.
-- The terms match whole words without regard to case, as KQL's has_any does.
-- Where KQL looks for the platform's messages among the console's, the events
-- of the record stand in the platform's own view.
WITH console AS (
  SELECT TimeGenerated, SiteName, Message, ' ' || lower(Message) || ' ' AS words
  FROM AppServiceConsoleLogs
)
SELECT TimeGenerated, SiteName, Message FROM console
WHERE words GLOB '*[^a-z0-9]restart[^a-z0-9]*'
  OR words GLOB '*[^a-z0-9]stopping site[^a-z0-9]*'
  OR words GLOB '*[^a-z0-9]starting site[^a-z0-9]*'
  OR words GLOB '*[^a-z0-9]container[^a-z0-9]*'
  OR words GLOB '*[^a-z0-9]failed[^a-z0-9]*'
UNION ALL
SELECT TimeGenerated, SiteName, Message FROM AppServicePlatformLogs
WHERE OperationName IN ('exited', 'restarted', 'oom_killed', 'gave_up', 'worker_killed')
ORDER BY 1, 2
