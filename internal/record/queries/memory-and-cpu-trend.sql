-- name: memory-and-cpu-trend
-- description: Memory and CPU of the plan, as means over five minutes.
SELECT
  strftime('%Y-%m-%dT%H:%M:00.000Z', unixepoch(TimeGenerated) / 300 * 300, 'unixepoch') AS TimeGenerated,
  MetricName,
  Resource,
  avg(Total) AS AvgValue
FROM AzureMetrics
WHERE ResourceProvider = 'MICROSOFT.WEB'
  AND MetricName IN ('MemoryPercentage', 'CpuPercentage')
GROUP BY 1, 2, 3
ORDER BY 1, 2, 3
