# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Use an API through its load balancer, as clients do: reads and writes, one after the other, on connections that are kept.

    python3 prober.py /path/of/kubeconfig

A request that fails is sent once more, on a new connection. It prints a line of JSON for every failure and, when its input is
closed, a summary. Python's standard library, PyYAML, and the collection's reader of kubeconfigs.
"""

from __future__ import annotations

import http.client
import json
import sys
import threading
import time
import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.kubeconfig import read_credentials

PAUSE_SECONDS = 0.1
TIMEOUT = 10.0
CLIENTS = 3
OBJECTS = "/api/v1/namespaces/default/configmaps"
MERGE = {"Content-Type": "application/merge-patch+json"}

Json = dict[str, t.Any]


class Client:
    """One client with one connection at a time."""

    def __init__(self, number: int, kubeconfig: str) -> None:
        self._server = read_credentials(kubeconfig).at()
        self._name = f"prober-{number}"
        self._connection: http.client.HTTPConnection | None = None
        self.counts = {"requests": 0, "failed": 0, "lost": 0}
        self.longest = 0.0

    def make(self) -> None:
        """The object that it reads and writes."""
        status, dummy = self._send("POST", OBJECTS, json.dumps({"metadata": {"name": self._name}}), {})
        assert status in (201, 409), status

    def remove(self) -> None:
        """Take the object away."""
        self._send("DELETE", f"{OBJECTS}/{self._name}", None, {})

    def step(self, number: int) -> None:
        """One request: a read, or a write."""
        path = f"{OBJECTS}/{self._name}"
        if number % 2:
            self._try_twice("PATCH", path, json.dumps({"data": {"number": str(number)}}), MERGE)
        else:
            self._try_twice("GET", path, None, {})

    def _try_twice(self, verb: str, path: str, body: str | None, headers: t.Mapping[str, str]) -> None:
        began = time.monotonic()
        self.counts["requests"] += 1
        problem = self._problem(verb, path, body, headers)
        if problem:
            self.counts["failed"] += 1
            self._drop()
            again = self._problem(verb, path, body, headers)
            self.counts["lost"] += bool(again)
            print_line({"at": began, "request": f"{verb} {path}", "problem": problem, "again": again})
        self.longest = max(self.longest, time.monotonic() - began)

    def _problem(self, verb: str, path: str, body: str | None, headers: t.Mapping[str, str]) -> str:
        """Why a request failed; empty when it did not."""
        try:
            status, response_body = self._send(verb, path, body, headers)
        except (OSError, http.client.HTTPException) as exc:
            self._drop()
            return f"{type(exc).__name__}: {exc}"
        return "" if status == 200 else f"{status}: {response_body[:200]!r}"

    def _send(self, verb: str, path: str, body: str | None, headers: t.Mapping[str, str]) -> tuple[int, bytes]:
        if self._connection is None:
            self._connection = self._server.connect(TIMEOUT)
        content = body.encode() if body is not None else None
        response = self._server.send(self._connection, verb, path, headers=[*headers.items()], body=content)
        return response.status, response.read()

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def print_line(line: Json) -> None:
    """One line in one write: print takes two, between which another client may come."""
    sys.stdout.write(f"{json.dumps(line)}\n")
    sys.stdout.flush()


def use(client: Client, ended: threading.Event) -> None:
    """Go on until the end."""
    number = 0
    while not ended.wait(PAUSE_SECONDS):
        client.step(number)
        number += 1


def main() -> None:
    """Do it."""
    clients = [Client(number, sys.argv[1]) for number in range(CLIENTS)]
    for client in clients:
        client.make()
    ended = threading.Event()
    threads = [threading.Thread(target=use, args=(client, ended)) for client in clients]
    for thread in threads:
        thread.start()
    print_line({"began": time.monotonic()})
    sys.stdin.read()
    ended.set()
    for thread in threads:
        thread.join()
    for client in clients:
        client.remove()
    counts = {key: sum(client.counts[key] for client in clients) for key in clients[0].counts}
    print_line({**counts, "longest": round(max(client.longest for client in clients), 2)})


if __name__ == "__main__":
    main()
