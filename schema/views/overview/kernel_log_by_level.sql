-- kernel_log_by_level: how many messages of each level the kernel's log has
-- grain: a level, the most severe first; none if the log was not recorded
-- source: kernel_log
-- caveat: kernel_log has the messages
-- diff no: most messages are older than the capture: their number says how long the host was up
-- column level: emerg, alert, crit, err, warn, notice, info, debug
-- column message_count [count]: messages of this level
-- column in_capture_count [count]: messages of this level that were logged while the capture was recorded
-- column severe_count [count]: messages of this level or a more severe one
-- column severe_in_capture_count [count]: messages of this level or a more severe one that were logged while the capture was recorded
WITH level (place, level) AS (
  VALUES (0, 'emerg'), (1, 'alert'), (2, 'crit'), (3, 'err'), (4, 'warn'), (5, 'notice'), (6, 'info'), (7, 'debug')
), counted AS (
  SELECT level, count(*) AS message_count, count(*) FILTER (is_in_capture) AS in_capture_count FROM kernel_log GROUP BY level
)
SELECT l.level, coalesce(c.message_count, 0) AS message_count, coalesce(c.in_capture_count, 0) AS in_capture_count,
  (sum(coalesce(c.message_count, 0)) OVER w)::BIGINT AS severe_count, (sum(coalesce(c.in_capture_count, 0)) OVER w)::BIGINT AS severe_in_capture_count
FROM level AS l
LEFT JOIN counted AS c USING (level)
WHERE EXISTS (FROM kernel_log)
WINDOW w AS (ORDER BY l.place)
ORDER BY l.place
