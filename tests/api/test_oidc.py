"""Signing in with an account of an identity provider: who gets in, as what, and who does not."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Iterator
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import httpx
import pytest

from perfcase.errors import PerfcaseError
from perfcase_api import configuration, oidc
from perfcase_api.errors import ApiError
from perfcase_api.oidc import Provider
from perfcase_api.settings import Oidc, Rule
from tests.api.conftest import PERFCASE, Running, start
from tests.api.provider import CLIENT, SECRET, Idp

COUNTS_CAPTURES = True

RULES = """
[[oidc.rule]]
value = "sre"
role = "admin"

[[oidc.rule]]
value = "team-shop"
role = "uploader"
ticket_prefix = "SHOP-"
"""


@pytest.fixture(scope="module")
def idp() -> Iterator[Idp]:
    made = Idp()
    yield made
    made.served.shutdown()


@pytest.fixture(autouse=True)
def _honest(idp: Idp) -> None:
    idp.lie, idp.claims = "", {"preferred_username": "ada", "groups": ["everybody", "team-shop"]}


@pytest.fixture(scope="module")
def server(idp: Idp, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("oidc")
    (folder / "secret").write_text(f"{SECRET}\n")
    config = folder / "perfcase.toml"
    head = f'name = "Example <b>"\nissuer = "{idp.issuer}"\nclient_id = "{CLIENT}"\nclient_secret_file = "secret"\n'
    config.write_text(f'[oidc]\n{head}url = "http://localhost"\n{RULES}')
    running = start(folder / "store", "", "--config", str(config))
    yield running
    running.stop()


@pytest.fixture
def browser(server: Running) -> Iterator[httpx.Client]:
    with server.client("") as client:
        yield client


def go(browser: httpx.Client, **change: str) -> httpx.Response:
    """What a browser does: to the provider, signs in there, comes back, with what a stranger might change on the way."""
    begun = browser.get("/v1/oidc")
    assert begun.status_code == 303, begun.text
    sent = httpx.get(begun.headers["location"]).headers["location"]
    query = {key: values[0] for key, values in parse_qs(urlsplit(sent).query).items()}
    return browser.get("/v1/oidc/callback", params={**query, **change})


def test_who_has_an_account_gets_in(browser: httpx.Client, idp: Idp, server: Running) -> None:
    assert browser.get("/v1/sign-in").json()["oidc"] == {"name": "Example <b>", "url": "/v1/oidc"}
    signed = go(browser)
    assert (signed.status_code, signed.headers["location"]) == (303, "/")
    cookie = next(
        each for each in signed.headers.get_list("set-cookie") if each.startswith("perfcase_session=")
    ).lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert browser.get("/v1/me").json() == {"name": "ada", "role": "uploader", "ticket_prefix": "SHOP-"}
    asked = idp.seen[-1]
    assert asked["redirect_uri"] == "http://localhost/v1/oidc/callback"
    assert (asked["response_type"], asked["code_challenge_method"], asked["scope"]) == (
        "code",
        "S256",
        "openid profile email",
    )
    with server.client() as admin:
        last = next(each for each in admin.get("/v1/audit").json() if each["action"] == "GET /v1/oidc/callback")
        assert (last["who"], last["status"]) == ("ada", 303)


def test_a_person_stays_one_and_may_be_shut_out(browser: httpx.Client, idp: Idp, server: Running) -> None:
    idp.claims = {"sub": "50", "preferred_username": "bea", "groups": ["team-shop"]}
    go(browser)
    idp.claims = {"sub": "50", "email": "bea@example.org", "groups": ["sre"]}
    go(browser)
    assert browser.get("/v1/me").json() == {"name": "bea@example.org", "role": "admin", "ticket_prefix": ""}
    with server.client() as admin:
        people = [each for each in admin.get("/v1/tokens").json() if each["issuer"] == idp.issuer]
        (person,) = [each for each in people if each["name"].startswith("bea")]
        assert admin.delete(f"/v1/tokens/{person['token_id']}").status_code == 204
        assert browser.get("/v1/me").status_code == 401
        refused = go(browser)
        assert (refused.status_code, "may no longer sign in" in refused.text) == (403, True)
    idp.claims = {"sub": "43", "groups": "sre"}
    assert go(browser).status_code == 303
    assert browser.get("/v1/me").json()["name"] == "43"


@pytest.mark.parametrize("groups", [[], ["everybody"], None, {"sre": 1}, [["sre"]], "sre2"])
def test_whom_no_rule_fits_stays_out(browser: httpx.Client, idp: Idp, groups: object) -> None:
    idp.claims = {"sub": "44", "groups": groups}
    refused = go(browser)
    assert (refused.status_code, refused.json()["error"]["kind"]) == (403, "not_permitted")
    assert browser.get("/v1/me").status_code == 401


def test_a_browser_is_sent_to_the_page_which_says_why(browser: httpx.Client, idp: Idp, server: Running) -> None:
    idp.claims = {"groups": []}
    browser.headers["Accept"] = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"
    refused = go(browser)
    assert (refused.status_code, refused.headers["location"]) == (303, "/")
    cookie = SimpleCookie(refused.headers["set-cookie"])["perfcase_refused"]
    assert json.loads(unquote(cookie.value))["error"]["kind"] == "not_permitted"
    assert (cookie["samesite"], cookie["max-age"]) == ("strict", "60")
    assert browser.get("/v1/me").status_code == 401
    with server.client() as admin:
        signed = [each for each in admin.get("/v1/audit").json() if each["action"] == "GET /v1/oidc/callback"]
    assert signed[0]["status"] == 403


@pytest.mark.parametrize(
    "lie",
    [
        "denied", "no id token", "long answer", "no token", "unsigned", "stranger's key", "public key as secret", "changed",
        "expired", "of tomorrow", "for another", "for many", "by another", "replayed", "another's answer",
        "without iss", "without aud", "without exp", "without iat", "without sub", "without nonce",
    ],
)  # fmt: skip
def test_a_lie_is_refused(browser: httpx.Client, idp: Idp, lie: str) -> None:
    idp.claims = {"groups": ["sre"]}
    idp.lie = lie
    refused = go(browser)
    assert (refused.status_code, refused.json()["error"]["kind"]) == (401, "unauthorized"), refused.text
    assert browser.get("/v1/me").status_code == 401


def test_each_key_of_the_provider_will_do(browser: httpx.Client, idp: Idp) -> None:
    idp.claims["sub"] = "45"
    idp.lie = "two keys"
    assert go(browser).status_code == 303


@pytest.mark.parametrize(
    "change", [{"state": "other"}, {"state": ""}, {"code": "guessed"}, {"code": ""}, {"iss": "https://evil.example"}]
)
def test_what_was_changed_on_the_way_is_refused(browser: httpx.Client, change: dict[str, str]) -> None:
    refused = go(browser, **change)
    assert (refused.status_code, refused.json()["error"]["kind"]) == (401, "unauthorized")
    assert browser.get("/v1/me").status_code == 401


def test_the_provider_may_change_its_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    idp = Idp()
    idp.claims = {"preferred_username": "ada"}
    settings = Oidc(idp.issuer, CLIENT, "http://localhost", (Rule("*", "viewer"),), client_secret=SECRET)

    async def signed_in(provider: Provider) -> str:
        url, secret = await provider.begin()
        query = parse_qs(urlsplit(httpx.get(url).headers["location"]).query)
        return (await provider.finish(secret, query["state"][0], query["code"][0], None)).name

    async def run() -> None:
        provider = Provider(settings)
        assert await signed_in(provider) == "ada"
        idp.turn_keys()
        with pytest.raises(ApiError, match="not signed by the provider"):
            await signed_in(provider)
        # BaseRequest for again, but not for every token that anybody makes up.
        monkeypatch.setattr(oidc, "_REFETCH_S", 0.0)
        assert await signed_in(provider) == "ada"

    asyncio.run(run())
    idp.served.shutdown()


def test_an_answer_is_good_once_and_in_one_browser(browser: httpx.Client, server: Running, idp: Idp) -> None:
    idp.claims["sub"] = "46"

    def answer(client: httpx.Client) -> str:
        return httpx.get(client.get("/v1/oidc").headers["location"]).headers["location"].replace("http://localhost", "")

    # An attacker's answer in somebody else's browser would sign them in as the attacker.
    with server.client("") as other:
        stolen = answer(other)
        assert browser.get(stolen).status_code == 401
        answer(browser)
        assert browser.get(stolen).status_code == 401
        assert other.get(stolen).status_code == 303
        assert other.get(stolen).status_code == 401


def test_a_provider_that_is_none(browser: httpx.Client, idp: Idp, tmp_path: Path) -> None:
    config = tmp_path / "x.toml"
    config.write_text(f'[oidc]\nissuer = "{idp.issuer}"\nclient_id = "x"\nurl = "http://localhost"\n{RULES}')
    running = start(tmp_path / "store", "", "--config", str(config))
    # A server that knows no keys yet asks the provider each time.
    with running.client("") as client:
        for lie in ("other issuer", "plain http", "long keys"):
            idp.lie = lie
            refused = client.get("/v1/oidc")
            assert (refused.status_code, "the identity provider" in refused.text) == (503, True), lie
        idp.lie = ""
        assert client.get("/v1/oidc").status_code == 303
    running.stop()


def test_without_a_provider(common_server: Running) -> None:
    with common_server.client("") as client:
        assert [client.get(f"/v1/oidc{more}").status_code for more in ("", "/callback?code=x")] == [404, 404]


GOOD = 'issuer = "https://id.example.org"\nclient_id = "x"\nurl = "https://perfcase.example.org"\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[oidc", "cannot be read"),
        ("[ldap]", "there is no table ldap"),
        (f"[oidc]\n{GOOD}", "nobody could sign in"),
        (f'[oidc]\nissuer = "https://x"\n{RULES}', "oidc.client_id is missing"),
        (f'[oidc]\n{GOOD}issuers = "x"\n{RULES}', "oidc.issuers is unknown"),
        (f"[oidc]\n{GOOD}name = 1\n{RULES}", "oidc.name is no text"),
        (f"[oidc]\n{GOOD.replace('https://id', 'http://id')}{RULES}", "is not an https address"),
        (f'[oidc]\n{GOOD}[[oidc.rule]]\nvalue = "x"\nrole = "root"', "there is no role root"),
        (f'[oidc]\n{GOOD}[[oidc.rule]]\nrole = "viewer"', "oidc.rule.value is missing"),
        (f'[oidc]\n{GOOD}client_secret_file = "nothing"\n{RULES}', "or set PERFCASE_OIDC_SECRET"),
    ],
)
def test_settings_that_cannot_be(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(PerfcaseError) as caught:
        configuration.read(tmp_path / "x.toml")
    assert told in str(caught.value)


def test_the_secret_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERFCASE_OIDC_SECRET", "s")
    (tmp_path / "x.toml").write_text(f"[oidc]\n{GOOD}{RULES}")
    made = configuration.read(tmp_path / "x.toml")
    assert (made.client_secret, [rule.role for rule in made.rules]) == ("s", ["admin", "uploader"])
    assert "client_secret" not in repr(made)
    done = subprocess.run(
        [PERFCASE, "serve", "--store", tmp_path / "s", "--config", tmp_path / "no"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr.count("cannot be read")) == (3, 1)
