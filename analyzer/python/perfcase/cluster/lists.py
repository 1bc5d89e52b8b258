"""Lists in the words of Apache Spark: made of a group's rows in an order, unnested, indexed from 1 as DuckDB does."""

from __future__ import annotations

from sqlglot import exp

from perfcase.cluster.keyed import own


def call(name: str, *words: exp.Expression | str) -> exp.Expression:
    return exp.Anonymous(
        this=name, expressions=[exp.convert(each) if isinstance(each, str) else each for each in words]
    )


def _where(node: exp.Expression, what: exp.Expression) -> exp.Expression:
    """Return what an aggregate takes of a row: nothing, where its FILTER does not hold."""
    condition = node.meta.get("where")
    return exp.case().when(condition.copy(), what) if condition is not None else what


def _in_order(node: exp.Expression) -> exp.Expression:
    """Return a list of a group's values in an order, each a structure with the value as ``value``."""
    order = node.this
    keys, down = [], {bool(each.args.get("desc")) for each in order.expressions}
    for each in order.expressions:
        if each.args.get("desc") and len(down) > 1:
            if not each.this.is_type(exp.DType.UNKNOWN, *exp.DataType.NUMERIC_TYPES):
                raise NotImplementedError("a list in an order of both directions")
            keys.append(exp.Neg(this=exp.paren(each.this.copy())))
        else:
            keys.append(each.this.copy())
    named = [key.as_(f"key_{number}") for number, key in enumerate(keys)]
    collected = call("collect_list", _where(node, call("struct", *named, order.this.copy().as_("value"))))
    return call("sort_array", collected, exp.Boolean(this=down != {True}))


def _picked(values: exp.Expression) -> exp.Expression:
    name = exp.to_identifier("e")
    value = exp.Dot(this=name.copy(), expression=exp.to_identifier("value"))
    return call("transform", values, exp.Lambda(this=value, expressions=[name]))


def listed(node: exp.ArrayAgg) -> exp.Expression:
    """Return a list of a group's values; NULL where there are none, as DuckDB does."""
    made = _values(node)
    return exp.case().when(exp.GT(this=call("size", made), expression=exp.Literal.number(0)), made.copy())


def _values(node: exp.ArrayAgg) -> exp.Expression:
    if isinstance(node.this, exp.Order) and not isinstance(node.this.this, exp.Distinct):
        return _picked(_in_order(node))
    what = node.this.this if isinstance(node.this, exp.Order) else node.this
    if isinstance(what, exp.Distinct):
        for each in node.this.expressions if isinstance(node.this, exp.Order) else ():
            if each.args.get("desc") or each.this != what.expressions[0]:
                raise NotImplementedError("a list of DISTINCT values in another order than their own")
        made = call("collect_set", _where(node, what.expressions[0].copy()))
        return call("array_sort", made) if isinstance(node.this, exp.Order) else made
    value = call("struct", what.copy().as_("value"))
    return _picked(call("collect_list", _where(node, value)))


def joined(node: exp.GroupConcat) -> exp.Expression:
    """Texts of a group in one. NULL is none of them; without any the whole is NULL."""
    items = exp.ArrayAgg(this=node.this.copy())
    items.meta.update(node.meta)
    values = _values(items)
    texts = call(
        "filter",
        values,
        exp.Lambda(
            this=exp.Not(this=exp.Is(this=exp.to_identifier("e"), expression=exp.Null())),
            expressions=[exp.to_identifier("e")],
        ),
    )
    separator = node.args.get("separator") or exp.Literal.string(",")
    return exp.case().when(
        exp.GT(this=call("size", texts), expression=exp.Literal.number(0)),
        call("array_join", texts.copy(), separator.copy()),
    )


def first(node: exp.First) -> exp.Expression:
    if not isinstance(node.this, exp.Order):
        return node
    return exp.Dot(this=call("get", _in_order(node), exp.Literal.number(0)), expression=exp.to_identifier("value"))


def quantile(node: exp.PercentileDisc) -> exp.Expression:
    if isinstance(node.parent, exp.WithinGroup) or node.expression is None:
        return node
    order = exp.Order(expressions=[exp.Ordered(this=_where(node, node.this.copy()))])
    made = [
        exp.WithinGroup(this=call("percentile_disc", each.copy()), expression=order.copy())
        for each in (node.expression.expressions if isinstance(node.expression, exp.Array) else [node.expression])
    ]
    return call("array", *made) if isinstance(node.expression, exp.Array) else made[0]


