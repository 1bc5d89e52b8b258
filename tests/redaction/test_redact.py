"""perfcase redact and reveal: no value is left, answers stay, the way back."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path

import pytest

from perfcase.catalogue.privacy import load_privacy, page
from perfcase.errors import PerfcaseError
from perfcase.redaction.private import Rules, read_rules
from perfcase.redaction.pseudonyms import Pseudonyms
from perfcase.redaction.values import Values, is_distinct
from tests.support import private_capture
from tests.support.cli import fail, perfcase
from tests.support.imports import SAMPLES, placed
from tests.support.redacted import differences
from tests.support.unpacked import unpacked

SAMPLE = SAMPLES / "x86_64-scheduling" / "x.perfcase"
EVERY = sorted(path for path in SAMPLES.glob("*/*.perfcase"))
SOME = {
    "blame", "branch", "capture", "cgroup", "data_quality", "descriptor", "dso", "fd_call", "file_descriptor", "frame", "function_profile", "host_file",
    "import_issue", "kernel_log", "kernel_message", "machine_config", "off_cpu_by_thread", "proc_command", "process_command", "sample", "sched_process_exec",
    "socket", "source", "stack_entry", "symbol_object", "syscall", "thread", "thread_name", "thread_state", "thread_time", "working_set",
}  # fmt: skip
"""Tables and views with text of each class; the long test compares all of them, findings too."""


@pytest.fixture(scope="module")
def redacted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a sample, the sample redacted, and the key."""
    return _redacted(SAMPLE, tmp_path_factory.mktemp("redacted"))


