# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A container runtime at a socket of its own, which speaks as much of CRI as a node's checks use."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socketserver
import struct
import tempfile
import threading
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.runtime import cri

# What containerd 1.7.24 sends for Status without details: runtime and network ready, and a condition of its own.
CONTAINERD_STATUS = bytes.fromhex(
    "0a4c0a100a0c52756e74696d65526561647910010a100a0c4e6574776f726b526561647910010a260a22436f6e7461696e6572644861734e"
    "6f4465707265636174696f6e5761726e696e67731001"
)
PINNED = "registry.k8s.io/pause:3.10.1"
_END_HEADERS, _END_STREAM = 0x4, 0x1


def varint(value: int) -> bytes:
    """A number as Protocol Buffers writes it."""
    return bytes([value]) if value < 128 else bytes([value % 128 + 128]) + varint(value // 128)


def length_delimited(field_number: int, value: str | bytes) -> bytes:
    """A length-delimited field of Protocol Buffers: text, bytes or a message."""
    data = value.encode() if isinstance(value, str) else value
    return varint(field_number * 8 + 2) + varint(len(data)) + data


def condition(kind: str, problem: str) -> bytes:
    """A condition that is met when there is no problem."""
    status = b"" if problem else varint(2 * 8) + varint(1)
    return length_delimited(
        1,
        length_delimited(1, kind)
        + status
        + (length_delimited(3, "NotReady") + length_delimited(4, problem) if problem else b""),
    )


class FakeCri:
    """A runtime whose kubelet's endpoint is C(endpoint).

    images: the names that it finds; None: every name. pinned: whether it holds one that is not collected. problem, network_problem: why it, or its network,
    is not ready. sandbox_image: what it reports; None when it does not. silent: whether it takes connections and never answers. declines: whether
    CRI is switched off. padding: bytes of the name of another image. calls: the methods, in order.
    """

    def __init__(self) -> None:
        self.images: set[str] | None = None
        self.pinned = True
        self.problem = self.network_problem = ""
        self.sandbox_image: str | None = "registry.k8s.io/pause:3.10"
        self.silent = self.declines = False
        self.padding = 0
        self.calls: list[str] = []
        # The address of a socket has 107 characters at most, and a test's own directory may have more.
        self._directory = tempfile.mkdtemp(prefix="cri-")
        self.path = os.path.join(self._directory, "containerd.sock")
        self.endpoint = f"unix://{self.path}"
        self._server = _Server(self.path, _handler_of(self))
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def stop(self) -> None:
        """Stop listening; the socket is gone, too."""
        self._server.shutdown()
        self._server.server_close()
        shutil.rmtree(self._directory, ignore_errors=True)

    def respond(self, method: str, request: bytes) -> bytes | None:
        """The message for a request; None for an error."""
        self.calls.append(method)
        if self.declines:
            return None
        if method == "RuntimeService/Status":
            conditions = condition("RuntimeReady", self.problem) + condition("NetworkReady", self.network_problem)
            config = json.dumps({} if self.sandbox_image is None else {"sandboxImage": self.sandbox_image})
            return length_delimited(1, conditions) + length_delimited(
                2, length_delimited(1, "config") + length_delimited(2, config)
            )
        if method == "ImageService/ImageStatus":
            found = self.images is None or any(image.encode() in request for image in self.images)
            return length_delimited(1, length_delimited(1, "sha256:1")) if found else b""
        if method == "ImageService/ListImages":
            pinned = varint(8 * 8) + varint(1) if self.pinned else b""
            image = length_delimited(1, "sha256:1") + length_delimited(2, PINNED) + pinned
            return length_delimited(1, length_delimited(1, "x" * self.padding)) + length_delimited(1, image)
        return None


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


def _handler_of(runtime: FakeCri) -> type[socketserver.StreamRequestHandler]:
    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            assert self.rfile.read(24).startswith(b"PRI * HTTP/2.0")
            if runtime.silent:
                self.rfile.read()  # until the caller gives up
                return
            method, request = self._read_call()
            response = runtime.respond(method, request)
            self._send(4, 0, 0, b"")
            self._send(1, _END_HEADERS, 1, b"\x88")
            body = b"" if response is None else b"\0" + struct.pack(">I", len(response)) + response
            for start in range(0, len(body), 16384):
                self._send(0, 0, 1, body[start : start + 16384])
            self._send(1, _END_HEADERS | _END_STREAM, 1, b"")
            self.rfile.read()  # a server leaves it to its caller to close

        def _read_call(self) -> tuple[str, bytes]:
            method = ""
            while True:
                head = self.rfile.read(9)
                payload = self.rfile.read(int.from_bytes(head[:3], "big"))
                if head[3] == 1:
                    method = payload.split(b"/runtime.v1.")[1].split(b"\0")[0].decode()
                if head[3] == 0:
                    return method, payload[5:]

        def _send(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
            head = struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + struct.pack(">I", stream)
            self.wfile.write(head + payload)

    return Handler


@contextlib.contextmanager
def served_runtime() -> t.Iterator[FakeCri]:
    """A runtime that is stopped behind the test."""
    fake = FakeCri()
    try:
        yield fake
    finally:
        fake.stop()


@contextlib.contextmanager
def runtime_everywhere() -> t.Iterator[FakeCri]:
    """A runtime at every socket that is connected to, whatever its path."""
    connect = cri.connect
    with served_runtime() as fake, pytest.MonkeyPatch.context() as patch:
        patch.setattr(cri, "connect", lambda path: connect(fake.path))
        yield fake
