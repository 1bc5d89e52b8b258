"""A question about one capture becomes the same question about each of many: every relation has one more column, ``capture``.

The answer for the captures together is then the answers for each of them, one below the other. What must not mix is kept apart: joins match within a
capture, groups, windows, DISTINCT and LIMIT count within one, a subquery sees the capture of the row that asks. An aggregate without GROUP BY has a
row for a capture without rows, as it has for one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from sqlglot import exp
from sqlglot.optimizer.qualify import qualify

KEY = "capture"
CAPTURES = "fleet_capture"
"""The relation of the captures that are asked: its only column is ``capture``."""
_ASKED = "asked"


class Keyed:
    """Rewrites SELECTs. ``schema`` has the columns of each relation, ``shared`` those relations that are the same for all captures."""

    def __init__(self, schema: Mapping[str, Iterable[str]], shared: frozenset[str] = frozenset()) -> None:
        self._schema = {name: dict.fromkeys(columns, "unknown") for name, columns in schema.items()}
        self._shared = shared

    def rewritten(self, tree: exp.Query) -> exp.Query:
        """Return a SELECT of DuckDB with the column ``capture`` at its end."""
        whole = qualify(
            tree.copy(), schema=self._schema, dialect="duckdb", validate_qualify_columns=False, quote_identifiers=False
        )
        return self._query(whole, frozenset())

    def _reads(self, node: exp.Expression, free: frozenset[str]) -> bool:
        """Return whether a relation or an expression depends on the capture. ``free`` names the common tables that do not."""
        inner = (
            free | {each.alias for each in node.find_all(exp.CTE) if not self._reads(each.this, free - {each.alias})}
            if node.find(exp.CTE)
            else free
        )
        known = {each.alias for each in node.find_all(exp.CTE)}
        return any(
            table.name and table.name not in inner and (table.name not in self._shared or table.name in known)
            for table in node.find_all(exp.Table)
        )

    def _query(self, node: exp.Query, free: frozenset[str]) -> exp.Query:
        """Return a query whose last column is the capture, also if it does not depend on it."""
        free = self._common(node, free)
        if isinstance(node, exp.SetOperation):
            return self._set(node, free)
        if isinstance(node, exp.Subquery):
            node.set("this", self._query(node.this, free))
            return node
        if _is_one_row(node):
            return self._one_row(node, free)
        key = self._select(node, free, None)
        _project(node, key)
        if node.args.get("limit") or node.args.get("offset"):
            _limit_each(node, key)
        return node

    def _set(self, node: exp.SetOperation, free: frozenset[str]) -> exp.Query:
        node.set("this", self._query(node.this, free))
        node.set("expression", self._query(node.expression, free))
        if node.args.get("limit"):
            raise NotImplementedError("LIMIT of a UNION")
        return node

    def _common(self, node: exp.Query, free: frozenset[str]) -> frozenset[str]:
        """Rewrite the common tables of a query that depend on the capture; return the names of all that do not."""
        common = node.args.get("with_")
        for each in common.expressions if common else ():
            if self._reads(each.this, free - {each.alias}):
                each.set("this", self._query(each.this, free - {each.alias}))
                if columns := each.args["alias"].args.get("columns"):
                    columns.append(exp.to_identifier(KEY))
                free -= {each.alias}
            else:
                free |= {each.alias}
        return free

    def _one_row(self, node: exp.Select, free: frozenset[str]) -> exp.Select:
        """Return an aggregate without GROUP BY for each capture."""
        common = node.args.get("with_")
        node.set("with_", None)
        self._select(node, free, exp.column(KEY, _ASKED))
        # Columns of a UNION may have one name.
        named = [(f"value_{number}", each.alias_or_name) for number, each in enumerate(node.expressions)]
        node.set(
            "expressions",
            [each.unalias().as_(inner) for each, (inner, _) in zip(node.expressions, named, strict=True)],
        )
        made = exp.select(*(exp.column(inner, "one_row").as_(name) for inner, name in named))
        made = made.select(exp.column(KEY, _ASKED).as_(KEY)).from_(exp.to_table(CAPTURES).as_(_ASKED))
        if having := node.args.get("having"):
            # Outside: a row that is not there would be one of NULLs.
            node.set("having", None)
            node.append("expressions", having.this.as_("is_kept"))
            made = made.where(exp.column("is_kept", "one_row"))
        lateral = exp.Lateral(this=node.subquery(), alias=exp.TableAlias(this=exp.to_identifier("one_row")))
        made.append("joins", exp.Join(this=lateral, kind="CROSS"))
        made.set("with_", common)
        return made

    def _select(self, node: exp.Select, free: frozenset[str], outer: exp.Expression | None) -> exp.Expression:
        """Keep the captures apart within a SELECT and return what the capture of a row is.

        With an ``outer`` key it is a subquery: only rows of that capture are its rows, and nothing else changes.
        """
        key = self._sources(node, free)
        if key is None:
            _add_captures(node)
            key = exp.column(KEY, _ASKED)
        # What is beside an aggregate of all rows is not about one of them.
        seen = outer if outer is not None and _is_one_row(node) else key
        for each in _subqueries(node):
            row = each.parent
            if isinstance(row, exp.In) and isinstance(row.this, exp.Tuple) and self._reads(each, free):
                self._row_in(row, free, key)
            else:
                self._correlate(each, free, seen)
        if outer is not None:
            node.where(key.copy().eq(outer.copy()), copy=False)
            return key
        for window in _windows(node):
            window.set("partition_by", [key.copy(), *(window.args.get("partition_by") or ())])
        group = node.args.get("group")
        if group and not group.args.get("all"):
            group.set("expressions", [key.copy(), *group.expressions])
        distinct = node.args.get("distinct")
        if distinct and distinct.args.get("on"):
            distinct.args["on"].set("expressions", [key.copy(), *distinct.args["on"].expressions])
        return key

    def _row_in(self, node: exp.In, free: frozenset[str], key: exp.Expression) -> None:
        """Look a row up among those of its capture: DuckDB takes no subquery about an outer row here."""
        select = node.args["query"].unnest()
        if len(select.expressions) == 1 and isinstance(only := select.expressions[0].unalias(), exp.Tuple):
            named = [part.copy().as_(f"part_{number}") for number, part in enumerate(only.expressions)]
            select.set("expressions", named)
        node.set("query", self._query(select, free).subquery(copy=False))
        node.this.append("expressions", key.copy())

    def _sources(self, node: exp.Select, free: frozenset[str]) -> exp.Expression | None:
        """Rewrite what a SELECT reads, and match its joins within a capture; return the key of a row, if a source depends on the capture."""
        start = node.args.get("from_")
        if start is None:
            return None
        keys: list[exp.Expression] = []
        if self._source(start.this, free):
            keys.append(exp.column(KEY, start.this.alias_or_name))
        joins = list(node.args.get("joins") or ())
        if not keys and any(join.side and self._reads(join.this, free) for join in joins):
            _add_captures(node, first=True)
            keys.append(exp.column(KEY, _ASKED))
        is_outer = False
        for join in joins:
            source = join.this
            if isinstance(source, exp.Lateral) and isinstance(source.this, exp.Subquery):
                if self._reads(source, free):
                    if not keys:
                        raise NotImplementedError("a lateral subquery before any table")
                    self._correlate(source.this.this, free, _together(keys, is_outer))
                continue
            if not self._source(source, free):
                continue
            key = exp.column(KEY, source.alias_or_name)
            if keys:
                _match(join, _together(keys, is_outer).eq(key.copy()))
            if join.kind not in ("SEMI", "ANTI"):
                is_outer = is_outer or join.side in ("FULL", "RIGHT")
                keys.append(key)
        return _together(keys, is_outer) if keys else None

    def _source(self, source: exp.Expression, free: frozenset[str]) -> bool:
        """Rewrite one source; return whether it has the column ``capture``."""
        if not self._reads(source, free):
            return False
        if isinstance(source, exp.Subquery):
            source.set("this", self._query(source.this, free))
            alias = source.args.get("alias")
            if alias and alias.args.get("columns"):
                alias.args["columns"].append(exp.to_identifier(KEY))
        elif not isinstance(source, exp.Table):
            raise NotImplementedError(f"a source of kind {type(source).__name__}")
        return True

    def _correlate(self, node: exp.Query, free: frozenset[str], outer: exp.Expression) -> None:
        """Let a subquery of an expression see the rows of one capture only."""
        if not self._reads(node, free):
            return None
        if isinstance(node, exp.Subquery):
            return self._correlate(node.this, free, outer)
        free = self._common(node, free)
        if isinstance(node, exp.Select):
            for column in outer.find_all(exp.Column):
                _rename(node, column.table)
        if isinstance(node, exp.SetOperation):
            for each in (node.this, node.expression):
                self._correlate(each, free, outer)
            return None
        self._select(node, free, outer)
        return None


def _sources_of(node: exp.Select) -> list[exp.Expression]:
    start = node.args.get("from_")
    return [*([start.this] if start else []), *(join.this for join in node.args.get("joins") or ())]


def _rename(node: exp.Select, name: str) -> None:
    """Give a source of a subquery another name than that of the outer row, which it would hide."""
    for source in _sources_of(node):
        if source.alias_or_name == name:
            made = f"{name}_within"
            _rename(node, made)
            columns = [
                each for each in node.find_all(exp.Column) if each.table == name and not _is_hidden(each, node, name)
            ]
            source.set("alias", exp.TableAlias(this=exp.to_identifier(made), columns=_column_names(source)))
            for column in columns:
                column.set("table", exp.to_identifier(made))


def _is_hidden(column: exp.Column, node: exp.Select, name: str) -> bool:
    """Return whether a SELECT within ``node`` has a source of this name, which the column is of."""
    select = column.parent_select
    while select is not None and select is not node:
        if any(source.alias_or_name == name for source in _sources_of(select)):
            return True
        select = select.parent_select
    return False


def _column_names(source: exp.Expression) -> list[exp.Expression] | None:
    alias = source.args.get("alias")
    return alias.args.get("columns") if alias else None


def _together(keys: list[exp.Expression], is_outer: bool) -> exp.Expression:
    """Return the capture of a row: where a side may be missing, the one that is there."""
    return (
        exp.Coalesce(this=keys[0].copy(), expressions=[key.copy() for key in keys[1:]]) if is_outer else keys[0].copy()
    )


def _add_captures(node: exp.Select, *, first: bool = False) -> None:
    captures = exp.to_table(CAPTURES).as_(_ASKED)
    if not node.args.get("from_"):
        node.from_(captures, copy=False)
    else:
        join = exp.Join(this=captures, kind="CROSS")
        node.set("joins", [join, *(node.args.get("joins") or ())] if first else [*(node.args.get("joins") or ()), join])


def _match(join: exp.Join, condition: exp.Expression) -> None:
    if join.args.get("using"):
        raise NotImplementedError("USING after qualification")
    on = join.args.get("on")
    join.set("on", exp.and_(condition, on) if on else condition)
    if join.kind == "CROSS":
        join.set("kind", None)


def _project(node: exp.Select, key: exp.Expression) -> None:
    if any(each.is_star for each in node.expressions):
        raise NotImplementedError("a star after qualification")
    node.append("expressions", key.copy().as_(KEY))


def _limit_each(node: exp.Select, key: exp.Expression) -> None:
    """LIMIT counts within each capture."""
    named = {each.alias: each.this for each in node.expressions if isinstance(each, exp.Alias)}
    order = node.args.get("order")
    if node.args.get("offset"):
        raise NotImplementedError("OFFSET")
    if order:
        order = order.transform(
            lambda each: (
                named[each.name].copy()
                if isinstance(each, exp.Column) and not each.table and each.name in named
                else each
            )
        )
    number = exp.Window(this=exp.RowNumber(), partition_by=[key.copy()], order=order)
    condition = exp.LTE(this=number, expression=node.args["limit"].expression)
    before = node.args.get("qualify")
    node.set("qualify", exp.Qualify(this=exp.and_(before.this, condition) if before else condition))
    node.set("limit", None)
    node.set("order", None)


def own(node: exp.Select) -> Iterator[exp.Expression]:
    """Yield what belongs to a SELECT itself: not its common tables and sources, not what is within a subquery."""
    parts = [value for name, value in node.args.items() if name not in ("with_", "from_", "joins", "laterals")]
    parts += [join.args.get("on") for join in node.args.get("joins") or ()]
    pending = [each for part in parts for each in (part if isinstance(part, list) else [part])]
    while pending:
        each = pending.pop()
        if isinstance(each, exp.Expression):
            yield each
            if not isinstance(each, exp.Query):
                pending += each.iter_expressions()


def _subqueries(node: exp.Select) -> list[exp.Query]:
    return [each for each in own(node) if isinstance(each, exp.Query)]


def _windows(node: exp.Select) -> list[exp.Window]:
    """Return the windows that say how they divide rows: one that only has the name of another does not."""
    return [each for each in own(node) if isinstance(each, exp.Window) and not each.args.get("alias")]


def _is_one_row(node: exp.Select) -> bool:
    """Return whether a SELECT aggregates all rows to one."""
    if node.args.get("group"):
        return False
    return bool(own_aggregates(node))


def own_aggregates(node: exp.Select) -> list[exp.Expression]:
    """Return the aggregates of a SELECT itself: not those of its subqueries, and none over a window."""
    windowed = {id(each.this) for each in own(node) if isinstance(each, exp.Window)}
    windowed |= {
        id(each.this.this)
        for each in own(node)
        if isinstance(each, exp.Window) and isinstance(each.this, (exp.Filter, exp.IgnoreNulls, exp.RespectNulls))
    }
    return [each for each in own(node) if _is_aggregate(each) and id(each) not in windowed]


def _is_aggregate(node: exp.Expression) -> bool:
    if isinstance(node, exp.AggFunc):
        return not isinstance(
            node,
            (exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue, exp.NthValue, exp.RowNumber, exp.Rank, exp.DenseRank),
        )
    return isinstance(node, exp.Anonymous) and node.name.lower() in AGGREGATES


AGGREGATES = frozenset(
    {"list", "mode", "arg_max", "arg_min", "max_by", "min_by", "bit_or", "product", "histogram", "fsum", "kahan_sum"}
)
"""Aggregates that sqlglot does not know as such."""
