"""`make bench`: 100,000 distinct addresses in 300 objects of 2,000 C++ functions get their names.

    python analyzer/benches/symbols.py [--runs N]

What is measured is what `perfcase symbolize` does after its start: the tables are read, the objects found by build id, opened and
searched, and the tables written. The best of the runs counts: noise only ever adds time.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import duckdb

from perfcase import _core
from perfcase.catalogue.schema import load_tables

OBJECTS, FUNCTIONS, ADDRESSES = 300, 2000, 100_000
GOAL_S = 2.0
BUILD_ID = bytes(range(1, 21))


def make_objects(folder: Path) -> int:
    """Objects that differ in their build ids alone; gives the file offset of their code."""
    source = "".join(
        f"int _ZN4shop6basketILi{n}EE5totalEv(int x) {{ return x * {n} + 1; }}\n" for n in range(FUNCTIONS)
    )
    (folder / "a.c").write_text(source)
    build = ["gcc", "-O1", "-shared", "-fPIC", f"-Wl,--build-id=0x{BUILD_ID.hex()}", "-o", "a.so", "a.c"]
    subprocess.run(build, cwd=folder, check=True)
    whole = (folder / "a.so").read_bytes()
    headers = subprocess.run(["readelf", "-SW", "a.so"], cwd=folder, check=True, capture_output=True, text=True).stdout
    text = next(line for line in headers.splitlines() if " .text " in line).split("PROGBITS")[1].split()
    for number in range(OBJECTS):
        build_id = number.to_bytes(4, "big") + BUILD_ID[4:]
        place = folder / "dir" / ".build-id" / build_id.hex()[:2] / build_id.hex()[2:]
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(whole.replace(BUILD_ID, build_id))
    return int(text[1], 16)


def make_tables(folder: Path, code: int) -> None:
    """A case's frames, callchains and objects."""
    folder.mkdir()
    rest = BUILD_ID[4:].hex()
    given = {
        "dso": {
            "dso_id": "i", "name": "'a.so'", "path": "'/a.so'", "kind": "'user'",
            "build_id": f"printf('%08x', i) || '{rest}'",
        },
        "frame": {
            "frame_id": "i", "dso_id": f"i % {OBJECTS}", "address": f"{code} + 256 + i // {OBJECTS} * 23",
            "is_kernel": "false", "missing_reason": "'file not in capture'", "is_inlined": "false",
            "is_return_address": "false",
        },
        "stack": {"stack_id": "i", "frame_ids": "[i]", "depth": "1", "kernel_depth": "0"},
        "function_code": {},
        "function_line": {},
    }  # fmt: skip
    for name, values in given.items():
        columns = ", ".join(
            f"({values.get(column.name, 'NULL')})::{column.sql_type} AS {column.name}"
            for column in load_tables()[name].columns
        )
        number = 0 if not values else OBJECTS if name == "dso" else ADDRESSES
        sql = f"SELECT {columns} FROM range({number}) AS t(i)"
        duckdb.connect().sql(sql).write_parquet(str(folder / f"{name}.parquet"), compression="zstd")


def main() -> None:
    """Runs it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    folder = Path(tempfile.mkdtemp(prefix="perfcase-symbols-"))
    try:
        make_tables(folder / "tables", make_objects(folder))
        times = []
        for _ in range(runs):
            shutil.rmtree(folder / "out", ignore_errors=True)
            (folder / "out").mkdir()
            begin = time.monotonic()
            objects = _core.symbolize(str(folder / "tables"), str(folder / "out"), [str(folder / "dir")])
            times.append(time.monotonic() - begin)
            named = sum(row["named_count"] for row in objects)
            assert (len(objects), named) == (OBJECTS, ADDRESSES), (len(objects), named)
        verdict = "met" if min(times) < GOAL_S else "MISSED"
        print(f"{ADDRESSES:,} addresses in {OBJECTS} objects named in {min(times):.2f} s (goal {GOAL_S} s: {verdict})")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
