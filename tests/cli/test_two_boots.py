"""A folder of copies of /proc from before and after a reboot: what each boot says stays what it is, and nothing is compared
across the reboot."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from perfcase.case import query, store
from perfcase.catalogue.schema import quote
from perfcase.catalogue.views import load_views
from tests.oracles.test_clock_step import SECOND, START_NS, WALL_NS, files

REBOOT_NS = 7_000 * SECOND
"""From one boot to the next."""
# When a row is, and keys that a capture gives out in its own order.
OWN = {"ts_ns", "snapshot", "snapshot_id", "utid", "upid"}


def moments(folder: Path, numbers: range, booted_ns: int = 0) -> Path:
    """Copies a second apart. The counters go on from boot to boot, so that a difference across it would look like a rate."""
    for number in numbers:
        for path, text in files(number, WALL_NS + number * SECOND + booted_ns).items():
            copy = folder / f"moment-{number}" / path.removeprefix("/proc/").replace("/sys/fs/cgroup/", "cgroup_")
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text)
        (folder / f"moment-{number}" / "uptime").write_text(f"{START_NS // SECOND + number}.00 0.00\n")
    return folder


def rates(folder: Path) -> dict[str, Counter]:
    """The rows of each view that has intervals."""
    found = {}
    with query.connect(store.open_case(folder).folder) as connection:
        for name, view in load_views().items():
            names = [column.name for column in view.columns if column.name not in OWN]
            if "interval_ns" in names:
                found[name] = Counter(
                    connection.sql(f"SELECT {', '.join(map(quote, names))} FROM {quote(name)}").fetchall()
                )
    return found


def test_no_rate_across_a_reboot(tmp_path: Path) -> None:
    before, after = range(3), range(100, 104)
    both = moments(moments(tmp_path / "both", before), after, REBOOT_NS)
    alone = rates(moments(tmp_path / "before", before)), rates(moments(tmp_path / "after", after, REBOOT_NS))
    together = rates(both)
    assert sum(1 for rows in together.values() if rows) >= 8
    for name, rows in together.items():
        assert rows == alone[0][name] + alone[1][name], name
    with query.connect(store.open_case(both).folder) as connection:
        issues = connection.sql("SELECT severity, kind, message FROM import_issue WHERE kind = 'reboot'").fetchall()
    assert [issue[:2] for issue in issues] == [("warning", "reboot")]
    assert "moment-100: this is another boot, or another host" in issues[0][2]
