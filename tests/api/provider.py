"""A small identity provider for tests: real signatures, and every lie that one may tell."""

from __future__ import annotations

import json
import secrets
import threading
import time
from base64 import urlsafe_b64encode
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, OctKey, RSAKey

CLIENT, SECRET = "perfcase", "client-secret"


class Idp:
    """The provider. ``claims`` are of who signs in; ``lie`` changes one thing."""

    def __init__(self) -> None:
        self.keys = [RSAKey.generate_key(2048, {"kid": "one"}), ECKey.generate_key("P-256", {"kid": "two"})]
        self.published = [key.as_dict(private=False) for key in self.keys]
        self.claims: dict[str, Any] = {}
        self.lie = ""
        self.codes: dict[str, dict[str, str]] = {}
        self.seen: list[dict[str, str]] = []
        idp = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                if parts.path == "/authorize":
                    self.send_response(302)
                    self.send_header("Location", idp.authorize({k: v[0] for k, v in parse_qs(parts.query).items()}))
                    self.end_headers()
                else:
                    self.answer(*idp.document(parts.path))

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                form = {key: value[0] for key, value in parse_qs(body).items()}
                self.answer(*idp.token(form, self.headers["Authorization"] or ""))

            def answer(self, status: int, what: object) -> None:
                data = what if isinstance(what, bytes) else json.dumps(what).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        self.served = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self.served.server_port}"
        threading.Thread(target=self.served.serve_forever, daemon=True).start()

    def document(self, path: str) -> tuple[int, object]:
        """What it says of itself."""
        if path == "/.well-known/openid-configuration":
            issuer = "https://evil.example" if self.lie == "other issuer" else self.issuer
            token = "http://evil.example/token" if self.lie == "plain http" else f"{self.issuer}/token"
            return 200, {
                "issuer": issuer, "authorization_endpoint": f"{self.issuer}/authorize", "token_endpoint": token,
                "jwks_uri": f"{self.issuer}/keys", "id_token_signing_alg_values_supported": ["HS256", "none", "RS256"],
            }  # fmt: skip
        if path == "/keys":
            return (200, b" " * (2 << 20)) if self.lie == "long keys" else (200, {"keys": self.published})
        return 404, {}

    def authorize(self, query: dict[str, str]) -> str:
        """Sign in the person that ``claims`` describes, at once; return the address that leads back."""
        self.seen.append(query)
        code = secrets.token_hex(8)
        self.codes[code] = query
        if self.lie == "denied":
            return f"{query['redirect_uri']}?error=access_denied&state={query['state']}"
        return f"{query['redirect_uri']}?code={code}&state={query['state']}&iss={self.issuer}"

    def token(self, form: dict[str, str], authorization: str) -> tuple[int, object]:
        """Exchanges a code, if the verifier is that of its challenge and the client knows its secret."""
        query = self.codes.pop(form.get("code", ""), None)
        challenge = urlsafe_b64encode(sha256(form.get("code_verifier", "").encode()).digest()).decode().rstrip("=")
        is_client = authorization == "Basic " + _basic(CLIENT, SECRET)
        if (
            query is None
            or query.get("code_challenge_method") != "S256"
            or challenge != query["code_challenge"]
            or not is_client
        ):
            return 400, {"error": "invalid_grant"}
        if self.lie == "no id token":
            return 200, {"access_token": "x", "token_type": "Bearer"}
        if self.lie == "long answer":
            return 200, b'{"id_token": "' + b"x" * (2 << 20) + b'"}'
        return 200, {"access_token": "x", "token_type": "Bearer", "id_token": self.signed(query["nonce"])}

    def signed(self, nonce: str) -> str:
        """The ID token."""
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT,
            "sub": "42",
            "exp": now + 60,
            "iat": now,
            "nonce": nonce,
            **self.claims,
        }
        changes: dict[str, Any] = {
            "expired": {"exp": now - 3600}, "of tomorrow": {"iat": now + 86400, "nbf": now + 86400},
            "for another": {"aud": "other"}, "for many": {"aud": ["other", CLIENT], "azp": "other"},
            "by another": {"iss": "https://evil.example"}, "replayed": {"nonce": "old"}, "another's answer": {"at_hash": "x"},
        }  # fmt: skip
        claims.update(changes.get(self.lie, {}))
        if self.lie.startswith("without "):
            del claims[self.lie.removeprefix("without ")]
        algorithm, key = "RS256", self.keys[0]
        if self.lie == "two keys":
            algorithm, key = "ES256", self.keys[1]
        elif self.lie == "stranger's key":
            key = RSAKey.generate_key(2048, {"kid": "one"})
        elif self.lie == "public key as secret":
            algorithm, key = "HS256", OctKey.import_key(self.keys[0].as_pem(private=False))
        elif self.lie == "unsigned":
            return ".".join(_part(part) for part in ({"alg": "none"}, claims)) + "."
        elif self.lie == "no token":
            return "x.y"
        token = jwt.encode({"alg": algorithm, "kid": key.kid or "one"}, claims, key, algorithms=[algorithm])
        if self.lie == "changed":
            head, _, signature = token.split(".")
            return f"{head}.{_part({**claims, 'groups': ['sre']})}.{signature}"
        return token

    def turn_keys(self) -> None:
        """Signs with a new key from now on."""
        self.keys[0] = RSAKey.generate_key(2048, {"kid": "three"})
        self.published = KeySet(self.keys).as_dict(private=False)["keys"]


def _basic(name: str, secret: str) -> str:
    from base64 import b64encode

    return b64encode(f"{name}:{secret}".encode()).decode()


def _part(what: object) -> str:
    return urlsafe_b64encode(json.dumps(what).encode()).decode().rstrip("=")
