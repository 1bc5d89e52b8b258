"""Rows that come column by column are those that come row by row: to the last digit, with every text, and an answer that is cut is an error."""

from __future__ import annotations

import json

from tests.web.script import run

READ = """
import { rows, rowsByColumn, ApiError } from "FILE";
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const given = JSON.parse(Buffer.concat(chunks).toString());
const asked = [];
const told = async (way, answer) => {
  globalThis.fetch = async (path) => (asked.push(path), new Response(answer.text, { status: answer.status }));
  try {
    return await way("captures/x/views/thread_lane", { limit: 5 });
  } catch (error) {
    return error instanceof ApiError ? [error.kind, error.message] : [String(error)];
  }
};
const found = [];
for (const [byRow, byColumn] of given) found.push([await told(rows, byRow), await told(rowsByColumn, byColumn)]);
const plain = (_, value) => (typeof value === "bigint" ? `${value}n` : value);
process.stdout.write(JSON.stringify({ found, asked }, plain));
"""


def answers(rows: list[dict]) -> list[dict]:
    names = ["ts_ns", "comm", "ratio", "list"]
    columns = {name: [row[name] for row in rows] for name in names}
    return [{"text": json.dumps(each), "status": 200} for each in (rows, columns)]


def test_rows_by_column_are_the_rows() -> None:
    row = {"ts_ns": 9223372036854775807, "comm": "<b>\u202e\x1f\n", "ratio": 0.1, "list": [1, None]}
    rows = [row, {**row, "ts_ns": 9007199254740993}, dict.fromkeys(row), {**row, "ts_ns": 5, "comm": ""}]
    cut, refused = answers(rows), answers(rows)
    for each in cut:
        each["text"] = each["text"][:-30]
    for each in refused:
        each.update(status=504, text='{"error": {"kind": "timeout", "message": "it took too long"}}')
    uneven = [cut[0], {"text": '{"ts_ns": [1, 2], "comm": ["a"]}', "status": 200}]
    told = run("api/fetch.ts", READ, json.dumps([answers(rows), answers([]), cut, refused, uneven]))
    (by_row, by_column), empty, broken, late, other = told["found"]
    assert other == broken
    assert by_column == by_row
    assert [each["ts_ns"] for each in by_column] == ["9223372036854775807n", "9007199254740993n", None, 5]
    assert empty == [[], []]
    assert broken == [["cut", "the answer is not whole"]] * 2
    assert late == [["timeout", "it took too long"]] * 2
    assert told["asked"][:2] == [
        "v1/captures/x/views/thread_lane?limit=5",
        "v1/captures/x/views/thread_lane?limit=5&format=columns",
    ]