def _unnested(node: exp.Unnest | exp.GenerateSeries, alias: exp.TableAlias | None) -> exp.Expression:
    values = node.expressions if isinstance(node, exp.Unnest) else [node]
    if len(values) != 1 or alias is None:
        raise NotImplementedError("UNNEST of more than one list")
    name = alias.args["columns"][0] if alias.args.get("columns") else exp.to_identifier("unnest")
    rows = exp.select(call("explode", values[0].copy()).as_(name.copy()))
    return exp.Lateral(this=rows.subquery(), alias=exp.TableAlias(this=alias.this.copy()))


def source(node: exp.Expression) -> exp.Expression:
    """Rows of a list, as a source."""
    if isinstance(node, exp.Table) and isinstance(node.this, exp.Func):
        return _unnested(node.this, node.args.get("alias"))
    if isinstance(node, exp.Unnest) and isinstance(node.parent, (exp.From, exp.Join)):
        return _unnested(node, node.args.get("alias"))
    return node


def length(node: exp.Length) -> exp.Expression:
    of = node.this
    is_list = of.is_type(exp.DType.ARRAY, exp.DType.LIST, exp.DType.MAP) or isinstance(
        of, (exp.ArrayFilter, exp.Split, exp.ArrayAgg, exp.ArrayDistinct)
    )
    return call("size", of.copy()) if is_list else node


def series(node: exp.GenerateSeries) -> exp.Expression:
    start, end = exp.cast(node.args["start"].copy(), "BIGINT"), exp.cast(node.args["end"].copy(), "BIGINT")
    last = (
        exp.Sub(this=exp.paren(end.copy()), expression=exp.Literal.number(1))
        if node.args.get("is_end_exclusive")
        else end
    )
    step = node.args.get("step")
    words = [start, last] + ([exp.cast(step.copy(), "BIGINT")] if step else [])
    there = exp.GTE(this=last.copy(), expression=start.copy())
    return exp.case().when(there, call("sequence", *words)).else_(exp.cast(call("array"), "ARRAY<BIGINT>"))


def bracket(node: exp.Bracket) -> exp.Expression:
    (index,) = node.expressions
    of = node.this
    if isinstance(index, exp.Slice):
        start = index.this.copy() if index.this else exp.Literal.number(1)
        name = "substr" if of.is_type(*exp.DataType.TEXT_TYPES) else "slice"
        if index.expression is None:
            length = exp.Literal.number(2147483647)
        else:
            length = call(
                "greatest",
                exp.Add(
                    this=exp.Sub(this=exp.paren(index.expression.copy()), expression=exp.paren(start.copy())),
                    expression=exp.Literal.number(1),
                ),
                exp.Literal.number(0),
            )
        return call(name, of.copy(), start, exp.cast(length, "INT"))
    if of.is_type(exp.DType.MAP) or (isinstance(index, exp.Literal) and index.is_string):
        return call("try_element_at", of.copy(), index.copy())
    if isinstance(index, exp.Neg):
        return call("try_element_at", of.copy(), exp.Literal.number(1 - int(index.this.name)))
    return call("get", of.copy(), exp.cast(index.copy(), "INT"))


def unnested_together(node: exp.Select) -> None:
    """Unnest several lists in step; the shorter ones go on with NULL."""
    lists = [each for each in own(node) if isinstance(each, (exp.Explode, exp.Unnest)) and each.parent_select is node]
    if len(lists) < 2:
        return
    values = [each.expressions[0] if isinstance(each, exp.Unnest) else each.this for each in lists]
    place = exp.to_identifier("place")
    items = [call("get", each.copy(), place.copy()).as_(f"value_{number}") for number, each in enumerate(values)]
    last = exp.Sub(
        this=call("greatest", *(call("size", each.copy()) for each in values)), expression=exp.Literal.number(1)
    )
    places = exp.case().when(
        exp.GTE(this=last.copy(), expression=exp.Literal.number(0)), call("sequence", exp.Literal.number(0), last)
    )
    rows = call("transform", places, exp.Lambda(this=call("struct", *items), expressions=[place]))
    lateral = exp.Lateral(
        this=exp.select(call("explode", rows).as_("row")).subquery(),
        alias=exp.TableAlias(this=exp.to_identifier("together")),
    )
    node.append("joins", exp.Join(this=lateral, kind="CROSS"))
    for number, each in enumerate(lists):
        each.replace(exp.Dot(this=exp.column("row", "together"), expression=exp.to_identifier(f"value_{number}")))
