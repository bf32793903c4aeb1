# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A member of etcd as its clients see it: health, members, values, and TLS that asks callers for a certificate."""

from __future__ import annotations

import base64
import http.server
import json
import ssl
import threading
import typing as t
from pathlib import Path

from ansible_collections.nodecraft.kubeadm.tests.unit.support.authority import Authority, Pair

THIS = "10"


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: t.Any, client_address: t.Any) -> None:
        """Say nothing: callers are turned down on purpose."""


def _text(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


class FakeEtcd:
    """A member at C(url).

    healthy: what it says of itself. members: of its cluster; None when it does not tell. values: by key; None when it does not tell.
    """

    def __init__(self, folder: Path, authority: Authority, server: Pair, *, newest_tls: bool = False) -> None:
        self.healthy = True
        self.members: list[dict[str, t.Any]] | None = []
        self.values: dict[str, bytes] | None = {}
        self.requests: list[str] = []
        self._server = _Server(("127.0.0.1", 0), self._handler())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if newest_tls:
            context.minimum_version = ssl.TLSVersion.TLSv1_3
        for name, content in (("server.crt", server.certificate), ("server.key", server.key)):
            (folder / name).write_bytes(content)
        context.load_cert_chain(folder / "server.crt", folder / "server.key")
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=authority.certificate.decode("ascii"))
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"https://127.0.0.1:{self._server.server_address[1]}"
        self.members = [self.member(THIS, [self.url])]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    @staticmethod
    def member(identifier: str, urls: list[str], *, learner: bool = False, name: str | None = None) -> dict[str, t.Any]:
        """An entry of the list, with what a real one leaves out."""
        entry: dict[str, t.Any] = {"ID": identifier, "peerURLs": ["https://127.0.0.1:2380"]}
        if urls:
            entry.update(name=name or f"cp{identifier}", clientURLs=urls)
        if learner:
            entry["isLearner"] = True
        return entry

    def close(self) -> None:
        """End the server."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def range(self, question: dict[str, t.Any]) -> dict[str, t.Any] | None:
        """The answer to a question for values, with what a real one leaves out."""
        if self.values is None:
            return None
        first, end = (base64.b64decode(question[name]).decode() for name in ("key", "range_end"))
        keys = [key for key in sorted(self.values) if first <= key < end]
        page = keys[: question["limit"]]
        answer: dict[str, t.Any] = {"header": {"revision": "7"}}
        if page:
            pairs = ((key.encode(), self.values[key]) for key in page)
            answer["kvs"] = [{"key": _text(key), **({"value": _text(value)} if value else {})} for key, value in pairs]
            answer["count"] = str(len(keys))
        return {**answer, "more": True} if page != keys else answer

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        etcd = self

        class Handler(http.server.BaseHTTPRequestHandler):
            timeout = 5

            def setup(self) -> None:
                super().setup()
                self.request.do_handshake()

            def do_GET(self) -> None:
                etcd.requests.append(self.path)
                health = {"health": "true" if etcd.healthy else "false", "reason": "" if etcd.healthy else "NO LEADER"}
                self._answer(200 if etcd.healthy else 503, health)

            def do_POST(self) -> None:
                # What arrives after the end of a connection resets it, and the caller may lose the answer.
                question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                etcd.requests.append(self.path)
                if self.path.endswith("/kv/range"):
                    found = etcd.range(question)
                else:
                    found = None if etcd.members is None else {"header": {"member_id": THIS}, "members": etcd.members}
                self._answer(404 if found is None else 200, found or {})

            def _answer(self, status: int, body: t.Any) -> None:
                self.send_response(status)
                self.end_headers()
                self.wfile.write(json.dumps(body).encode())

            def log_message(self, format: str, *args: t.Any) -> None:  # noqa: A002  # its name in the base class
                """Say nothing."""

        return Handler
