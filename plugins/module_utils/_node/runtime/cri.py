# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The container runtime by the interface that the kubelet uses (CRI, runtime.v1), whichever runtime it is.

A node need not have crictl, and no gRPC for its Python. One call is one connection to the socket: the beginning of an HTTP/2
connection, one request with one message of Protocol Buffers, and the message of the response.
"""

from __future__ import annotations

import json
import socket
import struct
import typing as t

from ..._plan.common.errors import KubeadmError

TIMEOUT = 10.0

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RESET, _SETTINGS, _PING, _GOAWAY, _WINDOW = 0, 1, 3, 4, 6, 7, 8
_END_STREAM = _ACK = 0x1
_END_HEADERS = 0x4
_STREAM = 1
_WINDOW_BYTES = 2**24  # the list of all images does not fit into the 64 KiB that a server may send without it
_LENGTH, _VARINT = 2, 0

Fields = dict[int, list[t.Any]]


class RuntimeStatus(t.NamedTuple):
    """What a runtime reports. not_ready, network_not_ready: why it, or its network, is not; empty when it is. sandbox_image: which every pod begins
    with; empty where the runtime does not report it."""

    not_ready: str
    network_not_ready: str
    sandbox_image: str

    def problem(self, *, needs_network: bool) -> str:
        """Why no pod is started; empty when some are. needs_network: whether it has to be one with a network of its own."""
        return self.not_ready or (self.network_not_ready if needs_network else "")


def read_status(path: str) -> RuntimeStatus:
    """The status of the runtime at a socket. Raises KubeadmError when it does not answer."""
    response = _call(path, "RuntimeService/Status", _varint_field(1, 1))
    status = _parse(response.get(1, [b""])[0])
    reasons = dict(map(_condition, status.get(1, [])))
    info = {key.decode(): value for key, value in (_pair(entry) for entry in response.get(2, []))}
    return RuntimeStatus(
        reasons.get("RuntimeReady", "it reports no condition RuntimeReady"),
        reasons.get("NetworkReady", ""),
        _sandbox_image(info.get("config", b"{}")),
    )


def has_image(path: str, image: str) -> bool:
    """Whether the kubelet finds an image without a pull. Raises KubeadmError when the runtime does not answer."""
    spec = _bytes_field(1, image.encode())
    return bool(_call(path, "ImageService/ImageStatus", _bytes_field(1, spec)).get(1))


def pinned_images(path: str) -> list[str]:
    """The names of the images that the kubelet does not collect, as containerd and CRI-O have it with that of the sandbox, which is the first one then.

    Raises KubeadmError when the runtime does not answer."""
    images = map(_parse, _call(path, "ImageService/ListImages", b"").get(1, []))
    names = [image.get(2, image.get(1, [b""]))[0].decode() for image in images if image.get(8)]
    return sorted(names, key=lambda name: "pause" not in name)


def _condition(data: bytes) -> tuple[str, str]:
    """The type of a condition, and why it is not met; empty when it is."""
    fields = _parse(data)
    kind, reason, message = (fields.get(number, [b""])[0].decode() for number in (1, 3, 4))
    return kind, "" if fields.get(2) else f"{reason}: {message}".strip(": ") or f"{kind} is false"


def _pair(data: bytes) -> tuple[bytes, bytes]:
    fields = _parse(data)
    return fields.get(1, [b""])[0], fields.get(2, [b""])[0]


def _sandbox_image(config: bytes) -> str:
    """Of containerd 1; containerd 2 and CRI-O leave it out of what they report."""
    try:
        return str(json.loads(config).get("sandboxImage") or "")
    except (ValueError, AttributeError):
        return ""


# ---- one call --------------------------------------------------------------------------------------------------------


def connect(path: str) -> socket.socket:
    """A connection to a socket. Raises OSError."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(TIMEOUT)
    try:
        connection.connect(path)
    except OSError:
        connection.close()
        raise
    return connection


def _call(path: str, method: str, message: bytes) -> Fields:
    """The response to one call. Raises KubeadmError with the socket and the reason."""
    try:
        with connect(path) as connection:
            body = b"\0" + struct.pack(">I", len(message)) + message
            connection.sendall(
                _PREFACE
                + _frame(_SETTINGS, 0, 0, struct.pack(">HI", 4, _WINDOW_BYTES))
                + _frame(_WINDOW, 0, 0, struct.pack(">I", _WINDOW_BYTES))
                + _frame(_HEADERS, _END_HEADERS, _STREAM, _request_headers(f"/runtime.v1.{method}"))
                + _frame(_DATA, _END_STREAM, _STREAM, body)
            )
            data = _read_response(connection)
    except OSError as exc:
        reason = f"no answer within {TIMEOUT:g} s" if isinstance(exc, socket.timeout) else exc.strerror or str(exc)
        raise KubeadmError(f"the container runtime at {path} does not answer: {reason}") from exc
    if len(data) < 5:  # an error is in the trailers only, in compressed text
        raise KubeadmError(f"the container runtime at {path} declines {method} of CRI runtime.v1")
    return _parse(data[5:])


def _read_response(connection: socket.socket) -> bytes:
    """The data of our stream until it ends. Raises OSError."""
    data = b""
    with connection.makefile("rb") as stream:
        while True:
            head = stream.read(9)
            if len(head) < 9:
                raise ConnectionResetError("the connection was closed")
            size, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
            payload = stream.read(size)
            if kind in (_SETTINGS, _PING) and not flags & _ACK:
                connection.sendall(_frame(kind, _ACK, 0, payload if kind == _PING else b""))
            elif kind == _DATA:
                data += payload
            if kind in (_RESET, _GOAWAY) or (kind in (_DATA, _HEADERS) and flags & _END_STREAM):
                return data


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + struct.pack(">I", stream) + payload


def _request_headers(path: str) -> bytes:
    """In the form of HPACK that names every header in full, without a table."""
    headers = (
        (b":method", b"POST"),
        (b":scheme", b"http"),
        (b":path", path.encode()),
        (b":authority", b"localhost"),
        (b"content-type", b"application/grpc"),
        (b"te", b"trailers"),
    )
    return b"".join(b"\0" + bytes([len(key)]) + key + bytes([len(value)]) + value for key, value in headers)


# ---- Protocol Buffers ------------------------------------------------------------------------------------------------


def _parse(data: bytes) -> Fields:
    """The fields of a message by number, each with all of its values: a number, or bytes. Raises KubeadmError for others."""
    fields: Fields = {}
    at = 0
    while at < len(data):
        key, at = _read_varint(data, at)
        value: t.Any
        if key & 7 == _VARINT:
            value, at = _read_varint(data, at)
        elif key & 7 == _LENGTH:
            size, at = _read_varint(data, at)
            value, at = data[at : at + size], at + size
        else:
            raise KubeadmError(f"the container runtime sent a field of type {key & 7}, which CRI does not have")
        fields.setdefault(key >> 3, []).append(value)
    return fields


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at


def _varint(value: int) -> bytes:
    encoded = b""
    while value > 127:
        encoded, value = encoded + bytes([value & 127 | 128]), value >> 7
    return encoded + bytes([value])


def _varint_field(number: int, value: int) -> bytes:
    return _varint(number << 3 | _VARINT) + _varint(value)


def _bytes_field(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | _LENGTH) + _varint(len(value)) + value
