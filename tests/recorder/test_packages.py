"""What brings the recorder to a host besides the one file: Debian packages, a systemd unit, a container for Kubernetes."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from perfcase import __version__
from tests.recorder.packages import built
from tests.recorder.support import ROOT, SHELLS, Capture, environment

UNIT = ROOT / "recorder" / "package" / "perfcase-record.service"
CONTAINER = ROOT / "recorder" / "container"
ARCHITECTURES = {"amd64": 62, "arm64": 183}
"""The packages, and the machine of their ELF files."""
OURS = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]


def package(architecture: str = OURS) -> Path:
    return built() / f"perfcase-recorder_{__version__}_{architecture}.deb"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The package of this machine, unpacked."""
    subprocess.run(["dpkg-deb", "--extract", package(), tmp_path / "tree"], check=True)
    return tmp_path / "tree"


@pytest.fixture
def system(tmp_path: Path) -> Iterator[list[str | Path]]:
    """The dpkg of an empty system."""
    if os.geteuid() != 0:
        pytest.skip("dpkg installs as root only")
    root = tmp_path / "system"
    (root / "var" / "lib" / "dpkg" / "updates").mkdir(parents=True)
    (root / "var" / "lib" / "dpkg" / "info").mkdir()
    (root / "var" / "lib" / "dpkg" / "status").touch()
    yield ["dpkg", f"--root={root}"]
    shutil.rmtree(root)


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


def test_a_package_holds_what_make_installs(tree: Path, tmp_path: Path) -> None:
    install = ["make", "-s", "-C", ROOT / "recorder", "install", f"DESTDIR={tmp_path}/made", "PREFIX=/usr"]
    subprocess.run(install, check=True, timeout=120)
    manual = "usr/share/man/man8/perfcase-record.8"
    expected = files(tmp_path / "made") - {manual}
    more = {
        f"{manual}.gz",
        "usr/lib/systemd/system/perfcase-record.service",
        "usr/share/doc/perfcase-recorder/copyright",
    }
    assert files(tree) == expected | more
    for name in expected:
        assert (tree / name).read_bytes() == (tmp_path / "made" / name).read_bytes(), name
        assert (tree / name).stat().st_mode == (tmp_path / "made" / name).stat().st_mode, name
    assert gzip.decompress((tree / f"{manual}.gz").read_bytes()) == (tmp_path / "made" / manual).read_bytes()


@pytest.mark.parametrize(("architecture", "machine"), ARCHITECTURES.items())
def test_a_package_describes_itself(architecture: str, machine: int, tmp_path: Path) -> None:
    subprocess.run(["dpkg-deb", "--raw-extract", package(architecture), tmp_path / "x"], check=True)
    fields = dict(re.findall(r"^(\S+): (.*)", (tmp_path / "x" / "DEBIAN" / "control").read_text(), re.MULTILINE))
    assert {key: fields.get(key) for key in ("Package", "Version", "Architecture", "Depends", "Recommends")} == {
        "Package": "perfcase-recorder",
        "Version": __version__,
        "Architecture": architecture,
        "Depends": None,
        "Recommends": "linux-perf | linux-tools-generic, trace-cmd, zstd",
    }
    listed = subprocess.run(
        ["dpkg-deb", "--contents", package(architecture)], capture_output=True, text=True, check=True
    ).stdout
    assert {line.split()[1] for line in listed.splitlines()} == {"0/0"}
    subprocess.run(["md5sum", "--check", "--quiet", "DEBIAN/md5sums"], cwd=tmp_path / "x", check=True)
    helper = (tmp_path / "x" / "usr" / "lib" / "perfcase" / "perfcase-helper").read_bytes()
    assert struct.unpack_from("<H", helper, 18) == (machine,)
    headers, size, count = struct.unpack_from("<Q", helper, 32)[0], *struct.unpack_from("<HH", helper, 54)
    kinds = {struct.unpack_from("<I", helper, headers + index * size)[0] for index in range(count)}
    assert 3 not in kinds, "it has an interpreter: it is not static"


