# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""Which keys the values in etcd were written with. Reads only, and keeps nothing of a value but how it begins."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import typing as t

from .._engine.etcd import reason_of, request
from .._engine.files import Json, json_object
from .._plan.common.errors import KubeadmError
from . import etcd
from .component_files import ComponentFiles

_RANGE = "/v3/kv/range"
_PAGE = 100  # values of one answer; each may have more than a megabyte
_DIGITS = 4096  # of base64 that are looked at; the name of a key stands in them
# The keys of these begin with their names. Of other resources that is not certain, so all values count.
_PREFIXES = {"secrets": "secrets/", "configmaps": "configmaps/"}


def count(files: ComponentFiles, resource: str, matches: t.Callable[[bytes], bool]) -> int:
    """How many stored values match by how they begin: those of a resource, or all where that cannot be told apart.

    files: of the API server as it runs. Raises KubeadmError when its etcd does not tell.
    """
    if files.flag("etcd-servers-overrides"):
        raise KubeadmError("--etcd-servers-overrides keeps some resources elsewhere")
    root = (files.flag("etcd-prefix") or "/registry").strip("/")
    prefix = f"/{root}/{_PREFIXES.get(resource, '')}".encode()
    return sum(matches(value) for value in _beginnings(files, prefix))


def _beginnings(files: ComponentFiles, prefix: bytes) -> t.Iterator[bytes]:
    """How each value begins whose key in etcd has this prefix, all as of one revision."""
    url, context = _address(files)
    after, revision = prefix, 0
    while True:
        answer = _page(url, context, after, prefix[:-1] + bytes([prefix[-1] + 1]), revision)
        revision = int(answer["header"]["revision"])
        entries = answer.get("kvs") or []
        for entry in entries:
            yield base64.b64decode((entry.get("value") or "")[:_DIGITS])
        if not answer.get("more"):
            return
        after = base64.b64decode(entries[-1]["key"]) + b"\0"


def _address(files: ComponentFiles) -> tuple[str, ssl.SSLContext | None]:
    urls = [url for url in files.flags("etcd-servers") if url.startswith(("http://", "https://"))]
    problems = []
    for url in urls:
        context = etcd.caller_context(files) if url.startswith("https://") else None
        health = etcd.ask_health(url, context)
        if health.ok:
            return url, context
        problems.append(health.words)
    raise KubeadmError("; ".join(problems) or "--etcd-servers names no address that can be asked")


def _page(url: str, context: ssl.SSLContext | None, first: bytes, end: bytes, revision: int) -> Json:
    question = {
        "key": base64.b64encode(first).decode("ascii"),
        "range_end": base64.b64encode(end).decode("ascii"),
        "limit": _PAGE,
        "revision": revision,
    }
    try:
        status, body = request("POST", url, _RANGE, context, json.dumps(question))
        if status != 200:
            raise KubeadmError(f"{url}{_RANGE} answers {status}")
        return json_object(body)
    except (http.client.HTTPException, OSError, ValueError) as exc:
        raise KubeadmError(f"{url}: {reason_of(exc)}") from exc
