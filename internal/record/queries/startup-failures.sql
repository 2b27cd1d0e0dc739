-- name: startup-failures
-- description: Answers with status 503 per app and five minutes, as apps give them while they start.
SELECT
  strftime('%Y-%m-%dT%H:%M:00.000Z', unixepoch(TimeGenerated) / 300 * 300, 'unixepoch') AS TimeGenerated,
  SiteName,
  count(*) AS Failures
FROM AppServiceHTTPLogs
WHERE ScStatus = 503
GROUP BY 1, 2
ORDER BY 1, 2
