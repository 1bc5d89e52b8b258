"""The source and assembly of a function on the page: the figures of the command line, why there is none, keys and axe-core."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from tests.api.conftest import upload, wait_ready
from tests.api.test_open import opened
from tests.oracles.test_annotate import SOURCE
from tests.support.cli import perfcase, process, succeed
from tests.web.chromium import Page
from tests.web.conftest import CALM, Site
from tests.web.test_accessible import violations

CELLS = "[...document.querySelectorAll('.flame-code tbody tr')].filter((row) => row.cells.length > 1).map((row) => [...row.cells].map((cell) => cell.innerText.trim()))"
"""The rows of instructions, as text."""


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return recordings of a program: with whole objects, and with symbol tables."""
    folder = tmp_path_factory.mktemp("code")
    (folder / "spin.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O1", "-o", "spin", "spin.c"], cwd=folder, check=True)
    for symbols in ("full", "table"):
        done = process("record", "--symbols", symbols, "-o", folder / f"{symbols}.perfcase", "--", folder / "spin")
        assert done.returncode == 0, done.stderr
    return {symbols: folder / f"{symbols}.perfcase" for symbols in ("full", "table")}


def shown(file: Path, *more: str) -> list[list[str]]:
    """Return what the command line says, in the words of the page's first two columns and its last."""
    rows = json.loads(perfcase("annotate", "spin", file, "--workload", "-f", "json", *more).stdout)
    return [[hex(row["address"]), str(row["sample_count"] or ""), row["instruction"] or ""] for row in rows]


def test_figures_are_those_of_the_command_line(
    page: Page, site: Site, client: httpx.Client, captures: dict[str, Path], look
) -> None:
    capture = upload(client, captures["full"])
    page.open(site.at(f"c/{capture}/flame?of=spin"))
    page.until(
        "[...document.querySelectorAll('.flame-sandwich button')].some((one) => one.innerText === 'Source and assembly')"
    )
    page.see(
        "[...document.querySelectorAll('.flame-sandwich button')].find((one) => one.innerText === 'Source and assembly').click()"
    )
    page.until("document.querySelector('.flame-code tbody')")
    page.until(CALM)
    assert "code=spin" in page.see("location.hash")
    assert [[row[0], row[1], row[4]] for row in page.see(CELLS)] == shown(captures["full"])
    assert page.see("document.querySelectorAll('.flame-code .is-hot').length") > 0
    assert "spin.c:3" in page.see("document.querySelector('.flame-code').innerText")
    look("code")
    assert violations(page) == []
    middle = (
        "SELECT quantile_disc(ts_ns, 0.5)::BIGINT AS at FROM sample JOIN frame USING (frame_id) WHERE symbol = 'spin'"
    )
    window = f"0s..{json.loads(succeed('sql', captures['full'], middle, '-f', 'json'))[0]['at'] // 10**6}ms"
    page.open(site.at(f"c/{capture}/flame?code=spin&code_in=spin&window={quote(window)}"))
    page.until("document.querySelector('.flame-code tbody')")
    page.until(CALM)
    assert [[row[0], row[1], row[4]] for row in page.see(CELLS)] == shown(
        captures["full"], "--only", f"window={window}"
    )


