-- working_set: which files each process read through the page cache, against the size of the cache
-- grain: a process and a name that it had (if the process is not known, a name of threads) and a file
-- source: page_cache_event, fd_call, thread, thread_name_span, process_name, proc_memory, page_size, block_device, recorder_thread
-- caveat: needs filemap events (perfcase record --with page-cache); without mm_filemap_get_pages reads that the cache served are not seen
-- caveat: path is that of the descriptor whose reads and writes touched most of the file's pages, as its process names it
-- caveat: extent is where the touched part of the file ends: the file may be larger
-- caveat: the process is the one that ran when the page came in: read-ahead and writeback may work for another process
-- caveat: cache_bytes is the largest size of the file cache at a snapshot; other files in the cache leave less room
-- diff by: process, path
-- diff sum: looked_up_pages, read_pages, written_pages, reread_pages, removed_pages
-- diff weight: 0.7
-- keys: upid, pid
-- column process: its name when its threads touched the file; if the process is not known, the threads' name
-- column device: the file system, as major,minor
-- column inode: the file: find -inum shows its name on the recorded host
-- column path: path of the file, if a read or write of a descriptor that a snapshot named touched it; NULL if none did
-- column block_device: name of the block device, if no file but the device itself was read (a file system reads its metadata there)
-- column looked_up_pages [pages]: pages that reads and page faults asked the cache for; NULL where lookups were not recorded
-- column read_pages [pages]: pages that came into the cache to be read
-- column written_pages [pages]: pages that came into the cache to be written
-- column reread_pages [pages]: the part of read_pages that this process had already brought in during this capture: they had been dropped in between
-- column removed_pages [pages]: pages of the file that left the cache while the process ran
-- column extent_pages [pages]: end of the last page touched: the file is at least this large; for a block device a position on it
-- column read_bytes [bytes]: read_pages in bytes; NULL where the page size is not known
-- column extent_bytes [bytes]: extent_pages in bytes
-- column cache_bytes [bytes]: the largest size of the page cache
-- column extent_ratio [ratio]: extent_bytes as a share of cache_bytes; above 1 the file does not fit
-- column exceeds_cache: true when the file does not fit the page cache; NULL for a block device
WITH cache AS (
  SELECT max(cached_bytes + coalesce(buffers_bytes, 0)) AS cache_bytes FROM proc_memory
), page AS (
  SELECT e.ts_ns, e.utid, t.upid, p.pid, coalesce(p.name, n.comm, t.comm) AS process, e.device, e.inode, e.action, e.first_page, e.page_count, e.is_written,
    row_number() OVER (
      PARTITION BY t.upid, CASE WHEN t.upid IS NULL THEN coalesce(n.comm, t.comm) END, e.device, e.inode, e.action, e.first_page ORDER BY e.ts_ns
    ) AS nth
  FROM page_cache_event AS e
  LEFT JOIN thread AS t USING (utid)
  ASOF LEFT JOIN process_name AS p ON p.upid = t.upid AND p.since_ts_ns <= e.ts_ns
  ASOF LEFT JOIN thread_name_span AS n ON n.utid = e.utid AND n.since_ts_ns <= e.ts_ns
  WHERE e.action <> 'dirtied'
), told AS (
  SELECT bool_or(action = 'looked_up') AS lookups FROM page
), file_call AS (
  SELECT utid, ts_ns, exit_ts_ns, target
  FROM fd_call
  WHERE kind = 'file' AND starts_with(target, '/')
    AND name IN ('read', 'pread64', 'readv', 'preadv', 'preadv2', 'write', 'pwrite64', 'writev', 'pwritev', 'pwritev2')
), touched AS (
  SELECT p.device, p.inode, c.target, count(*) AS events
  FROM page AS p
  ASOF JOIN file_call AS c ON c.utid = p.utid AND p.ts_ns >= c.ts_ns
  WHERE p.action IN ('added', 'looked_up') AND p.ts_ns <= c.exit_ts_ns
  GROUP BY ALL
), named AS (
  -- A read touches other files as well: the file system's own, or one that the buffer is mapped from.
  SELECT device, inode, target AS path
  FROM touched
  QUALIFY row_number() OVER (PARTITION BY device, inode ORDER BY events DESC, target) = 1
    AND row_number() OVER (PARTITION BY target ORDER BY events DESC, device, inode) = 1
), file AS (
  SELECT upid, pid, process, device, inode,
    @total_or_zero(page_count, action IN ('looked_up', 'faulted')) AS looked_up,
    @total_or_zero(page_count, action = 'added' AND NOT coalesce(is_written, false)) AS read,
    @total_or_zero(page_count, action = 'added' AND is_written) AS written,
    @total_or_zero(page_count, action = 'added' AND NOT coalesce(is_written, false) AND nth > 1) AS reread,
    @total_or_zero(page_count, action = 'removed') AS removed,
    max(first_page::HUGEINT + page_count) AS extent
  FROM page
  GROUP BY upid, pid, process, device, inode
)
SELECT
  f.upid, f.pid, f.process, f.device, f.inode, n.path, b.device_name AS block_device,
  CASE WHEN t.lookups THEN f.looked_up END AS looked_up_pages,
  f.read AS read_pages, f.written AS written_pages, f.reread AS reread_pages, f.removed AS removed_pages,
  f.extent AS extent_pages,
  @product(f.read, s.page_size_bytes) AS read_bytes,
  f.extent * s.page_size_bytes AS extent_bytes,
  c.cache_bytes,
  f.extent * s.page_size_bytes / nullif(c.cache_bytes, 0) AS extent_ratio,
  CASE WHEN b.device_name IS NULL THEN f.extent * s.page_size_bytes > c.cache_bytes END AS exceeds_cache
FROM file AS f
CROSS JOIN told AS t
CROSS JOIN cache AS c
LEFT JOIN page_size AS s ON true
LEFT JOIN named AS n ON n.device = f.device AND n.inode = f.inode
-- The inodes of block devices are their numbers, in a file system of their own.
LEFT JOIN block_device AS b ON f.device LIKE '0,%' AND b.device = (f.inode >> 20) || ',' || (f.inode & 1048575)
ORDER BY f.upid IN (SELECT upid FROM recorder_thread WHERE upid IS NOT NULL) IS TRUE, f.read DESC, f.upid, f.process, f.device, f.inode
