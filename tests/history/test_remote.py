"""FILE and STORE as URLs: a local server of object storage, and one of files."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import boto3
import pytest
from moto.server import ThreadedMotoServer

import perfcase
from perfcase.case import remote
from perfcase.errors import PerfcaseError
from perfcase.fleet.captures import places
from tests.support.cli import fail, process, succeed
from tests.support.cli import perfcase as run

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "sample-captures" / "b-false-sharing" / "shared.perfcase"
OTHER = SAMPLE.with_name("padded.perfcase")
BUCKET = "captures"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache and credentials of the test's own, and no settings of this machine."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    told = {
        "XDG_CACHE_HOME": str(tmp_path / "cache"), "AWS_ENDPOINT_URL": endpoint, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1", "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }  # fmt: skip
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    return tmp_path / "cache" / "perfcase" / "fetched"


@pytest.fixture
def bucket(endpoint: str) -> object:
    """An empty bucket."""
    for store in boto3.resource("s3", endpoint_url=endpoint).buckets.all():
        for each in store.objects.all():
            each.delete()
    store = boto3.resource("s3", endpoint_url=endpoint).Bucket(BUCKET)
    store.create()
    return store


def put(bucket: object, key: str, file: Path = SAMPLE) -> str:
    bucket.upload_file(str(file), key)  # type: ignore[attr-defined]
    return f"s3://{BUCKET}/{key}"


def copies(cache: Path) -> list[Path]:
    return sorted(cache.glob("*/*.perfcase"))


def test_a_url_is_a_file(bucket: object, own_cache: Path) -> None:
    url = put(bucket, "incidents/a.perfcase")
    asked = [run("findings", file, "--format", "json") for file in (url, SAMPLE)]
    assert asked[0].stdout == asked[1].stdout
    assert json.loads(asked[0].stdout)
    (copy,) = copies(own_cache)
    assert copy.read_bytes() == SAMPLE.read_bytes()
    assert [path.stat().st_mode & 0o777 for path in (copy, own_cache)] == [0o600, 0o700]
    # The next commands that it names are about the URL.
    assert url in succeed("report", url)
    with perfcase.open(url) as opened:
        assert opened.sql("SELECT count(*) FROM process").fetchall()[0][0] > 0
    assert "the same" not in succeed("diff", url, put(bucket, "b.perfcase", OTHER), "--limit", "1")
    assert succeed("import", url, "-o", own_cache / "made")


def test_a_copy_is_taken_again_only_when_the_object_changed(bucket: object, own_cache: Path) -> None:
    url = put(bucket, "a.perfcase")
    before = remote.fetch(url).stat().st_ino
    assert remote.fetch(url).stat().st_ino == before
    put(bucket, "a.perfcase", OTHER)
    assert remote.fetch(url).read_bytes() == OTHER.read_bytes()
    # A copy that somebody cut is none.
    remote.fetch(url).write_bytes(b"")
    assert remote.fetch(url).read_bytes() == OTHER.read_bytes()
    # Nor is one of which nothing is known.
    (own_cache / remote.fetch(url).parent / ".object.json").write_text("[]")
    assert remote.fetch(url).read_bytes() == OTHER.read_bytes()


def test_a_store_is_a_url(bucket: object) -> None:
    for key in ("fleet/node-1/a.perfcase", "fleet-2/not.perfcase", "fleet/readme.txt"):
        put(bucket, key)
    put(bucket, "fleet/b.perfcase", OTHER)
    bucket.put_object(Key="fleet/broken.perfcase", Body=b"no capture")  # type: ignore[attr-defined]
    rows = json.loads(succeed("history", f"s3://{BUCKET}/fleet", "--format", "json"))
    assert {row["capture"]: row["problem"] is None for row in rows} == {
        "node-1/a.perfcase": True, "b.perfcase": True, "broken.perfcase": False,
    }  # fmt: skip
    assert perfcase.history(f"s3://{BUCKET}/fleet/").fetchall()
    assert len(json.loads(succeed("history", f"s3://{BUCKET}/fleet/b.perfcase", "--format", "json"))) == 1
    assert "3 are needed" in fail(2, "diff", SAMPLE, "--baseline", f"s3://{BUCKET}/fleet:host=*")
    assert "no such object" in fail(6, "history", f"s3://{BUCKET}/nothing/")


@pytest.mark.long("Java starts")
def test_a_cluster_is_asked_about_a_url(bucket: object, own_cache: Path) -> None:
    put(bucket, "fleet/node-1/a.perfcase")
    put(bucket, "fleet/b.perfcase", OTHER)
    bucket.put_object(Key="fleet/broken.perfcase", Body=b"no capture")  # type: ignore[attr-defined]
    url, words = f"s3://{BUCKET}/fleet/", ("--master", "local[2]", "--format", "json")
    done = run("fleet", "import", url, *words)
    assert [(row["capture"], row["exit_code"]) for row in json.loads(done.stdout)] == [
        ("b.perfcase", 0), ("broken.perfcase", 3), ("node-1/a.perfcase", 0),
    ]  # fmt: skip
    assert len([*own_cache.glob("*/*.case")]) == 2
    done = run("fleet", "sql", "SELECT count(*) AS processes FROM process", url, *words)
    rows = {row["capture"]: row["processes"] for row in json.loads(done.stdout)}
    samples = (("node-1/a.perfcase", SAMPLE), ("b.perfcase", OTHER))
    ask = "SELECT count(*) AS n FROM process"
    alone = {name: json.loads(run("sql", file, ask, "-f", "json").stdout)[0]["n"] for name, file in samples}
    assert rows == alone
    assert "broken.perfcase: left out" in done.stderr


def test_what_cannot_be_copied_is_named(bucket: object, monkeypatch: pytest.MonkeyPatch) -> None:
    put(bucket, "fleet/a.perfcase")
    put(bucket, "fleet/b.perfcase", OTHER)

    def copy(wanted: remote.Object) -> Path:
        if wanted.name == "a.perfcase":
            raise PerfcaseError("not_permitted", f"{wanted.url}: the store refuses it")
        return copied(wanted)

    copied = remote.copy
    monkeypatch.setattr(remote, "copy", copy)
    found, left_out = places([f"s3://{BUCKET}/fleet/"])
    assert [name for name, _ in found] == ["b.perfcase"]
    assert [(each.name, "refuses it" in each.reason) for each in left_out] == [("a.perfcase", True)]


HOSTILE = ("../../../../etc/x.perfcase", "a/../../b.perfcase", "c\x1b[31m.perfcase", "d" * 900 + ".perfcase", ".perfcase", "é ü'.perfcase", "a//b.perfcase", "a.perfcase/c.perfcase", "a.perfcase")  # fmt: skip


def test_names_of_objects_go_nowhere(bucket: object, own_cache: Path, tmp_path: Path) -> None:
    for key in HOSTILE:
        bucket.put_object(Key=key, Body=SAMPLE.read_bytes())  # type: ignore[attr-defined]
    found = [remote.copy(each) for each in remote.below(f"s3://{BUCKET}/")]
    assert len(set(found)) == len(HOSTILE)
    assert {path.parents[1] for path in found} == {own_cache}
    assert {path.name for path in tmp_path.iterdir()} == {"cache"}
    assert "\x1b" not in succeed("history", f"s3://{BUCKET}/")


def test_errors_say_what_to_do(bucket: object, own_cache: Path, tmp_path: Path) -> None:
    assert "no such object" in fail(6, "report", f"s3://{BUCKET}/none.perfcase")
    assert "no such object" in fail(6, "report", "s3://no-such-bucket/none.perfcase")
    url = put(bucket, "a.perfcase")
    nobody = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_EC2_METADATA_DISABLED": "true"}
    # In processes of their own: a connection to a store is kept.
    refused, away = process("info", url, **nobody), process("info", url, AWS_ENDPOINT_URL="http://127.0.0.1:9")
    assert (refused.returncode, away.returncode) == (7, 8)
    assert "AWS_PROFILE" in refused.stderr
    assert "127.0.0.1:9" in away.stderr
    (tmp_path / "s3fs.py").write_text("raise ImportError('no s3fs')")
    missing = process("info", url, PYTHONPATH=str(tmp_path))
    assert (missing.returncode, "perfcase[remote]" in missing.stderr) == (8, True)
    assert copies(own_cache) == []


def test_an_interrupted_copy_leaves_nothing(bucket: object, own_cache: Path) -> None:
    url = put(bucket, "a.perfcase")

    def stop(_what: str, done: int, _of: int | None) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        remote.fetch(url, stop)
    assert [path for path in own_cache.rglob("*") if path.is_file()] == []
    assert remote.fetch(url).read_bytes() == SAMPLE.read_bytes()


def test_a_full_disk_leaves_nothing(bucket: object, own_cache: Path) -> None:
    import resource

    url = put(bucket, "a.perfcase")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(PerfcaseError, match="free space there") as raised:
            remote.fetch(url)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert raised.value.exit_code == 8
    assert [path for path in own_cache.rglob("*") if path.is_file()] == []


def test_a_disk_is_not_filled(bucket: object, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = put(bucket, "a.perfcase")
    usage = shutil.disk_usage(ROOT)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(total=1 << 40, free=(1 << 30) - 1))
    with pytest.raises(PerfcaseError, match="are left on its disk"):
        remote.fetch(url)
    assert copies(own_cache) == []
    # A twentieth of a small one is enough.
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(total=1 << 30, free=1 << 26))
    assert remote.fetch(url).read_bytes() == SAMPLE.read_bytes()


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    """A server of files."""
    (tmp_path / "web").mkdir()
    shutil.copy(SAMPLE, tmp_path / "web" / "a.perfcase")

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=tmp_path / "web")) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_link_that_is_signed_keeps_its_secret(web: str, own_cache: Path) -> None:
    url = f"http://user:hidden@{web}/a.perfcase?Signature=hidden#hidden"
    done = run("report", url)
    assert done.returncode == 0
    assert "hidden" not in done.stdout + done.stderr
    assert "hidden" not in fail(6, "report", url.replace("a.perf", "b.perf"))
    (copy,) = copies(own_cache)
    assert [path for path in own_cache.rglob("*") if path.is_file() and b"hidden" in path.read_bytes()] == []
    before = copy.stat().st_ino
    # Signed again, the same object.
    assert remote.fetch(url.replace("hidden", "other")).stat().st_ino == before
