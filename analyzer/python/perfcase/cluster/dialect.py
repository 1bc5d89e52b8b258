"""DuckDB's SQL in the words of Apache Spark: what sqlglot alone translates to something else, or to nothing.

Where both have a function of one name, DuckDB's meaning is kept: division is of doubles, an index outside of a list is NULL, ``arg_max`` skips rows
without a value, ``ASOF JOIN`` becomes a join with the interval from a row to the next one of its kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from sqlglot import exp
from sqlglot.optimizer.annotate_types import annotate_types

from perfcase.cluster.keyed import own, own_aggregates
from perfcase.cluster.lists import (
    bracket,
    call,
    first,
    joined,
    length,
    listed,
    quantile,
    series,
    source,
    unnested_together,
)

TYPES = {
    exp.DType.INT128: "DECIMAL(38, 0)",
    exp.DType.UBIGINT: "DECIMAL(20, 0)",
    exp.DType.UINT: "BIGINT",
    exp.DType.USMALLINT: "INT",
    exp.DType.UTINYINT: "SMALLINT",
}
"""Spark has no unsigned numbers: those of 64 bits are decimals, as it reads them from Parquet."""
FUNCTIONS = {"list_position": "array_position", "list_reverse": "reverse", "list_contains": "array_contains"}


def lowered(tree: exp.Query, schema: Mapping[str, Mapping[str, str]]) -> str:
    """Return a SELECT of DuckDB as one of Spark. ``schema`` has the DuckDB types of the columns of each relation."""
    tree = annotate_types(tree, schema=schema, dialect="duckdb")
    root = exp.Paren(this=tree)
    for each in list(root.find_all(exp.Filter)):
        if isinstance(each.this, (exp.ArrayAgg, exp.First, exp.GroupConcat, exp.PercentileDisc)):
            each.this.meta["where"] = each.expression.this
            each.replace(each.this)
    for select in list(root.find_all(exp.Select)):
        _qualify(select)
    for node in reversed(list(root.walk())):
        made = _lower(node)
        if made is not node:
            node.replace(made)
    return root.this.sql("spark", identify=True, comments=False)


def _lower(node: exp.Expression) -> exp.Expression:
    rule = _RULES.get(type(node))
    return rule(node) if rule else node


def _double(node: exp.Expression) -> exp.Expression:
    return exp.cast(node.copy(), "DOUBLE")


def _bits(node: exp.Expression) -> exp.Expression:
    """64 bits with a sign: what Spark's operators of bits take."""
    if node.is_type(exp.DType.UBIGINT):
        high = exp.Literal.number("9223372036854775808")
        whole = exp.Literal.number("18446744073709551616")
        wrapped = exp.case().when(
            exp.GTE(this=node.copy(), expression=high), exp.Sub(this=node.copy(), expression=whole)
        )
        return exp.cast(wrapped.else_(node.copy()), "BIGINT")
    return exp.cast(node.copy(), "BIGINT")


def _type(node: exp.DataType) -> exp.Expression:
    made = TYPES.get(node.this)
    return exp.DataType.build(made, dialect="spark") if made else node


def _div(node: exp.Div) -> exp.Expression:
    return exp.Div(this=_double(node.this), expression=_double(node.expression))


def _order_key(node: exp.Expression) -> exp.Expression:
    if isinstance(node, exp.Tuple):
        return call("struct", *(each.copy() for each in node.expressions))
    return node.copy()


def _extreme(name: str) -> Callable[[exp.Expression], exp.Expression]:
    def rule(node: exp.Expression) -> exp.Expression:
        value, key = node.this, node.expression
        condition = exp.and_(
            exp.Not(this=exp.Is(this=exp.paren(value.copy()), expression=exp.Null())),
            exp.Not(this=exp.Is(this=exp.paren(_order_key(key)), expression=exp.Null())),
        )
        picked = exp.case().when(condition, _order_key(key))
        return call(name, value.copy(), picked)

    return rule


def _any_value(node: exp.AnyValue) -> exp.Expression:
    return node if isinstance(node.parent, exp.IgnoreNulls) else exp.IgnoreNulls(this=node.copy())


def _anonymous(node: exp.Anonymous) -> exp.Expression:
    name = node.name.lower()
    if name == "getvariable":
        return exp.Null()
    if name == "hash":
        # Hashes are added up: 64 bits are not enough for that.
        return exp.cast(call("xxhash64", *(each.copy() for each in node.expressions)), "DECIMAL(38, 0)")
    if name == "list_select":
        values, places = node.expressions
        place = exp.to_identifier("place")
        got = call("get", values.copy(), exp.cast(exp.Sub(this=place.copy(), expression=exp.Literal.number(1)), "INT"))
        return call("transform", places.copy(), exp.Lambda(this=got, expressions=[place]))
    if name in FUNCTIONS:
        return call(FUNCTIONS[name], *(each.copy() for each in node.expressions))
    return node


