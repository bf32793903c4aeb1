# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plugin that runs beside a kubelet's stub, on a host that is a directory. Short thresholds, the clock is the real one."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import stat
import typing as t
from pathlib import Path

from kubelet_stub import Kubelet
from nodecraft_device_plugin import cdi
from nodecraft_device_plugin.host import Host
from nodecraft_device_plugin.metrics import Metrics
from nodecraft_device_plugin.resource_server import Context
from nodecraft_device_plugin.runtime import Runtime, Settings

T = t.TypeVar("T")
# Seconds until another process has started on a busy machine; not a limit of the plugin.
STARTED = 60.0
NAME = "example.com/dongle"
FAKE = "example.com/fake"
# The shortest intervals that the schema allows, so that the tests are fast.
SCAN = "scan: {interval: 0.5, debounce: 0.02, recheck: 0.1}"
CONFIG = f"""
version: v1
{SCAN}
resources:
  - name: {NAME}
    discover:
      - path: {{glob: /dev/serial/by-id/*}}
  - name: {FAKE}
    discover:
      - fake: {{count: 2}}
"""


def lstat(path: str) -> os.stat_result:
    """The status of a path itself; a file with the text ``char 188:0`` is that device, so that no test needs privileges."""
    status = os.lstat(path)
    if not stat.S_ISREG(status.st_mode):
        return status
    kind, _space, number = Path(path).read_text(encoding="utf-8").partition(" ")
    if kind not in ("char", "block"):
        return status
    major, minor = (int(part) for part in number.split(":"))
    mode = stat.S_IFCHR if kind == "char" else stat.S_IFBLK
    fields = list(status)
    fields[stat.ST_MODE] = mode | 0o660
    return os.stat_result(fields, {"st_rdev": os.makedev(major, minor)})


def plug(root: Path, serial: str, number: int) -> None:
    """A dongle: a device node and the stable link to it."""
    node = root / f"dev/ttyUSB{number}"
    node.parent.mkdir(parents=True, exist_ok=True)
    # As in devtmpfs, a node appears with its final type.
    temporary = root / f".ttyUSB{number}"
    temporary.write_text(f"char 188:{number}", encoding="utf-8")
    temporary.rename(node)
    link = root / f"dev/serial/by-id/{serial}"
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(f"../../ttyUSB{number}")


def unplug(root: Path, serial: str) -> None:
    """Remove a dongle."""
    link = root / f"dev/serial/by-id/{serial}"
    node = link.resolve()
    link.unlink()
    node.unlink()


def free_port() -> int:
    """An unused port of this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def get(port: int, target: str, method: str = "GET", **headers: str) -> tuple[int, str]:
    """Status and text of a page of this machine. HTTP 1.0, so that no server sends it in chunks."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    lines = [f"{method} {target} HTTP/1.0", *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items())]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    response = (await reader.read()).decode()
    writer.close()
    head, _empty, body = response.partition("\r\n\r\n")
    return int(head.split()[1]), body


class RunningPlugin:
    """The plugin's process, in this one. directories: kubelet/, root/, cdi/ and config/ below ``home``."""

    def __init__(
        self,
        home: Path,
        text: str = CONFIG,
        started: int = 1000,
        host: Host | None = None,
        metrics: Metrics | None = None,
        **settings: t.Any,
    ):
        self.home = home
        self.root = home / "root"
        self.config_file = home / "config" / "config.yaml"
        for directory in ("kubelet", "root/dev", "config"):
            (home / directory).mkdir(parents=True, exist_ok=True)
        self.config_file.write_text(text, encoding="utf-8")
        settings.setdefault("pod_resources_socket", home / "pod-resources.sock")
        self.metrics = metrics or Metrics()
        context = Context(
            directory=home / "kubelet",
            host=host or Host(str(self.root), lstat),
            metrics=self.metrics,
            cdi=cdi.Files(home / "cdi"),
            started=started,
            random=lambda: 0.0,
        )
        self.runtime = Runtime(Settings(self.config_file, **settings), context)
        self.task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> RunningPlugin:
        self.task = asyncio.create_task(self.runtime.run())
        return self

    async def __aexit__(self, *_error: object) -> None:
        self.runtime.stopped.set()
        assert self.task
        await self.task

    def write_config(self, text: str) -> None:
        """Replace the file as an editor does."""
        temporary = self.config_file.with_suffix(".new")
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(self.config_file)

    @property
    def ready(self) -> dict[str, bool]:
        return {name: entry.server.ready for name, entry in self.runtime.served.items()}

    def reason(self, resource: str) -> str:
        """Why a resource is not ready."""
        entry = self.runtime.served.get(resource)
        return entry.server.reason if entry else "not served"

    def value(self, metric: str, **labels: str) -> float | None:
        value: float | None = self.metrics.registry.get_sample_value(f"device_plugin_{metric}", labels)
        return value

    async def until(self, met: t.Callable[[], bool], timeout: float = 10.0) -> None:
        """Poll until a condition inside the plugin holds."""
        async with asyncio.timeout(timeout):
            while not met():
                await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def cluster(home: Path, text: str = CONFIG, **settings: t.Any) -> t.AsyncIterator[tuple[Kubelet, RunningPlugin]]:
    """A kubelet and a plugin, both running."""
    plugin = RunningPlugin(home, text, **settings)
    kubelet = Kubelet(home / "kubelet")
    await kubelet.start()
    try:
        async with plugin:
            yield kubelet, plugin
    finally:
        await kubelet.stop()


def run(test: t.Coroutine[t.Any, t.Any, T]) -> T:
    """Run a test on an event loop, some minutes at most."""
    return asyncio.run(asyncio.wait_for(test, 240))
