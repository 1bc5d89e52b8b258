"""Names of functions of private objects: replaced in tables and perf maps, the same in every answer, translated back."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from perfcase.case.store import import_core
from perfcase.catalogue.privacy import load_privacy
from perfcase.errors import PerfcaseError
from perfcase.redaction.private import Rules, read_rules
from perfcase.redaction.pseudonyms import Pseudonyms
from perfcase.redaction.symbols import Symbols
from perfcase.redaction.values import Values
from tests.support import private_capture
from tests.support.cli import perfcase
from tests.support.imports import SAMPLES, placed
from tests.support.redacted import differences
from tests.support.unpacked import unpacked

ROOT = Path(__file__).parents[2]
CAPTURES = ROOT / "tests" / "data" / "symbols"
ANSWERS = {"dso", "frame", "frame_label", "function_profile", "sample", "stack_entry", "symbol_object"}


def _redacted(sample: Path, folder: Path, rules: str = "") -> str:
    """Redact a capture as ``out.perfcase``; what was said."""
    file = placed(sample, folder)
    file.replace(folder / "x.perfcase")
    file.with_suffix(".case").replace(folder / "x.case")
    (folder / "rules").write_text(rules)
    done = perfcase("redact", folder / "x.perfcase", "-o", folder / "out.perfcase", "--rules", folder / "rules")
    assert done.returncode == 0, done.stderr
    return done.stderr


def _members(file: Path) -> dict[str, bytes]:
    found = unpacked("x", file.read_bytes())
    return {name.rpartition("!")[2].removesuffix(".zst").removesuffix(".gz"): data for name, data in found}


def _names(file: Path) -> set[str]:
    done = perfcase("sql", file, "SELECT DISTINCT symbol FROM frame WHERE symbol IS NOT NULL", "--format", "json")
    return {row["symbol"] for row in json.loads(done.stdout)}


def _flame_graph(file: Path) -> str:
    done = perfcase("export", file, "--to", "folded")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_program_below_a_home(tmp_path: Path) -> None:
    said = _redacted(SAMPLES / "b-false-sharing" / "shared.perfcase", tmp_path)
    assert "names of functions are left" not in said
    assert "still holds" not in said
    key = tmp_path / "out.perfcase.key"
    assert differences(tmp_path / "x.perfcase", tmp_path / "out.perfcase", key, ANSWERS) == []
    before, after = (_names(tmp_path / name) for name in ("x.perfcase", "out.perfcase"))
    assert {"count", "worker"} & before
    assert not {"count", "worker"} & after
    # What other objects have stays, and so does what every program has.
    assert {name for name in before if name.startswith("_")} <= after
    graphs = [_flame_graph(tmp_path / name) for name in ("x.perfcase", "out.perfcase")]
    assert graphs[0] != graphs[1]
    (tmp_path / "graph").write_text(graphs[1])
    revealed = perfcase("reveal", "--key", key, tmp_path / "graph").stdout
    assert sorted(revealed.splitlines()) == sorted(graphs[0].splitlines())
    # Neither functions nor data of it are named anywhere in the file.
    table = next(name for name in _members(tmp_path / "x.perfcase") if "cfd4494d06fc" in name)
    plain, redacted = (_members(tmp_path / name)[table] for name in ("x.perfcase", "out.perfcase"))
    assert len(plain) == len(redacted)
    for name in (b"worker", b"counters", b"batches", b"done_fd", b"count\0"):
        assert name in plain
        assert name not in redacted
    assert b"pthread_join" in redacted


@pytest.mark.parametrize("name", ["c", "cxx", "rust", "go", "java", "node", "python", "c-aarch64"])
def test_programs_of_every_language(name: str, tmp_path: Path) -> None:
    """The programs of these captures lie in no folder of the distribution, and no perf map does."""
    said = _redacted(CAPTURES / f"{name}.perfcase", tmp_path)
    assert "names of functions are left" not in said
    key = tmp_path / "out.perfcase.key"
    assert differences(tmp_path / "x.perfcase", tmp_path / "out.perfcase", key, ANSWERS) == []
    before, after = (_names(tmp_path / each) for each in ("x.perfcase", "out.perfcase"))
    assert len(before - after) > 2
    assert sorted(map(len, before)) == sorted(map(len, after))
    gone = {each for each in before - after if len(each) > 8}
    left = {(each, member) for member, data in _members(tmp_path / "out.perfcase").items() for each in gone
            if re.search(rb"\0%s\0| %s\n" % (2 * (re.escape(each.encode()),)), data)}  # fmt: skip
    assert left == set()


def test_a_short_pseudonym_is_no_word_of_the_capture(tmp_path: Path) -> None:
    """With this key the first pseudonym of the host, vm, is ld: every ld-linux-x86-64.so.2 was translated back to vm-linux."""
    key = Pseudonyms((8040).to_bytes(32))
    assert Pseudonyms((8040).to_bytes(32)).word(b"vm") == b"ld"
    (tmp_path / "out.perfcase.key").write_text(key.text())
    _redacted(CAPTURES / "c.perfcase", tmp_path)
    made = Pseudonyms.read(tmp_path / "out.perfcase.key")
    assert b"vm" in made.values.values()
    assert b"ld" not in made.values
    assert made.reveal(b"/usr/lib/ld-linux-x86-64.so.2") == b"/usr/lib/ld-linux-x86-64.so.2"
    assert differences(tmp_path / "x.perfcase", tmp_path / "out.perfcase", tmp_path / "out.perfcase.key", {"dso"}) == []


def test_where_all_short_words_are_taken_one_of_the_capture_is(tmp_path: Path) -> None:
    few = Pseudonyms(b"k" * 32)
    few.avoided = {bytes([letter]) for letter in range(ord("a"), ord("z") + 1)}
    made = [few.word(bytes([letter])) for letter in range(ord("A"), ord("Z") + 1)]
    assert few.avoided.isdisjoint(made)
    assert len({few.word(bytes([digit])) for digit in range(ord("0"), ord("9") + 1)} & few.avoided) == 10


@pytest.mark.parametrize(("name", "member"), [("cxx-inlined", "symbols/elf/d674c7360ea1"), ("jit", "symbols/jitdump/")])
def test_what_is_more_than_a_table_is_left_and_said(name: str, member: str, tmp_path: Path) -> None:
    said = _redacted(CAPTURES / f"{name}.perfcase", tmp_path)
    assert f"names of functions are left in it, because it is more than a table of them: {member}" in said
    assert "still holds: Names of functions" in said
    assert differences(tmp_path / "x.perfcase", tmp_path / "out.perfcase", tmp_path / "out.perfcase.key", ANSWERS) == []


def test_a_rule_makes_names_public(tmp_path: Path) -> None:
    said = _redacted(CAPTURES / "java.perfcase", tmp_path, "public /tmp\npublic /opt/\n")
    assert "symbol_name" not in said
    before, after = (_names(tmp_path / each) for each in ("x.perfcase", "out.perfcase"))
    assert before == after


@pytest.mark.parametrize(
    ("path", "rules", "is_private"),
    [
        ("/usr/bin/perf", {}, False),
        ("/lib/x86_64-linux-gnu/libc.so.6", {}, False),
        ("/usr/local/bin/app", {}, True),
        ("/opt/jdk/lib/libjvm.so", {}, True),
        ("/opt/jdk/lib/libjvm.so", {"public": (b"/opt/jdk/",)}, False),
        ("/opt/jdkx/lib/libjvm.so", {"public": (b"/opt/jdk/",)}, True),
        ("/usr/lib/acme/liba.so", {"prefixes": (b"/usr/lib/acme/",)}, True),
        ("/usr/lib/acme/liba.so", {"prefixes": (b"/usr/lib/*/",)}, True),
        ("/usr/lib/acme/liba.so", {"prefixes": (b"/usr/",), "public": (b"/usr/lib/acme/",)}, False),
        ("/home/bob/usr/lib/x", {}, True),
        ("/libx/x", {}, True),
        ("/memfd:jit (deleted)", {}, True),
        ("[vdso]", {}, False),
        ("[kernel.kallsyms]", {}, False),
    ],
)
def test_which_objects_are_private(path: str, rules: dict[str, tuple[bytes, ...]], is_private: bool) -> None:
    assert Rules(**rules).is_private_object(path.encode()) == is_private  # type: ignore[arg-type]


def test_rules_for_names_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "rules"
    file.write_text("public /opt/jdk\npublic /tmp/\n")
    assert read_rules(file).public == (b"/opt/jdk/", b"/tmp/")
    for wrong in ("public", "public opt", "public /", "public /opt/*"):
        file.write_text(wrong)
        with pytest.raises(PerfcaseError):
            read_rules(file)


class _Tables:
    """What Symbols asks the tables for: nothing is in them."""

    def sql(self, _text: str) -> _Tables:
        return self

    def fetchall(self) -> list[tuple]:
        return []


def _map(text: bytes, folder: Path, listed: str = "/tmp/perf-7.map") -> tuple[bytes, Values]:
    """Redact a perf map."""
    (folder / "symbols" / "perf-map").mkdir(parents=True)
    (folder / "symbols" / "objects.tsv").write_text(f"perf-map/7\tperf-map\t-\t{listed}\t7\t7\t9\t9\t-\n")
    file = folder / "symbols" / "perf-map" / "7"
    file.write_bytes(text)
    values = Values(Pseudonyms(b"k" * 32), Rules(public=(b"/srv/maps/",)))
    symbols = Symbols(folder, ["symbols/perf-map/7"], values.rules, _Tables())  # type: ignore[arg-type]
    symbols.learn(values)
    symbols.rewrite("symbols/perf-map/7", values)
    assert symbols.left == []
    return file.read_bytes(), values


def test_a_perf_map(tmp_path: Path) -> None:
    text = b"7f00 10 __charge\r\n0x7f10 0x4 add\n7f20 8 Builtin:ArrayMap\n7f30 8 LazyCompile:~f /srv/a b.js:1\n7f40 4 Lcom/acme/Orders;::charge"
    made, values = _map(text, tmp_path)
    assert len(made) == len(text)
    found = re.fullmatch(
        rb"7f00 10 __(\w{6})\r\n0x7f10 0x4 add\n7f20 8 Builtin:ArrayMap\n7f30 8 (\w{28})\n7f40 4 (\w{25})", made
    )
    assert found
    assert values.pseudonyms.reveal(b"x;__%s;%s" % found.group(1, 2)) == b"x;__charge;LazyCompile:~f /srv/a b.js:1"
    assert {b"Lcom/acme/Orders;::charge", b"LazyCompile:~f /srv/a b.js:1"} <= {value for value, _, _ in values.pairs()}


def test_a_perf_map_that_a_rule_makes_public_stays(tmp_path: Path) -> None:
    text = b"7f00 10 charge\nnot a line\n"
    assert _map(text, tmp_path, "/srv/maps/perf-7.map")[0] == text


def test_bad_lines_of_a_perf_map_become_empty(tmp_path: Path) -> None:
    text = (
        b"not a secret line\n7f00 zz secret\n7f00  10 secret\n\n7f00 10 \n7f00 10\n7f00 10 a\rsecret\r\n7f00 10 \xff\xfesecret\n"
        + b"secret" * 9
    )
    made, _ = _map(text, tmp_path)
    assert b"secret" not in made
    assert made.count(b"\n") == text.count(b"\n")
    assert re.fullmatch(rb"\n{6}7f00 10 \w{8}\r\n7f00 10 \w{12}\n", made)


def test_two_functions_with_one_name_to_people_have_one_pseudonym(tmp_path: Path) -> None:
    """So rows of answers stay what they are; what the file has is longer or shorter than what stands for it."""
    _redacted(CAPTURES / "cxx.perfcase", tmp_path)
    found = []
    for name in ("x.perfcase", "out.perfcase"):
        members = _members(tmp_path / name)
        (tmp_path / "elf").write_bytes(next(data for member, data in members.items() if "elf/49ba992b2644" in member))
        found.append(
            [(raw, shown) for raw, shown, is_defined in import_core().symbol_names(str(tmp_path / "elf")) if is_defined]
        )
    before, after = found
    assert len({raw for raw, _ in before}) > len({shown for _, shown in before}) == len({shown for _, shown in after})
    assert any(len(raw) != len(shown) for raw, shown in before)
    assert sorted({len(shown) for _, shown in before}) == sorted({len(raw) for raw, _ in after})
    assert [raw for raw, shown in before if raw.startswith(b"_Z") and raw != shown.encode()]
    assert not [raw for raw, _ in after if raw.startswith(b"_Z")]


def test_names_that_rules_look_for_are_kept() -> None:
    text = (ROOT / "schema" / "findings" / "garbage_collection.sql").read_text()
    names = re.findall(r"'([^']+)'", re.search(r"symbol IN \(([^)]+)\)", text)[1])  # type: ignore[index]
    patterns = re.findall(r"symbol SIMILAR TO '([^']+)'", text)
    assert len(names) > 8
    assert patterns == [each for each in patterns if each.startswith("v8::internal::")] != []
    for name in (*names, "v8::internal::Heap::Scavenge", "main", "__libc_start_main"):
        assert load_privacy().kept_symbols.fullmatch(name), name
    for name in ("mainly", "charge", "acme::runtime.x", "domain"):
        assert not load_privacy().kept_symbols.fullmatch(name)
    # The import knows these names, too: they are return addresses that nobody called.
    source = (ROOT / "analyzer" / "crates" / "perfcase-symbols" / "src" / "names.rs").read_text()
    known = re.findall(r'"(\w+)"', re.search(r"const NOT_CALLED[^=]+= *\[?([^;]+);", source)[1])  # type: ignore[index]
    assert {"__restore_rt", "__start_context"} <= set(known)
    assert [name for name in known if "kernel" not in name and not load_privacy().kept_symbols.fullmatch(name)] == []


def test_a_file_that_is_no_table_is_not_read(tmp_path: Path) -> None:
    for data in (b"", b"\x7fELF", b"text", Path("/bin/true").read_bytes()):
        (tmp_path / "x").write_bytes(data)
        assert import_core().symbol_names(str(tmp_path / "x")) is None


@pytest.mark.parametrize(
    ("paths", "is_private"),
    [
        (["/usr/bin/app", "/opt/acme/app"], True),
        (["/opt/acme/app", "/usr/bin/app"], True),
        (["/usr/bin/app", "/usr/sbin/app"], False),
        ([], True),
    ],
)
def test_a_table_with_several_names(paths: list[str], is_private: bool, tmp_path: Path) -> None:
    """One private name is enough, and so is none at all."""
    (tmp_path / "symbols" / "elf").mkdir(parents=True)
    lines = [f"elf/aa77\telf-table\taa77\t{path}\t-\t-\t9\t9\t-\n" for path in paths]
    (tmp_path / "symbols" / "objects.tsv").write_text("".join(lines))
    file = tmp_path / "symbols" / "elf" / "aa77"
    file.write_bytes(private_capture.table())
    values = Values(Pseudonyms(b"k" * 32), Rules())
    symbols = Symbols(tmp_path, ["symbols/elf/aa77"], values.rules, _Tables())  # type: ignore[arg-type]
    assert symbols.private_names() == ({"charge_customer_card", "acme::settle_book"} if is_private else set())
    symbols.learn(values)
    symbols.rewrite("symbols/elf/aa77", values)
    assert (file.read_bytes() != private_capture.table()) == is_private
    searched = {value for value, _, _ in values.pairs()}
    names = {b"charge_customer_card", b"_ZN4acme11settle_bookEv", b"acme::settle_book", b"imported_by_acme"}
    assert searched == (names if is_private else set())
