# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The probes of a container, as the kubelet asks them."""

from __future__ import annotations

import typing as t

from ..common.errors import Refusal

_PROBES = ("startupProbe", "livenessProbe", "readinessProbe")


class _Probe(t.TypedDict):
    kind: str


class Probe(_Probe, total=False):
    """A probe of a container. kind: http, tcp, or grpc and exec, which only the kubelet runs. port: not of exec. scheme, path, headers: of http."""

    host: str
    port: int
    scheme: str
    path: str
    headers: dict[str, str]


def of_container(container: t.Mapping[str, t.Any], source: str) -> list[Probe]:
    """The container's own probes, each once. source: the manifest's path. Raises Refusal for a port that is not declared."""
    found: list[Probe] = []
    for name in _PROBES:
        probe = container.get(name)
        if probe:
            described = _probe(probe, container, source)
            if described not in found:
                found.append(described)
    return found


def seconds_until_killed(container: t.Mapping[str, t.Any], source: str) -> int:
    """How long the kubelet leaves a container that does not work, when nothing but its liveness tells that and only the
    kubelet can ask for it: before that the container counts as ready. 0 for every other."""
    probe = container.get("livenessProbe")
    if not probe or container.get("readinessProbe") or _probe(probe, container, source)["kind"] in ("http", "tcp"):
        return 0
    failures = int(probe.get("failureThreshold") or 3) * int(probe.get("periodSeconds") or 10)
    return int(probe.get("initialDelaySeconds") or 0) + failures + int(probe.get("timeoutSeconds") or 1)


def _probe(probe: t.Mapping[str, t.Any], container: t.Mapping[str, t.Any], source: str) -> Probe:
    if "httpGet" in probe:
        get = probe["httpGet"]
        return {
            "kind": "http",
            "scheme": str(get.get("scheme", "HTTP")).lower(),
            "host": get.get("host") or "127.0.0.1",
            "port": _port(get["port"], container, source),
            "path": get.get("path") or "/",
            "headers": {header["name"]: header["value"] for header in get.get("httpHeaders") or []},
        }
    if "tcpSocket" in probe:
        return {
            "kind": "tcp",
            "host": probe["tcpSocket"].get("host") or "127.0.0.1",
            "port": _port(probe["tcpSocket"]["port"], container, source),
        }
    if "grpc" in probe:
        return {"kind": "grpc", "host": "127.0.0.1", "port": _port(probe["grpc"]["port"], container, source)}
    return {"kind": "exec"}


def _port(port: int | str, container: t.Mapping[str, t.Any], source: str) -> int:
    if isinstance(port, int):
        return port
    for entry in container.get("ports") or []:
        if entry.get("name") == port:
            return int(entry["containerPort"])
    raise Refusal(f"{source}: a probe names the port {port!r}, which the container does not declare.")
