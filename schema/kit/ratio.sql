-- ratio: a share, or a mean; NULL if the whole is 0 or unknown
-- takes: part, whole
$part / nullif($whole, 0)
