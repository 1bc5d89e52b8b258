"""Signing in with an account of an identity provider, in a browser: what is refused is said, who may gets in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.conftest import free_port, start
from tests.api.provider import CLIENT, SECRET, Idp
from tests.web.chromium import Page


@pytest.fixture
def idp() -> Iterator[Idp]:
    made = Idp()
    yield made
    made.served.shutdown()


def test_an_account_of_a_provider(browser: Page, idp: Idp, tmp_path: Path) -> None:
    port = free_port()
    (tmp_path / "secret").write_text(SECRET)
    config = tmp_path / "perfcase.toml"
    config.write_text(
        f'[oidc]\nname = "Example <b>"\nissuer = "{idp.issuer}"\nclient_id = "{CLIENT}"\nclient_secret_file = "secret"\n'
        f'url = "http://127.0.0.1:{port}"\n[[oidc.rule]]\nvalue = "sre"\nrole = "viewer"\n'
    )
    running = start(tmp_path / "store", "", "--config", str(config), port=port)
    try:
        idp.claims = {"preferred_username": "<i>eve</i>", "groups": ["others"]}
        browser.open(f"http://127.0.0.1:{port}/")
        browser.click(".sign-in a", "Sign in with Example <b>")
        browser.until("document.querySelector('.sign-in .problem') !== null")
        said = browser.see("document.querySelector('.sign-in .problem').innerText")
        assert "has none of the accounts that may sign in" in said
        browser.screenshot("sign-in-refused")
        # It is said once.
        browser.open(f"http://127.0.0.1:{port}/")
        browser.has("Sign in with", ".sign-in")
        assert browser.see("document.querySelector('.problem') === null")
        idp.claims = {"preferred_username": "ada", "groups": ["sre"]}
        browser.click(".sign-in a", "Sign in with Example <b>")
        browser.has("No captures yet")
        assert browser.see("fetch('/v1/me').then((answer) => answer.json()).then(({name}) => name)") == "ada"
    finally:
        running.stop()
        browser.open("about:blank")
        browser.problems.clear()
