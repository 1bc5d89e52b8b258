-- frame_label: one name for every frame: its function's, or where it is when the name is unknown
-- grain: a frame
-- source: frame, dso
-- diff no: names, no figures
-- keys: frame_id
-- column label: the function's name; if it has none, the object (its build id where known) and the address in it
-- column dso: the object's short name; [unknown] where no mapping covers the address
-- as in frame: is_kernel, address
-- column unnamed_address: the address of a frame without a name; NULL for a frame with a name
SELECT
  f.frame_id,
  coalesce(
    f.symbol,
    CASE WHEN d.dso_id IS NULL THEN '[unknown] 0x' || lower(to_hex(f.address))
      ELSE '[' || coalesce(left(d.build_id, 8), d.name) || '] +0x' || lower(to_hex(f.address)) END
  ) AS label,
  coalesce(d.name, '[unknown]') AS dso,
  f.is_kernel,
  f.address,
  CASE WHEN f.symbol IS NULL THEN f.address END AS unnamed_address
FROM frame AS f
LEFT JOIN dso AS d USING (dso_id)
