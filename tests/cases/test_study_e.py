"""E, "a high rate of paging": a file read in passes that fits the page cache, and one that does not."""

from __future__ import annotations

from tests.cases.conftest import QueryRows

FITS, LARGER = "e-page-cache/fits.perfcase", "e-page-cache/larger.perfcase"


def test_the_finding_names_the_cause_and_who_reads(rows: QueryRows) -> None:
    found = {row["finding"]: row for row in rows("sql", LARGER, "FROM finding")}
    assert found["page_cache_too_small"]["severity"] == "critical"
    assert "passes" in found["page_cache_too_small"]["message"]
    assert "page_cache_too_small" not in {row["finding"] for row in rows("sql", FITS, "FROM finding")}


def test_the_file_and_its_size_are_named(rows: QueryRows) -> None:
    row = next(row for row in rows("view", "working_set", LARGER) if row["process"] == "passes")
    assert row["path"] == "/var/tmp/passes.file"
    assert (int(row["extent_bytes"]), row["exceeds_cache"]) == (208 << 20, "true")
    assert not [row for row in rows("view", "working_set", FITS) if row["exceeds_cache"] == "true"]


def test_diff_has_disk_cache_and_memory_in_one_place(rows: QueryRows) -> None:
    views = {line["view"] for line in rows("diff", FITS, LARGER)[:12]}
    assert {"disk_utilization", "page_cache", "paging", "working_set"} <= views


def test_reads_are_as_large_as_read_ahead(rows: QueryRows) -> None:
    """128 KiB each, as the 128 to 255 KB of the publication's bitesize."""
    sizes = rows(
        "sql",
        LARGER,
        "SELECT sum(request_count) AS n, bucket_min_bytes AS size FROM block_size WHERE comm = 'passes' GROUP BY 2 ORDER BY 1 DESC",
    )
    assert int(sizes[0]["size"]) == 128 << 10
    assert int(sizes[0]["n"]) > 0.9 * sum(int(row["n"]) for row in sizes)