def _hex(node: exp.Hex | exp.LowerHex) -> exp.Expression:
    if not node.this.is_type(*exp.DataType.INTEGER_TYPES):
        return node
    made = call("conv", exp.cast(node.this.copy(), "TEXT"), exp.Literal.number(10), exp.Literal.number(16))
    return exp.Lower(this=made) if isinstance(node, exp.LowerHex) else made


def _hex_text(node: exp.Cast | exp.TryCast) -> exp.Expression:
    """Read digits after 0x as a number."""
    text = node.this.unnest()
    if isinstance(text, exp.DPipe) and isinstance(text.this, exp.Literal) and text.this.name == "0x":
        digits = call("conv", text.expression.copy(), exp.Literal.number(16), exp.Literal.number(10))
        return type(node)(this=digits, to=node.to.copy())
    return node


def _similar(node: exp.SimilarTo) -> exp.Expression:
    if not isinstance(node.expression, exp.Literal):
        raise NotImplementedError("SIMILAR TO with a pattern that is no text")
    return exp.RegexpLike(this=node.this.copy(), expression=exp.Literal.string(f"^(?:{node.expression.name})$"))


def _shift(node: exp.BitwiseLeftShift) -> exp.Expression:
    return call("shiftleft", _bits(node.this), exp.cast(node.expression.copy(), "INT"))


def _and(node: exp.BitwiseAnd) -> exp.Expression:
    return exp.paren(exp.BitwiseAnd(this=_bits(node.this), expression=_bits(node.expression)))


def _is(node: exp.Expression) -> exp.Expression:
    for name in ("this", "expression"):
        part = node.args.get(name)
        if isinstance(part, (exp.Predicate, exp.Not, exp.Connector)):
            node.set(name, exp.paren(part.copy()))
    return node


_PLACE = re.compile(r"(\{\{|\}\})|\{(?::([^}]*))?\}")


def _format(node: exp.Format) -> exp.Expression:
    text = node.this
    if not isinstance(text, exp.Literal):
        raise NotImplementedError("a format that is no text")
    words = [*node.expressions]
    shown: list[exp.Expression] = []

    def spelled(found: re.Match[str]) -> str:
        if found[1]:
            return found[1][0]
        if len(shown) == len(words):
            raise NotImplementedError("a format with more places than words")
        java, word = _place(found[2] or "", words[len(shown)].copy())
        shown.append(word)
        return java

    made_text = _PLACE.sub(spelled, text.name.replace("%", "%%"))
    made = call("format_string", exp.Literal.string(made_text), *shown)
    # Without one of its words there is no text.
    there = [exp.Not(this=exp.Is(this=exp.paren(each.copy()), expression=exp.Null())) for each in words]
    return exp.case().when(exp.and_(*there), made) if there else made


def _place(how: str, word: exp.Expression) -> tuple[str, exp.Expression]:
    """Return how Java writes a place of a format, and what it writes there: an unsigned number of 64 bits is a Decimal in Spark, which Java takes as
    a text alone."""
    if how in ("", "d"):
        return "%s", word
    if how == "x":
        digits = call("conv", exp.cast(word, "TEXT"), exp.Literal.number(10), exp.Literal.number(16))
        return "%s", exp.Lower(this=digits)
    if re.fullmatch(r"\d*(\.\d+)?f", how):
        return f"%{how}", exp.cast(word, "DOUBLE")
    if re.fullmatch(r"\d+[dx]", how):
        return f"%{how}", exp.cast(word, "BIGINT")
    raise NotImplementedError(f"a format with {{:{how}}}")


def _filter(node: exp.Filter) -> exp.Expression:
    """Put the condition of an aggregate over a window into it: it takes no FILTER there."""
    if not isinstance(node.parent, exp.Window):
        return node
    condition, what = node.expression.this, node.this.copy()
    if isinstance(what, exp.Count) and isinstance(what.this, exp.Star):
        what.set("this", exp.case().when(condition.copy(), exp.Literal.number(1)))
    else:
        what.set("this", exp.case().when(condition.copy(), what.this.copy()))
    return what


def _cte(node: exp.CTE) -> exp.Expression:
    node.set("materialized", None)
    return node


