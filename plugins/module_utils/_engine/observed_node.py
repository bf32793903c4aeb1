# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the observations of all components have in common: the node, the tokens of its pods, and whether a server answers at all."""

from __future__ import annotations

import contextlib
import glob
import os
import typing as t

from . import tls
from .engine_errors import CredentialError
from .files import open_to_read
from .http_requests import REQUEST_ERRORS, Server, describe_failure
from .journal import Address
from .node import Host
from .probes import PROBE_TIMEOUT, HttpGet, url_of

Problems = t.Mapping[str, str]  # what is observed -> why it does not work; empty where it does

_IN_POD = "volumes/kubernetes.io~projected/kube-api-access-*/token"
_KEPT = 3


class PodTokens:
    """Tokens that were issued before a change, in memory alone, so an engine that takes over has none. kubelet_root: the directory of the kubelet."""

    def __init__(self, kubelet_root: str) -> None:
        self._root = kubelet_root
        self._tokens: dict[str, str] = {}

    def read(self) -> None:
        """Read the tokens of the pods that have been there for the longest, and so will be after the change, by their files."""
        found: dict[str, str] = {}
        for pod in sorted(glob.glob(os.path.join(self._root, "pods", "*")), key=_time_of):
            for path in glob.glob(os.path.join(glob.escape(pod), _IN_POD)):
                with contextlib.suppress(OSError, ValueError), open_to_read(os.path.realpath(path)) as stream:
                    found[path] = stream.read().decode("ascii").strip()
        self._tokens = dict(list(found.items())[:_KEPT])

    def find_problem(self, check: t.Callable[[str], str]) -> str | None:
        """Why none of them works; None without one. A token ends with its pod, so one of those that are there is enough. check: why one does not work."""
        problem = None
        for path, token in self._tokens.items():
            if os.path.exists(path) and not (problem := check(token)):
                return ""
        return problem


def _time_of(path: str) -> float:
    try:
        return os.path.getmtime(path)
    except OSError:  # its pod has just ended
        return 0.0


class ObservedNode(t.NamedTuple):
    """The node whose component is observed."""

    host: Host
    http_get: HttpGet
    tokens: PodTokens


def request_problem(host: str, port: int) -> str:
    """Why nothing answers over TLS; whatever it answers counts."""
    address: Address = {"scheme": "https", "host": host, "port": port}
    try:
        Server(url_of(address), context=tls.client_context(verify=False)).request(
            "GET", "/healthz", timeout=PROBE_TIMEOUT
        )
    except (CredentialError, *REQUEST_ERRORS) as exc:
        return describe_failure(exc)
    return ""
