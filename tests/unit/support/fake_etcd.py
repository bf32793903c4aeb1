# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A member of etcd as its clients see it: health, members, values, and TLS that requires a client's certificate."""

from __future__ import annotations

import base64
import hashlib
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
        """Log nothing: clients are rejected on purpose."""


def _text(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


class FakeEtcd:
    """A member at C(url), over TLS where an authority signs its certificate.

    healthy: its own health. members: of its cluster; None when it does not list them. values: by key; None when it does not list them.
    revision: of its store. alarms: by member, of its cluster; None when it does not list them. size: of its database. accepts_writes: whether it accepts
    writes. error_status: of a response without a result. next_alarm: the alarm that its next write raises. snapshot: what it sends
    as one; corrupt: how that is changed on its way. leader: the member that leads.
    """

    def __init__(
        self,
        directory: Path,
        authority: Authority | None = None,
        server: Pair | None = None,
        *,
        newest_tls: bool = False,
    ) -> None:
        self.healthy = True
        self.error_status = 404
        self._connection = threading.local()
        self.members: list[dict[str, t.Any]] | None = []
        self.values: dict[str, bytes] | None = {}
        self.requests: list[str] = []
        self.revision, self.size, self.accepts_writes = 7, 4096, True
        self.alarms: dict[str, str] | None = {}
        self.next_alarm: str | None = None
        self.leader = "0"
        self.snapshot = b"database" * 16384
        self.corrupt: t.Callable[[list[bytes]], list[bytes]] = lambda pieces: pieces
        self._server = _Server(("0.0.0.0", 0), self._handler())  # noqa: S104  # a loopback address for each member
        scheme = "http"
        if authority and server:
            scheme = "https"
            self._require_client_certificates(directory, authority, server, newest_tls=newest_tls)
        self.url = f"{scheme}://127.0.0.1:{self._server.server_address[1]}"
        self.members = [self.member(THIS, [self.url])]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def _require_client_certificates(
        self, directory: Path, authority: Authority, server: Pair, *, newest_tls: bool
    ) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if newest_tls:
            context.minimum_version = ssl.TLSVersion.TLSv1_3
        for name, content in (("server.crt", server.certificate), ("server.key", server.key)):
            (directory / name).write_bytes(content)
        context.load_cert_chain(directory / "server.crt", directory / "server.key")
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=authority.certificate.decode("ascii"))
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)

    @staticmethod
    def member(identifier: str, urls: list[str], *, learner: bool = False, name: str | None = None) -> dict[str, t.Any]:
        """An entry of the list, without what a real one leaves out."""
        entry: dict[str, t.Any] = {"ID": identifier, "peerURLs": ["https://127.0.0.1:2380"]}
        if urls:
            if identifier != THIS:
                urls = [
                    url if url.endswith(":1") else url.replace("127.0.0.1", f"127.0.0.{identifier}") for url in urls
                ]
            entry.update(name=name or f"cp{identifier}", clientURLs=urls)
        if learner:
            entry["isLearner"] = True
        return entry

    def close(self) -> None:
        """End the server."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def range(self, body: dict[str, t.Any]) -> dict[str, t.Any] | None:
        """The response to a request for values, without what a real one leaves out."""
        if self.values is None:
            return None
        first, end = (base64.b64decode(body[name]).decode() for name in ("key", "range_end"))
        keys = [key for key in sorted(self.values) if first <= key < end]
        page = keys[: body["limit"]]
        response: dict[str, t.Any] = {"header": {"revision": "7"}}
        if page:
            pairs = ((key.encode(), self.values[key]) for key in page)
            response["kvs"] = [
                {"key": _text(key), **({"value": _text(value)} if value else {})} for key, value in pairs
            ]
            response["count"] = str(len(keys))
        return {**response, "more": True} if page != keys else response

    def _header(self) -> dict[str, str]:
        return {"member_id": getattr(self._connection, "member", THIS), "revision": str(self.revision)}

    def write(self, path: str, body: dict[str, t.Any]) -> dict[str, t.Any] | None:
        """The response to a put or a deletion."""
        if not self.accepts_writes:
            return None
        self.values = self.values or {}
        key = base64.b64decode(body["key"]).decode()
        self.revision += 1
        if self.next_alarm:
            self.alarms = {**(self.alarms or {}), THIS: self.next_alarm}
        if path.endswith("/put"):
            self.values[key] = base64.b64decode(body["value"])
            return {"header": self._header()}
        deleted = self.values.pop(key, None)
        return {"header": self._header(), **({} if deleted is None else {"deleted": "1"})}

    def maintenance(self, path: str) -> dict[str, t.Any] | None:
        """The response to a request for the status or the alarms."""
        if path.endswith("/status"):
            return {"header": self._header(), "dbSize": str(self.size), "leader": self.leader}
        if self.alarms is None:
            return None
        found = [{"memberID": member, "alarm": alarm} for member, alarm in self.alarms.items()]
        return {"header": self._header(), **({"alarms": found} if found else {})}

    def move_leader(self, body: dict[str, t.Any]) -> dict[str, t.Any] | None:
        """The response to a request to have another member lead: only the leader takes one."""
        if self.leader != self._header()["member_id"]:
            return None
        self.leader = body["targetID"]
        return {"header": self._header()}

    def stream(self) -> bytes:
        """A snapshot as it goes over the wire."""
        pieces = [self.snapshot[at : at + 32768] for at in range(0, len(self.snapshot), 32768)]
        left = len(self.snapshot)
        lines = []
        for piece in pieces:
            left -= len(piece)
            lines.append({"result": {"remaining_bytes": str(left), "blob": _text(piece)}})
        lines.append({"result": {"blob": _text(hashlib.sha256(self.snapshot).digest())}})
        return b"".join(self.corrupt([json.dumps(line).encode() + b"\n" for line in lines]))

    def respond(self, path: str, body: dict[str, t.Any]) -> dict[str, t.Any] | None:
        """The response to a request; None for an error."""
        if path.endswith("/kv/range"):
            return self.range(body)
        if "/kv/" in path:
            return self.write(path, body)
        if path.endswith("/transfer-leadership"):
            return self.move_leader(body)
        if "/maintenance/" in path:
            return self.maintenance(path)
        return None if self.members is None else {"header": self._header(), "members": self.members}

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        etcd = self

        class Handler(http.server.BaseHTTPRequestHandler):
            timeout = 5

            def setup(self) -> None:
                super().setup()
                if isinstance(self.request, ssl.SSLSocket):
                    self.request.do_handshake()

            def do_GET(self) -> None:
                etcd.requests.append(self.path)
                reason = "" if etcd.healthy else "NO LEADER"
                if "exclude" not in self.path and etcd.alarms:
                    reason = f"ALARM {next(iter(etcd.alarms.values()))}"
                self._send(503 if reason else 200, {"health": "false" if reason else "true", "reason": reason})

            def do_POST(self) -> None:
                # One fake stands for several members, each at an address of its own.
                last = self.request.getsockname()[0].rpartition(".")[2]
                etcd._connection.member = THIS if last == "1" else last
                # What arrives after the end of a connection resets it, and the client may lose the response.
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                etcd.requests.append(self.path)
                if self.path.endswith("/snapshot"):
                    self.send_response(200)
                    self.end_headers()
                    self.wfile.write(etcd.stream())
                    return
                response = etcd.respond(self.path, body)
                self._send(etcd.error_status if response is None else 200, response or {})

            def _send(self, status: int, body: t.Any) -> None:
                self.send_response(status)
                self.end_headers()
                self.wfile.write(json.dumps(body).encode())

            def log_message(self, format: str, *args: t.Any) -> None:  # noqa: A002  # its name in the base class
                """Log nothing."""

        return Handler
