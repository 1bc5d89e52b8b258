"""The page for the ticket: the report's own text, nothing from elsewhere, hostile names as text, small enough to mail."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from perfcase.case import query, store
from perfcase.summary import write_html, write_markdown
from perfcase.summary.html import SIZE_MAX
from perfcase.text import safe
from tests.support.cli import fail, succeed
from tests.support.fakecase import make_case
from tests.support.imports import SAMPLES, placed

ROOT = Path(__file__).parents[2]
HOSTILE = "</title></script><script>alert(1)</script><img src=x onerror=alert(2)>``` \x1b[2J\u202e&lt; |"
VOID = {"meta", "img", "br", "link", "input"}


class Reader(HTMLParser):
    """Tags, attributes and text of a page; every element must be closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.text.append(data)


def check_self_contained(text: str) -> Reader:
    """Nothing is loaded, no script runs but the flame graph's, which the policy names."""
    assert len(text.encode()) < SIZE_MAX
    page = Reader(text)
    names = [tag for tag, _ in page.tags]
    assert not {"img", "link", "iframe", "object", "embed", "base", "form"} & set(names)
    loading = [(tag, name, value) for tag, attributes in page.tags for name, value in attributes.items()
               if name.startswith("on") or name in ("src", "srcset", "href", "xlink:href", "action")]  # fmt: skip
    assert [entry for entry in loading if not re.fullmatch(r"#[sf]\d+", entry[2] or "")] == []
    assert "url(" not in text
    assert "@import" not in text
    scripts = re.findall(r"<script><!\[CDATA\[(.*?)\]\]></script>", text, re.DOTALL)
    assert len(scripts) == names.count("script") == names.count("style") - 1
    (policy,) = (a["content"] for tag, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-")
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"script-src 'sha256-{digest}';" in policy
    return page


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return store.default_folder(
        placed(SAMPLES / "x86_64-scheduling" / "x.perfcase", tmp_path_factory.mktemp("summary"))
    )


@pytest.fixture(scope="module")
def body(case: Path) -> str:
    """The report after its findings."""
    report = succeed("report", case.name, cwd=case.parent)
    return report[report.index("What this is") :]


def words(text: str) -> list[str]:
    return re.findall(r"[^\s│─↳]+", text)


def test_the_page_says_what_the_report_says(case: Path, body: str) -> None:
    """Every table cell and line of the report is on the page, in the same order."""
    with query.connect(case) as connection:
        page = check_self_contained(write_html(connection, case.name))
        findings = connection.execute("SELECT title, subject, message, means, next, evidence FROM finding").fetchall()
        coverage = connection.execute(
            "SELECT view_name FROM view_coverage WHERE NOT is_fed AND kind = 'view'"
        ).fetchall()
    said = " ".join(page.text)
    assert findings
    for row in findings:
        for text in row:
            assert " ".join(words(safe(text))) in " ".join(words(said))
    assert coverage
    assert {name for (name,) in coverage} <= set(re.findall(r"\w+", said))
    remaining = iter(words(said))
    assert [word for word in words(body) if word not in remaining] == []
    assert len(words(body)) > 1500


def test_markdown_says_what_the_report_says(case: Path, body: str) -> None:
    with query.connect(case) as connection:
        text = write_markdown(connection, case.name)
    headings = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    assert headings[:3] == ["In short", "Findings", "What this is"]
    assert headings[-1] == "What this capture cannot answer"
    ours = text[text.index("## What this is") :].replace("```text", "").replace("```", "").replace("## ", "")
    assert words(ours)[: len(words(body))] == words(body)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = {
        "thread": [{"utid": 1, "tid": 10, "pid": 10, "comm": HOSTILE, "first_ts_ns": 0, "last_ts_ns": 9}],
        "perf_event": [{"event_id": 0, "name": "cycles", "is_tracepoint": False}],
        "dso": [{"dso_id": 0, "name": HOSTILE, "path": HOSTILE, "kind": "user"}],
        "frame": [
            {"frame_id": n, "dso_id": 0, "address": n, "is_kernel": False, "is_inlined": False,
             "symbol": f"{HOSTILE}{n}" + '"' * 400}
            for n in range(600)
        ],
        "sample": [
            {"sample_id": n, "ts_ns": n, "utid": 1, "event_id": 0, "period": 1, "cpu_mode": 2, "frame_id": n}
            for n in range(600)
        ],
        "thread_state": [
            {"ts_ns": 0, "duration_ns": 5, "utid": 1, "state": state, "is_ambiguous": False, "is_open": False}
            for state in ("running", "sleeping", HOSTILE)
        ],
        "import_issue": [{"severity": "warning", "source": HOSTILE, "count": 1, "message": HOSTILE, "hint": HOSTILE}],
        "capture": [{"name": HOSTILE, "hostname": HOSTILE, "kernel_release": HOSTILE, "os": HOSTILE}],
    }  # fmt: skip
    return make_case(tmp_path_factory.mktemp("hostile") / "x.case", rows)


def test_hostile_names_are_text(hostile: Path) -> None:
    with query.connect(hostile) as connection:
        page = check_self_contained(write_html(connection, HOSTILE))
        assert safe(HOSTILE) in " ".join(page.text)
        markdown = write_markdown(connection, HOSTILE)
    assert "\x1b" not in markdown
    assert "\u202e" not in markdown
    fences = [line for line in markdown.splitlines() if re.match("```", line)]
    outside, fence = [], None
    for line in markdown.splitlines():
        if fence is None and (opened := re.fullmatch("(```+)text", line)):
            fence = opened[1]
        elif line == fence:
            fence = None
        elif fence is None:
            outside.append(line)
    assert fence is None
    assert fences
    assert [line for line in outside if line and not re.fullmatch(r"##? [\w ,:/-]+", line)] == []


def test_texts_of_any_length_fit_a_mail(tmp_path: Path) -> None:
    name = "n" * 2_000_000
    rows = {
        "capture": [{"name": "x", "note": name, "command": name, "os": name}],
        "import_issue": [{"severity": "warning", "count": 1, "message": name, "hint": name}],
    }
    with query.connect(make_case(tmp_path / "x.case", rows)) as connection:
        check_self_contained(write_html(connection, name))


def test_an_empty_case(tmp_path: Path) -> None:
    with query.connect(make_case(tmp_path / "x.case", {})) as connection:
        check_self_contained(write_html(connection, "x"))
        assert write_markdown(connection, "x").startswith("# perfcase summary\n")


def test_the_command(hostile: Path, tmp_path: Path) -> None:
    assert succeed("summary", hostile, "-o", tmp_path / "ticket.html") == ""
    assert succeed("summary", hostile, "-o", tmp_path / "ticket.MD") == ""
    check_self_contained((tmp_path / "ticket.html").read_text(encoding="utf-8"))
    assert (tmp_path / "ticket.MD").read_text(encoding="utf-8").startswith("# perfcase summary\n")
    assert "is .html or .md" in fail(2, "summary", hostile, "-o", tmp_path / "x.pdf")
    assert "cannot be written" in fail(8, "summary", hostile, "-o", tmp_path / "no" / "x.html")