def test_no_assembly_says_why(page: Page, site: Site, client: httpx.Client, captures: dict[str, Path]) -> None:
    capture = upload(client, captures["table"])
    page.open(site.at(f"c/{capture}/flame?code=spin&code_in=spin"))
    page.has("No assembly: symbol tables only. Record with --symbols full", ".flame-code")
    page.until(CALM)
    assert [[row[0], row[1], row[4]] for row in page.see(CELLS)] == shown(captures["table"])


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the recording of two programs of one name, in two folders, that differ in their code."""
    folder = tmp_path_factory.mktemp("twins")
    for name, steps in (("first", "4000000"), ("second", "4100000")):
        (folder / name).mkdir()
        (folder / name / "spin.c").write_text(SOURCE.replace("4000000", steps))
        subprocess.run(["gcc", "-g", "-O1", "-o", "spin", "spin.c"], cwd=folder / name, check=True)
    command = ["sh", "-c", f"{folder}/first/spin; {folder}/second/spin; {folder}/second/spin"]
    done = process("record", "--symbols", "full", "-o", folder / "twins.perfcase", "--", *command)
    assert done.returncode == 0, done.stderr
    return folder / "twins.perfcase"


def test_objects_of_one_name_are_chosen_one_by_one(
    page: Page, site: Site, client: httpx.Client, twins: Path, look
) -> None:
    told = perfcase("annotate", "spin", twins)
    assert told.returncode == 2
    assert [("first" in line, "second" in line) for line in told.stderr.splitlines()[2:]] == [
        (False, True),
        (True, False),
    ]
    objects = json.loads(perfcase("annotate", "spin", twins, "--workload", "--objects", "-f", "json").stdout)
    assert [one["dso"] for one in objects] == ["spin", "spin"]
    capture = upload(client, twins)
    page.open(site.at(f"c/{capture}/flame?code=spin&code_in=spin"))
    page.until("document.querySelector('.flame-code tbody')")
    options = page.see("[...document.querySelectorAll('.flame-code select option')].map((one) => one.innerText)")
    assert options == [f"{one['path']}, build ID {one['build_id']}: {one['sample_count']:,} samples" for one in objects]
    look("code-objects")
    assert violations(page) == []
    for one in (*objects, objects[0]):
        page.see(
            f"((one) => {{ one.value = '{one['dso_id']}'; one.dispatchEvent(new Event('change', {{ bubbles: true }})); }})(document.querySelector('.flame-code select'))"
        )
        page.until(f"location.hash.includes('code_in={one['dso_id']}')")
        page.until(CALM)
        assert [[row[0], row[1], row[4]] for row in page.see(CELLS)] == shown(twins, "--dso", one["build_id"])


def test_stacks_that_the_graph_leaves_out_do_not_count(
    page: Page, site: Site, client: httpx.Client, captures: dict[str, Path]
) -> None:
    capture = upload(client, captures["full"])
    whole = shown(captures["full"])
    for shape, count in (("include=spin", None), ("exclude=spin", 0), ("include=%5Bspin%5D&collapse=spin", None)):
        page.open("about:blank")
        page.open(site.at(f"c/{capture}/flame?code=spin&code_in=spin&{shape}"))
        page.until("document.querySelector('.flame-code tbody')")
        page.until(CALM)
        cells = [[row[0], row[1], row[4]] for row in page.see(CELLS)]
        assert cells == (whole if count is None else [[at, "", text] for at, _, text in whole]), shape


def test_the_text_of_source_lines_of_perfcase_open(page: Page, captures: dict[str, Path], tmp_path: Path, look) -> None:
    folder = captures["full"].parent
    with opened(tmp_path, captures["full"], "--source", folder) as (_, address):
        place, capture = re.fullmatch(r"(http://127.0.0.1:\d+/[\w-]{32})/#/c/(\w{64})/overview", address).groups()
        with httpx.Client(base_url=place) as client:
            wait_ready(client, capture)
            # What a path of a capture may name is below the folder: the worker of the server can read nothing else.
            rows = client.get(f"/v1/captures/{capture}/annotate", params={"function": "spin", "format": "json"}).json()
        text = SOURCE.split("\n")
        assert {row["source_text"] for row in rows} == {text[row["source_line"] - 1].rstrip() for row in rows}
        page.open(f"{place}/#/c/{capture}/flame?code=spin&code_in=spin")
        page.until("document.querySelector('.flame-code tbody')")
        page.until(CALM)
        shown_lines = page.see("[...document.querySelectorAll('.flame-code-text')].map((one) => one.innerText)")
        assert len(shown_lines) > 3
        assert {*shown_lines} == {row["source_text"] for row in rows}
        look("code-source")
        assert violations(page) == []
        page.open("about:blank")
        # The fixture knows the other server.
        assert all(url.startswith((place, "data:", "blob:", "about:")) for url in page.requests)
        page.requests.clear()