def test_a_package_comes_and_goes(system: list[str | Path], tmp_path: Path) -> None:
    log = subprocess.run([*system, "--install", package()], capture_output=True, text=True, check=False)
    assert log.returncode == 0, log.stderr
    installed = tmp_path / "system" / "usr" / "sbin" / "perfcase-record"
    out = tmp_path / "x.perfcase"
    done = subprocess.run(
        [*SHELLS["dash"], installed, "-o", out, "--", "true"], env=environment(), capture_output=True, text=True, timeout=60, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    Capture.read(out).check()
    subprocess.run([*system, "--purge", "perfcase-recorder"], check=True, capture_output=True)
    left = {name for name in files(tmp_path / "system") if not name.startswith(("var/lib/dpkg/", "var/log/"))}
    assert left == set()
    assert not (tmp_path / "system" / "usr").exists()


def test_the_unit_is_understood(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze here")
    # The recorder is not installed here.
    unit = tmp_path / UNIT.name
    unit.write_text(
        UNIT.read_text()
        .replace("/usr/sbin/perfcase-record", "/bin/true")
        .replace("man:perfcase-record(8)", "man:true(1)")
    )
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_unit_bounds_the_recorder(tmp_path: Path) -> None:
    settings = dict(re.findall(r"^(\w+)=(.*)", UNIT.read_text(), re.MULTILINE))
    assert {"Nice", "CPUWeight", "IOWeight", "MemoryMax", "CapabilityBoundingSet"} <= settings.keys()
    assert settings["ExecStart"] == "/usr/sbin/perfcase-record $PERFCASE_OPTIONS"
    if os.geteuid() != 0:
        pytest.skip("needs root's capabilities")
    said = []
    kept = ",".join(f"+{name.removeprefix('CAP_').lower()}" for name in settings["CapabilityBoundingSet"].split())
    for bound in ([], ["setpriv", f"--bounding-set=-all,{kept}", "--no-new-privs"]):
        check = [*bound, *SHELLS["dash"], ROOT / "recorder" / "perfcase-record", "--check"]
        done = subprocess.run(check, env=environment(), capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    assert said[0] == said[1], "it can do as much as without bounds"


def test_the_pod_records_one_node_and_sends_it() -> None:
    pod = yaml.safe_load((CONTAINER / "pod.yaml").read_text())
    (container,) = pod["spec"]["containers"]
    assert (pod["kind"], pod["spec"]["hostPID"], pod["spec"]["restartPolicy"]) == ("Pod", True, "Never")
    assert container["securityContext"] == {"privileged": True}
    assert sorted(container["resources"]["limits"]) == ["cpu", "ephemeral-storage", "memory"]
    assert {mount["name"] for mount in container["volumeMounts"]} == {
        volume["name"] for volume in pod["spec"]["volumes"]
    }
    assert {"/sys/kernel/tracing", "/sys/fs/cgroup"} <= {mount["mountPath"] for mount in container["volumeMounts"]}
    (token,) = (volume["secret"] for volume in pod["spec"]["volumes"] if volume["name"] == "token")
    assert token["defaultMode"] == 0o400
    usage = subprocess.run(
        [*SHELLS["dash"], ROOT / "recorder" / "perfcase-record", "--help"], capture_output=True, text=True, check=True
    ).stdout
    unknown = [option for each in container["args"] if (option := each.partition("=")[0]) not in usage]
    assert unknown == [option for option in ("--upload", "--token-file") if option not in usage]


def test_the_container_is_built_of_what_is_let_in() -> None:
    """.dockerignore keeps everything out but what it names."""
    told = (CONTAINER / "Dockerfile").read_text()
    copied = re.findall(r"^COPY (?!--from)(\S+) \S+$", told, re.MULTILINE)
    assert copied == ["Cargo.toml", "recorder"]
    assert {f"!{source}" for source in copied} <= set((ROOT / ".dockerignore").read_text().splitlines())
    assert 'ENTRYPOINT ["perfcase-record"]' in told
