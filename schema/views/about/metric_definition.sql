-- metric_definition: what every figure means: unit, formula, sources and caveats of every column of every view and table
-- grain: a column of a view or table
-- source: definition
-- caveat: it is made from the schema, and is the same for all captures that this version of perfcase imported
-- diff no: the same for all captures
-- column view_name: the view or table
-- column kind: view or table
-- column column_name: the column
-- column unit: its unit; ratio is a share from 0 to 1; NULL for names, labels and keys
-- column definition: what it is
-- column formula: how the view computes it, in SQL; names in it are of tables, views, and of the view's own steps (perfcase views NAME --sql)
-- column grain: what one row is
-- column made_from: the tables that the view is made from in the end
-- column caveat: what a reader of the view has to know
SELECT view_name, kind, column_name, unit, definition, formula, "grain", made_from, caveat
FROM definition
ORDER BY view_name, position
