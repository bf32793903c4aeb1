# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A snapshot of an etcd member: saved on its node, and read back before it is reported."""

from __future__ import annotations

import base64
import contextlib
import datetime
import hashlib
import json
import os
import typing as t

from ..._engine.engine_errors import CredentialError
from ..._engine.etcd_member import tls_context_of
from ..._engine.files import make_directory, naming_path, sync_directory
from ..._engine.http_requests import REQUEST_ERRORS, Server, describe_failure
from ..._plan.common.errors import KubeadmError
from ..transaction import disk_space
from ..transaction.state import state_directory
from .etcd_client import Access

_SNAPSHOT = "/v3/maintenance/snapshot"
# Between two pieces; etcd opens its database before the first one.
_TIMEOUT = 60.0
# etcd puts the digest of the database behind it, and its database is written in whole sectors.
_DIGEST = hashlib.sha256().digest_size
_SECTOR = 512
_PIECE_SIZE = 1024 * 1024  # any size will do; a database as a whole may be larger than the memory
# The restarted member allocates up to two segments of its log, 64 MB each, and fails without.
_FREE_MARGIN = 512 * 1024 * 1024


def snapshot_directory() -> str:
    """Where snapshots are saved. Nothing removes them."""
    return os.path.join(state_directory("etcd"), "snapshots")


def save(access: Access) -> str:
    """Save a snapshot of a member, and verify it on the disk. Returns its path. Raises KubeadmError."""
    now = datetime.datetime.now(datetime.timezone.utc)
    path = os.path.join(snapshot_directory(), f"{now.strftime('%Y%m%dT%H%M%S.%fZ')}.db")
    temporary = os.path.join(snapshot_directory(), f".{os.path.basename(path)}")
    try:
        make_directory(snapshot_directory())
        announced = _download(access, temporary)
        _verify_digest(temporary, announced)
        with naming_path(path):
            os.rename(temporary, path)
        sync_directory(snapshot_directory())
    except (CredentialError, *REQUEST_ERRORS, TypeError, LookupError) as exc:
        raise _error(describe_failure(exc)) from exc
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
    return path


def _error(problem: str) -> KubeadmError:
    return KubeadmError(
        f"the snapshot of etcd on {os.uname().nodename} that comes before a forced change could not be saved: {problem}. Nothing was changed."
    )


def _download(access: Access, path: str) -> int:
    """Write what the member sends. Returns its database's announced size."""
    announced = written = 0
    with open(os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
        for content, left in _stream_pieces(access):
            if not announced:
                announced = len(content) + left
                _require_space(announced)
            if not content and left:
                raise _error(f"{access.url} cannot read its own database to the end. Check its disk")
            stream.write(content)
            written += len(content)
        stream.flush()
        os.fsync(stream.fileno())
    if written != announced + _DIGEST:
        raise _error(f"{access.url} announced {announced} bytes and their digest, and sent {written}")
    return announced


def _stream_pieces(access: Access) -> t.Iterator[tuple[bytes, int]]:
    """Each piece, and how many bytes are left: one line of JSON each."""
    server = Server(access.url, context=tls_context_of(access.to_journal()))
    connection = server.connect(_TIMEOUT)
    try:
        response = server.send(connection, "POST", _SNAPSHOT, body=b"{}")
        if response.status != 200:
            raise _error(f"{access.url}{_SNAPSHOT} answers {response.status}")
        for line in response:
            if not line.strip():
                continue
            entry = json.loads(line)
            if "result" not in entry:
                raise _error(f"{access.url} ended with {entry.get('error')}")
            result = entry["result"]
            yield base64.b64decode(result.get("blob") or ""), int(result.get("remaining_bytes") or 0)
    finally:
        connection.close()


def _require_space(size: int) -> None:
    free = disk_space.space_at(snapshot_directory()).bytes
    if free < size + _FREE_MARGIN:
        raise _error(f"{snapshot_directory()} has {free} bytes free, and the database has {size}. Make space there")


def _verify_digest(path: str, announced: int) -> None:
    """Whether the file has the bytes that etcd sent: by their number, and by the digest at its end."""
    size = os.path.getsize(path)
    if size != announced + _DIGEST or announced % _SECTOR or not announced:
        raise _error(f"{path} has {size} bytes, which is not a database of {announced} with its digest")
    digest, left = hashlib.sha256(), announced
    with naming_path(path), open(path, "rb") as stream:
        while left:
            piece = stream.read(min(_PIECE_SIZE, left))
            if not piece:
                raise _error(f"{path} ends before its digest")
            digest.update(piece)
            left -= len(piece)
        stored_digest = stream.read()
    if stored_digest != digest.digest():
        raise _error(f"the digest at the end of {path} is not that of its content")