@pytest.fixture(scope="module")
def private(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same of a capture that holds a value of each class."""
    folder = tmp_path_factory.mktemp("private")
    private_capture.write(folder / "x.perfcase")
    done = perfcase("redact", folder / "x.perfcase", "-o", folder / "out.perfcase")
    assert done.returncode == 0, done.stderr
    assert "still holds: Names of functions" in done.stderr
    assert "removed: 1 properties of the manifest" in done.stderr
    return folder


def _redacted(sample: Path, folder: Path) -> Path:
    file = placed(sample, folder)
    file.replace(folder / "x.perfcase")
    file.with_suffix(".case").replace(folder / "x.case")
    done = perfcase("redact", folder / "x.perfcase", "-o", folder / "out.perfcase")
    assert done.returncode == 0, done.stderr
    return folder


def _differences(folder: Path, names: set[str] | None) -> list[str]:
    return differences(folder / "x.perfcase", folder / "out.perfcase", folder / "out.perfcase.key", names)


def test_answers_are_the_same(redacted: Path) -> None:
    assert _differences(redacted, SOME) == []


def test_answers_about_private_values_are_the_same(private: Path) -> None:
    """What this version does not know is left out of the manifest, so it is not reported. An address as text may be longer."""
    names = SOME - {"import_issue", "data_quality", "host_file", "source"} | {
        "order",
        "inet_sock_set_state",
        "proc_cgroup_stat",
        "oom_kill",
        "process_name",
    }
    assert _differences(private, names) == []
    found = perfcase("findings", private / "out.perfcase").stdout
    shown = perfcase("reveal", "--key", private / "out.perfcase.key", found).stdout
    assert shown.replace("out.perfcase", "x.perfcase") == perfcase("findings", private / "x.perfcase").stdout + "\n"
    assert "docker" in found
    assert "4f1c9a77d0e3" not in found
    assert "4f1c9a77d0e3" in shown


@pytest.mark.long
@pytest.mark.parametrize("sample", EVERY, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_answer_about_every_sample_is_the_same(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERFCASE_MEMORY", "3G")
    assert _differences(_redacted(sample, tmp_path), None) == []


def test_no_value_is_left(private: Path) -> None:
    """This search is of its own: plain bytes, in each member, decompressed by other programs."""
    original = dict(unpacked("x", (private / "x.perfcase").read_bytes()))
    after = dict(unpacked("out", (private / "out.perfcase").read_bytes()))
    for value in private_capture.private_bytes():
        assert any(value in data for data in original.values()), value
        assert not [name for name, data in after.items() if value in data], value
    assert len(after) == len(original)
    assert (private / "out.perfcase.key").stat().st_mode & 0o777 == 0o600


def test_no_value_of_a_sample_is_left(redacted: Path) -> None:
    key = Pseudonyms.read(redacted / "out.perfcase.key")
    searched = {value for value in key.texts.values() if len(value) > 20} | {
        b"DEMO-1",
        b"three CPU hogs",
        b"Linux guest ",
        b"BIOS-provided",
    }
    after = dict(unpacked("out", (redacted / "out.perfcase").read_bytes()))
    assert not {(value, name) for name, data in after.items() for value in searched if value in data}


def test_the_kernels_addresses_moved_together(redacted: Path) -> None:
    def symbols(name: str) -> list[tuple[int, str]]:
        files = unpacked("x", (redacted / name).read_bytes())
        text = next(
            data for path, data in files if path.endswith("host/kallsyms.zst") and data[:4] != b"\x28\xb5\x2f\xfd"
        )
        return [(int(line.split()[0], 16), line.split()[2]) for line in text.decode().splitlines()]

    shift = Pseudonyms.read(redacted / "out.perfcase.key").shift
    before, after = symbols("x.perfcase"), symbols("out.perfcase")
    assert shift % (2 << 20) == 0
    assert shift != 0
    assert [(at + shift if at >= 0xFFFF << 48 else at, name) for at, name in before] == after


def test_networks_are_the_same_in_text_and_bytes(private: Path) -> None:
    key = Pseudonyms.read(private / "out.perfcase.key")
    made = key.address(private_capture.V4.encode())
    after = dict(unpacked("out", (private / "out.perfcase").read_bytes()))
    packed = bytes(map(int, made.split(b".")))
    for place in ("process/snapshots", "host/cmdline", "host/mounts", "recorder/log"):
        assert any(made in data for name, data in after.items() if place in name), place
    assert any(packed in data for name, data in after.items() if "perf/perf.data" in name)


def test_reveal_translates_back(redacted: Path) -> None:
    key = redacted / "out.perfcase.key"
    log = perfcase("view", "kernel_log", redacted / "out.perfcase", "--format", "csv").stdout
    assert "BIOS-provided" not in log
    (redacted / "log.csv").write_text(log)
    assert "BIOS-provided physical RAM map" in perfcase("reveal", "--key", key, redacted / "log.csv").stdout
    assert perfcase("reveal", "--key", key, "nothing to see").stdout == "nothing to see\n"
    assert "not a key" in fail(3, "reveal", "--key", redacted / "log.csv", "x")
    fail(6, "reveal", "--key", redacted / "absent", "x")
    other = redacted / "other.key"
    other.write_text(Pseudonyms.new().text())
    made = next(made for made, value in Pseudonyms.read(key).values.items() if value == b"DEMO-1").decode()
    assert perfcase("reveal", "--key", other, made).stdout == f"{made}\n"
    assert perfcase("reveal", "--key", key, made).stdout == "DEMO-1\n"


def test_the_same_key_gives_the_same_pseudonyms(redacted: Path) -> None:
    done = perfcase(
        "redact", redacted / "x.perfcase", "-o", redacted / "two.perfcase", "--key", redacted / "out.perfcase.key"
    )
    assert done.returncode == 0, done.stderr
    assert (redacted / "two.perfcase").read_bytes() == (redacted / "out.perfcase").read_bytes()


def test_info_says_that_it_is_redacted(private: Path) -> None:
    found = json.loads(perfcase("info", "--private", "--json", private / "out.perfcase").stdout)
    # The member of the home is no table.
    assert found["redacted"]["left"] == ["symbol_name"]
    assert found["redacted"]["removed"]["properties"] == 1
    examples = json.dumps(found["private"])
    assert not [value for value in private_capture.PRIVATE if value in examples]
    shown = perfcase("info", "--private", private / "out.perfcase").stdout
    assert "redacted by perfcase" in shown
    assert "left: Names of functions" in shown
    assert json.loads(perfcase("info", "--private", "--json", private / "x.perfcase").stdout)["redacted"] is None


def test_what_is_refused(redacted: Path) -> None:
    out = redacted / "no.perfcase"
    assert "redacted already" in fail(3, "redact", redacted / "out.perfcase", "-o", out)
    fail(2, "redact", redacted / "x.perfcase", "-o", redacted / "x.perfcase")
    fail(2, "redact", redacted / "x.perfcase", "-o", out, "--key", redacted / "x.perfcase")
    fail(6, "redact", redacted / "x.perfcase", "-o", redacted / "absent" / "out.perfcase")
    fail(6, "redact", redacted / "absent.perfcase", "-o", out)
    (redacted / "rules").write_text("paths /opt\n")
    assert "line 1 is no rule" in fail(3, "redact", redacted / "x.perfcase", "-o", out, "--rules", redacted / "rules")
    damaged = bytearray((redacted / "x.perfcase").read_bytes())
    damaged[len(damaged) // 2] ^= 0xFF
    (redacted / "damaged.perfcase").write_bytes(damaged)
    assert "cannot be redacted" in fail(3, "redact", redacted / "damaged.perfcase", "-o", out)
    (redacted / "cut.perfcase").write_bytes(damaged[: len(damaged) // 3])
    fail(3, "redact", redacted / "cut.perfcase", "-o", out)
    assert not out.exists()
    assert not (redacted / "no.perfcase.key").exists()
    assert "no such folder" in fail(
        6, "redact", redacted / "x.perfcase", "-o", out, "--key", redacted / "absent" / "key"
    )
    assert not list(redacted.glob(".*"))


@pytest.mark.parametrize("name", ["full.perfcase.key", "full.perfcase"])
def test_a_full_disk_leaves_nothing(name: str, redacted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the archive nor its key is there, if either cannot be written."""
    renamed = Path.replace

    def full(path: Path, target: Path) -> Path:
        if Path(target).name == name:
            raise OSError(28, "No space left on device")
        return renamed(path, target)

    monkeypatch.setattr(Path, "replace", full)
    assert "No space left" in fail(8, "redact", redacted / "x.perfcase", "-o", redacted / "full.perfcase")
    assert not list(redacted.glob("*full*"))
    assert not list(redacted.glob(".*"))


def test_the_page_is_generated() -> None:
    assert (Path(__file__).parents[2] / "docs" / "privacy.md").read_text().endswith(page())


def _values(rules: Rules | None = None) -> Values:
    return Values(Pseudonyms(b"k" * 32), rules or Rules(), load_privacy().kept_words)


def test_arguments_of_any_bytes() -> None:
    values = _values()
    line = b"/usr/bin/app\0--password=s3cr.t*[(\\\0-v\0\xff\xfe secret\0/home/bob/a b\0/usr/share/x\0"
    made = values.command_line(line)
    assert len(made) == len(line)
    assert made.startswith(b"/usr/bin/app\0")
    assert made.endswith(b"\0/usr/share/x\0")
    assert not re.search(rb"s3cr|secret|\xff|bob", made)
    searched = {value for value, _, _ in values.pairs()}
    assert b"s3cr.t*[(\\" in searched
    assert b"/home/bob/a b" in searched
    assert b"-v" not in searched


def test_short_names_are_distinct_and_not_searched() -> None:
    values = _values()
    made = [values.word("host_name", name) for name in (b"a", b"b", b"c", b"root", b"cpu0")]
    assert len(set(made)) == 5
    assert [len(each) for each in made] == [1, 1, 1, 4, 4]
    assert values.pairs() == []
    assert not any(map(is_distinct, (b"guest", b"2000000000", b"password", b"127.0.0.1:8080"[:9])))
    assert is_distinct(b"db-prod-17")


def test_addresses_keep_their_networks() -> None:
    key = Pseudonyms(b"k" * 32)
    one, two, far = (key.address(each) for each in (b"203.0.113.7", b"203.0.113.9", b"198.51.100.1"))
    assert one.rsplit(b".", 1)[0] == two.rsplit(b".", 1)[0] != far.rsplit(b".", 1)[0]
    assert one != b"203.0.113.7"
    for stays in (b"127.0.0.1", b"0.0.0.0", b"::1", b"::", b"224.0.0.1", b"1.2.3.4.5", b"00:00:00:00:00:00"):
        assert key.address(stays) == stays
    assert key.address(b"10.1.2.3").startswith(b"10.")
    assert key.address(b"fe80::1").startswith(b"fe")
    assert key.address(b"::ffff:203.0.113.7") == b"::ffff:" + one
    assert len({key.address(f"10.0.{n // 256}.{n % 256}".encode()) for n in range(2000)}) == 2000
    of_socket = struct.pack("<HH", 2, 443) + bytes([203, 0, 113, 7]) + bytes(20)
    assert key.address_bytes(of_socket)[4:8] == bytes(map(int, one.split(b".")))


@pytest.mark.parametrize(
    "text",
    [
        b"Out of memory: Killed process 12 (java) total-vm:8kB, anon-rss:4kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:8kB oom_score_adj:0",
        b"blk_update_request: critical medium error, dev sda, sector 8 op 0x0:(READ)", b"Buffer I/O error on dev sdb1, logical block 5, lost async page write",
        b"mce: [Hardware Error]: Machine check events logged", b"EDAC MC0: 1 CE memory read error on CPU_SrcID#0", b"Memory failure: 0x1: recovery",
        b"md/raid1:md0: Disk failure on sda1, disabling device.", b"BTRFS error (device sda1): bdev /dev/sda1 errs: wr 1", b"EXT4-fs (sda1): Remounting filesystem read-only",
        b"nvme nvme0: I/O 5 QID 2 timeout, aborting", b"XFS (sda1): metadata I/O error", b"ata1.00: exception Emask 0x0 SAct 0x0", b"ata1.00: failed command: READ",
    ],
)  # fmt: skip
def test_rules_still_find_their_messages(text: bytes) -> None:
    """Each pattern that a rule has for the kernel's log matches what it matched before."""
    folder = Path(__file__).parents[2] / "schema"
    files = [path.read_text() for path in folder.glob("[fv]*/**/*.sql") if "kernel_log" in path.read_text()]
    patterns = {found for sql in files for found in re.findall(r"regexp_(?:matches|extract)\(text, '([^']+)'", sql)}
    assert len(patterns) > 8
    made = _values().message("kernel_log", text)
    matched = {pattern for pattern in patterns if re.search(pattern, text.decode())}
    assert matched == {pattern for pattern in patterns if re.search(pattern, made.decode())}
    assert matched


def test_rules_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "rules").write_text("# ours\npath /srv/*/data\npath /opt/acme/\nword Confidential\n")
    values = _values(read_rules(tmp_path / "rules"))
    made = values.path(b"/srv/bank/data/x.db /srv/bank/logs/y /opt/acme/bin/z /opt/acmex/q")
    assert re.fullmatch(rb"/srv/(?!bank)\w{4}/\w{4}/\S{4} /srv/bank/logs/y /opt/acme/\w{3}/\w /opt/acmex/q", made)
    values.rule_words()
    assert b"Confidential" in {value for value, _, _ in values.pairs()}
    for wrong in ("path opt", "path /*", "word ab", "path", "\0"):
        (tmp_path / "rules").write_text(wrong)
        with pytest.raises(PerfcaseError):
            read_rules(tmp_path / "rules")


_KEYS = (
    "",
    "[]",
    "null",
    '{"format": "perfcase-key"}',
    '{"format": "perfcase-key", "version": 2}',
    "[" * 100_000,
)


@pytest.mark.parametrize("text", _KEYS)
def test_keys_that_are_none(text: str, tmp_path: Path) -> None:
    (tmp_path / "key").write_text(text)
    assert "not a key" in fail(3, "reveal", "--key", tmp_path / "key", "x")
