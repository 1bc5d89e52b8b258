-- network_place: in which network namespace something was counted, for a finding's text
-- takes: netns_inode, process, pid
CASE WHEN $netns_inode IS NULL THEN 'of this host'
  WHEN $process IS NULL THEN 'in the network namespace ' || $netns_inode
  ELSE format('in the network namespace of {} ({})', $process, $pid) END
