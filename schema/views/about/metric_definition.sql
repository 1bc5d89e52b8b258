-- metric_definition: what every figure means: unit, formula, sources and caveats of every column of every view and table
-- grain: a column of a view or table
-- source: definition
-- caveat: it is made from the schema, and is the same for all captures that this version of perfcase imported
-- diff no: the same for all captures
-- as in definition: view_name, kind, column_name, unit, definition, formula, grain, made_from, caveat
SELECT view_name, kind, column_name, unit, definition, formula, "grain", made_from, caveat
FROM definition
ORDER BY view_name, position