def _qualify(node: exp.Select) -> None:
    """QUALIFY becomes a column, and a condition on it around the SELECT."""
    condition = node.args.get("qualify")
    if condition is None:
        return
    names = [each.alias_or_name for each in node.expressions]
    inner = exp.Select(
        **{name: value for name, value in node.args.items() if name not in ("with_", "distinct", "qualify", "order")}
    )
    inner.append("expressions", condition.this.copy().as_("is_qualified"))
    order = node.args.get("order")
    for number, each in enumerate(order.expressions if order else ()):
        inner.append("expressions", each.this.copy().as_(f"order_{number}"))
        each.set("this", exp.column(f"order_{number}", "qualified"))
    for name in ("from_", "joins", "where", "group", "having", "windows", "laterals"):
        node.set(name, None)
    node.set("qualify", None)
    node.set("expressions", [exp.column(name, "qualified").as_(name) for name in names])
    node.set("from_", exp.From(this=inner.subquery("qualified")))
    node.set("where", exp.Where(this=exp.column("is_qualified", "qualified")))


_NEED_ORDER = (exp.RowNumber, exp.DenseRank, exp.Rank)


def _window(node: exp.Window) -> exp.Expression:
    """Give numbers of rows an order: Spark wants one, and it has to be the same each time."""
    select = node.parent_select
    if isinstance(node.this, _NEED_ORDER) and not node.args.get("order") and not node.args.get("alias") and select:
        columns = [column for each in select.expressions for column in each.find_all(exp.Column)]
        order = dict.fromkeys(column.sql() for column in columns)
        node.set(
            "order",
            exp.Order(expressions=[exp.Ordered(this=exp.maybe_parse(name), nulls_first=True) for name in order]),
        )
    return node


def _grouped(node: exp.Select) -> None:
    """Make an aggregate of a subquery beside aggregates: it has one value for all rows of a group."""
    if not node.args.get("group") and not own_aggregates(node):
        return
    parts = [*node.expressions, node.args.get("having")]
    for each in [each for part in parts if part for each in part.find_all(exp.Subquery)]:
        if each.find_ancestor(exp.AggFunc, exp.In, exp.Exists, exp.Select) is node:
            bare = each.copy()
            bare.set("alias", None)
            made = call("any_value", bare)
            each.replace(exp.alias_(made, each.alias) if each.alias else made)


def _named_windows(node: exp.Select) -> None:
    """Each window says itself what it is: Spark reads `OVER w - x` as a window of the name `w-x`."""
    named = {each.name: each for each in node.args.get("windows") or ()}
    for each in list(own(node)):
        if isinstance(each, exp.Window) and each.args.get("alias"):
            known = named[each.args["alias"].name]
            each.set("alias", None)
            for part in ("partition_by", "order", "spec"):
                value = known.args.get(part)
                if value is not None and not each.args.get(part):
                    each.set(part, [one.copy() for one in value] if isinstance(value, list) else value.copy())
    node.set("windows", None)


def _by_name(node: exp.SetOperation) -> exp.Expression:
    if not node.args.get("by_name"):
        return node
    sides = [side.unnest() for side in (node.this, node.expression)]
    if not all(isinstance(side, exp.Select) for side in sides):
        raise NotImplementedError("UNION BY NAME of more than two")
    have = [{each.alias_or_name: each for each in side.expressions} for side in sides]
    names = list(dict.fromkeys([*have[0], *have[1]]))
    for side, columns in zip(sides, have, strict=True):
        side.set("expressions", [columns[name] if name in columns else exp.Null().as_(name) for name in names])
    node.set("by_name", None)
    return node


def _select(node: exp.Select) -> exp.Expression:
    unnested_together(node)
    _grouped(node)
    _named_windows(node)
    joins = node.args.get("joins") or ()
    for join in joins:
        if join.method == "ASOF":
            _asof(join)
    return node


_SWAPPED = {exp.GTE: exp.LTE, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.LT: exp.GT}
_OUTSIDE = {
    exp.GTE: (exp.Lead, exp.LT),
    exp.GT: (exp.Lead, exp.LTE),
    exp.LTE: (exp.Lag, exp.GT),
    exp.LT: (exp.Lag, exp.GTE),
}


