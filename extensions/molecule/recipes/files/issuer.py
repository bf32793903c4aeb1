# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An OpenID Connect provider that is just enough for an API server: keys, their discovery, and tokens for every user who may run it."""

from __future__ import annotations

import argparse
import base64
import http.server
import json
import ssl
import subprocess
import sys
import time
from pathlib import Path

DIRECTORY = Path(__file__).parent
KEY, CERTIFICATE = DIRECTORY / "key.pem", DIRECTORY / "certificate.pem"
PORT = 8443


def openssl(*arguments: str, data: bytes = b"") -> bytes:
    """The output of openssl."""
    return subprocess.run(["openssl", *arguments], input=data, check=True, capture_output=True).stdout


def encode(data: bytes) -> str:
    """Base64 as tokens have it."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def encode_json(data: object) -> str:
    """A part of a token."""
    return encode(json.dumps(data).encode("utf-8"))


def make(address: str) -> None:
    """A key, and a certificate of it for this address."""
    subject = ("-subj", "/CN=issuer", "-addext", f"subjectAltName=IP:{address}")
    openssl(
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        *subject,
        "-keyout",
        str(KEY),
        "-out",
        str(CERTIFICATE),
    )


def documents(issuer: str) -> dict[str, object]:
    """What is served, by path."""
    modulus = openssl("rsa", "-in", str(KEY), "-noout", "-modulus").decode("ascii").strip().partition("=")[2]
    key = {"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "one", "n": encode(bytes.fromhex(modulus)), "e": "AQAB"}
    discovery = {
        "issuer": issuer,
        "jwks_uri": f"{issuer}/keys",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
    }
    return {"/.well-known/openid-configuration": discovery, "/keys": {"keys": [key]}}


def serve(address: str, issuer: str) -> None:
    """Serve until the end."""
    served = documents(issuer)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            document = served.get(self.path)
            self.send_response(404 if document is None else 200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(document).encode("utf-8"))

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE, KEY)
    server = http.server.ThreadingHTTPServer((address, PORT), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.serve_forever()


def token(issuer: str, audience: str, seconds: int) -> str:
    """A token of Jane, who belongs to the crew."""
    now = int(time.time())
    claims = {"iss": issuer, "aud": audience, "sub": "jane", "groups": ["crew"], "iat": now, "exp": now + seconds}
    signed = f"{encode_json({'alg': 'RS256', 'kid': 'one'})}.{encode_json(claims)}"
    return f"{signed}.{encode(openssl('dgst', '-sha256', '-sign', str(KEY), data=signed.encode('ascii')))}"


def main() -> None:
    """Do what the first argument names."""
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=["make", "serve", "token"])
    parser.add_argument("--address", required=True)
    parser.add_argument("--audience", default="kubernetes")
    parser.add_argument("--seconds", type=int, default=3600)
    given = parser.parse_args()
    issuer = f"https://{given.address}:{PORT}"
    if given.action == "make":
        make(given.address)
    elif given.action == "serve":
        serve(given.address, issuer)
    else:
        sys.stdout.write(token(issuer, given.audience, given.seconds))


if __name__ == "__main__":
    main()
