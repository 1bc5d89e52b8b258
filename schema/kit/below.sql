-- below: the end of the bucket below which these percent of a histogram are: that of the first bucket at which the counts so far reach them
-- takes: percent, end, reached, total
min(CASE WHEN 100 * $reached >= $percent * $total THEN $end END)