def _asof(join: exp.Join) -> None:
    """Let each row of the joined side hold from its own value to the next one's, of rows that are equal otherwise."""
    alias = join.this.alias_or_name
    equal, bound = [], None
    for each in _conditions(join.args["on"]):
        here = [_tables(side) == {alias} for side in (each.this, each.expression)]
        if isinstance(each, (exp.EQ, exp.NullSafeEQ)) and any(here):
            equal.append(each.this if here[0] else each.expression)
        elif type(each) in _SWAPPED:
            bound = each if here[1] else _SWAPPED[type(each)](this=each.expression, expression=each.this)
        else:
            raise NotImplementedError(f"ASOF JOIN on {each.sql()}")
    if bound is None:
        raise NotImplementedError("ASOF JOIN without a bound")
    step, outside = _OUTSIDE[type(bound)]
    value = bound.expression
    order = exp.Order(expressions=[exp.Ordered(this=value.copy(), nulls_first=True)])
    edge = exp.Window(this=step(this=value.copy()), partition_by=[each.copy() for each in equal], order=order)
    every = exp.Column(this=exp.Star(), table=exp.to_identifier(alias))
    inner = exp.select(every, edge.as_("asof_edge")).from_(join.this.copy())
    join.set("this", inner.subquery(alias))
    end = exp.column("asof_edge", alias)
    in_reach = exp.or_(exp.Is(this=end, expression=exp.Null()), outside(this=bound.this.copy(), expression=end.copy()))
    join.set("on", exp.and_(join.args["on"].copy(), exp.paren(in_reach)))
    join.set("method", None)


def _conditions(node: exp.Expression) -> list[exp.Expression]:
    node = node.unnest()
    if isinstance(node, exp.And):
        return [*_conditions(node.this), *_conditions(node.expression)]
    return [node]


def _tables(node: exp.Expression) -> set[str]:
    return {column.table for column in node.find_all(exp.Column)}


def _regexp_replace(node: exp.RegexpReplace) -> exp.Expression:
    """Replace the first match only, unless the letter g says all: Spark replaces all."""
    pattern, made = node.expression, node.args.get("replacement")
    if not isinstance(pattern, exp.Literal) or not isinstance(made, exp.Literal):
        raise NotImplementedError("regexp_replace with a pattern or a text that is not written out")
    letters = node.args.get("modifiers")
    is_all = letters is not None
    moved = 0 if is_all else 1
    parts = re.split(r"\\(\d)", made.name.replace("$", r"\$"))
    text = "".join(f"${int(part) + moved}" if number % 2 else part for number, part in enumerate(parts))
    words = (pattern.copy(), exp.Literal.string(text))
    if not is_all:
        words = (exp.Literal.string(rf"^([\s\S]*?)(?:{pattern.name})"), exp.Literal.string(f"$1{text}"))
    return call("regexp_replace", node.this.copy(), *words)


_RULES: dict[type, Callable[..., exp.Expression]] = {
    exp.DataType: _type,
    exp.Div: _div,
    exp.ArgMax: _extreme("max_by"),
    exp.ArgMin: _extreme("min_by"),
    exp.AnyValue: _any_value,
    exp.ArrayAgg: listed,
    exp.First: first,
    exp.GroupConcat: joined,
    exp.PercentileDisc: quantile,
    exp.Unnest: source,
    exp.Table: source,
    exp.Length: length,
    exp.Anonymous: _anonymous,
    exp.SimilarTo: _similar,
    exp.BitwiseLeftShift: _shift,
    exp.BitwiseAnd: _and,
    exp.Is: _is,
    exp.NullSafeEQ: _is,
    exp.NullSafeNEQ: _is,
    exp.EQ: _is,
    exp.NEQ: _is,
    exp.GenerateSeries: series,
    exp.Bracket: bracket,
    exp.Format: _format,
    exp.Filter: _filter,
    exp.CTE: _cte,
    exp.Select: _select,
    exp.Cast: _hex_text,
    exp.TryCast: _hex_text,
    exp.Hex: _hex,
    exp.LowerHex: _hex,
    exp.Union: _by_name,
    exp.Window: _window,
    exp.RegexpReplace: _regexp_replace,
}


def spark_type(kind: str) -> str | None:
    """Return what Spark calls a type of DuckDB; None for one that stays what Spark makes of it."""
    return _NAMES.get(kind)


_NAMES = {
    "BIGINT": "BIGINT", "UINTEGER": "BIGINT", "INTEGER": "INT", "USMALLINT": "INT", "SMALLINT": "SMALLINT", "UTINYINT": "SMALLINT",
    "TINYINT": "TINYINT", "UBIGINT": "DECIMAL(20, 0)", "HUGEINT": "DECIMAL(38, 0)", "DOUBLE": "DOUBLE", "FLOAT": "FLOAT",
    "VARCHAR": "STRING", "BOOLEAN": "BOOLEAN",
}  # fmt: skip
