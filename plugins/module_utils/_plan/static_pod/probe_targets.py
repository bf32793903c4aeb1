# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a static pod's own probes can pass: they request an address, port, scheme and path of their own, mostly without credentials.

A component that does not answer there is killed by the kubelet for ever, however healthy it is. Only what a change brings is refused.
"""

from __future__ import annotations

import re
import typing as t

from ..common.errors import Refusal
from ..documents import configuration
from ..kubernetes import flags
from .etcd_change import setting
from .manifest import Manifest
from .pod_fields import Probe

_API_SERVER, _ETCD = "kube-apiserver", "etcd"
_PORTS = {_API_SERVER: 6443, "kube-controller-manager": 10257, "kube-scheduler": 10259}
_ALLOWED_PATHS = ("/healthz", "/readyz", "/livez")  # the other two serve these to anybody, if no flag says otherwise
_ANYWHERE = ("", "0.0.0.0", "::")  # noqa: S104  # compared, not bound
_LOCAL = ("127.0.0.1", "::1")
_NODE_ADDRESS = "ADDRESS-OF-THE-NODE"  # of a probe without a host
_FOREVER = "would fail and the component would be restarted forever"
_URL = re.compile(r"\s*(?P<scheme>[a-z]+)://(?P<host>\[[^]]*\]|[^:/]*)(?::(?P<port>[0-9]+))?")
_METRICS, _CLIENTS, _CLIENTS_HTTP, _CLIENT_AUTH = _OF_ETCD = (
    "listen-metrics-urls",
    "listen-client-urls",
    "listen-client-http-urls",
    "client-cert-auth",
)


class Listener(t.NamedTuple):
    """Where a component listens for probes."""

    scheme: str
    host: str
    port: int

    def accepts(self, probe: Probe) -> bool:
        """Whether a probe reaches it."""
        scheme = probe.get("scheme", self.scheme)
        return (scheme, probe["port"]) == (self.scheme, self.port) and self.listens_at(host_of(probe))

    def listens_at(self, host: str) -> bool:
        """Whether it listens at an address. That of the node is not known here, so it may be any that is not local."""
        if host == _NODE_ADDRESS:
            return self.host not in ("localhost", *_LOCAL)
        return self.host in (*_ANYWHERE, host) or (
            "localhost" in (self.host, host) and {self.host, host} <= {"localhost", *_LOCAL}
        )


def refuse_failing_probes(name: str, before: Manifest, after: Manifest) -> None:
    """Refuse a change after which the component would not accept a probe that its manifest has. name: of the static pod."""
    probes = own_probes(name, before)
    anonymous = [probe for probe in probes if is_anonymous(probe)]
    if name == _API_SERVER and anonymous:
        _refuse_anonymous_auth(before, after)
    elif name in _PORTS:
        _refuse_closed_paths(anonymous, before, after)
    if None in after.expected_arguments():  # a value that only the kubelet knows
        return
    if name == _ETCD:
        _refuse_other_urls(probes, before, after)
    else:
        _refuse_other_address(name, probes, before, after)


def host_of(probe: Probe) -> str:
    """The address that the kubelet asks."""
    return _NODE_ADDRESS if "network" in probe else probe["host"]


def own_probes(name: str, manifest: Manifest) -> list[Probe]:
    """The probes that reach the component itself. Another port is that of another container, such as kops' kube-apiserver-healthcheck, or one
    without encryption: the settings of the component do not apply to it."""
    listener = None if name == _ETCD else _listener(name, manifest)
    return [
        probe
        for probe in manifest.probes()
        if probe["kind"] in ("http", "tcp") and (listener is None or probe["port"] == listener.port)
    ]


def is_anonymous(probe: Probe) -> bool:
    """Whether a probe is a request without credentials."""
    return probe["kind"] == "http" and "authorization" not in map(str.lower, probe["headers"])


def _refuse_anonymous_auth(before: Manifest, after: Manifest) -> None:
    """Without anonymous requests each probe gets 401."""
    off = [flags.gate_value(each.flag_value("anonymous-auth") or "true") is False for each in (before, after)]
    if off == [False, True]:
        raise Refusal(
            "args: anonymous-auth=false would make the API server answer the kubelet's own probes with 401, and the kubelet"
            " would restart it forever. Use an AuthenticationConfiguration with anonymous conditions"
            " (--authentication-config) that lets /livez, /readyz and /healthz through instead."
        )


def closed_paths(content: bytes, probes: t.Sequence[Probe]) -> list[str]:
    """The paths of anonymous probes that an AuthenticationConfiguration does not let through. Raises Refusal when it is none."""
    anonymous = configuration.read(content, "AuthenticationConfiguration", lambda data: data.get("anonymous"))
    if anonymous is None:  # the flag decides
        return []
    paths = [probe["path"].partition("?")[0] for probe in probes if is_anonymous(probe)]
    if not anonymous.get("enabled"):
        return paths
    allowed = [condition.get("path") for condition in anonymous.get("conditions") or ()]
    return [path for path in paths if allowed and path not in allowed]


def refuse_closed_paths_of_file(found: t.Sequence[str]) -> None:
    """Refuse an AuthenticationConfiguration that does not let the paths of probes through."""
    if found:
        raise Refusal(
            f"--authentication-config: its content does not let anonymous requests to {', '.join(dict.fromkeys(found))} through, so the"
            f" kubelet's probes, which ask there, {_FOREVER}. Keep anonymous enabled, with /livez, /readyz and /healthz among its"
            " conditions."
        )


def _refuse_closed_paths(probes: t.Sequence[Probe], before: Manifest, after: Manifest) -> None:
    """Without its path among those that anybody may request, each probe gets 403."""
    former, allowed = map(_allowed_paths, (before, after))
    for probe in probes if former != allowed else ():
        if not any(_covers(path, probe["path"]) for path in allowed):
            raise Refusal(
                f"args: with authorization-always-allow-paths {','.join(allowed)} the kubelet's probes, which ask {probe['path']},"
                f" {_FOREVER}. Keep {','.join(_ALLOWED_PATHS)} among them."
            )


def _allowed_paths(manifest: Manifest) -> list[str]:
    given = flags.values(manifest.given_flags, "authorization-always-allow-paths")
    return [path for text in given for path in text.split(",")] if given else list(_ALLOWED_PATHS)


def _covers(allowed: str, path: str) -> bool:
    allowed, path = allowed.lstrip("/"), path.partition("?")[0].lstrip("/")
    return path.startswith(allowed[:-1]) if allowed.endswith("*") else path == allowed


def _refuse_other_address(name: str, probes: t.Sequence[Probe], before: Manifest, after: Manifest) -> None:
    former, found = (_listener(name, manifest) for manifest in (before, after))
    if found is None or former == found:
        return
    for probe in probes:
        if found.port != probe["port"]:
            raise Refusal(
                f"args: with secure-port {found.port} the kubelet's probes, which ask port {probe['port']}, {_FOREVER}. Probes are not"
                " changed by this module."
            )
        if not found.listens_at(host_of(probe)):
            raise Refusal(
                f"args: with bind-address {found.host} the kubelet's probes, which ask {host_of(probe)}, {_FOREVER}. Probes are not"
                " changed by this module."
            )


def _listener(name: str, manifest: Manifest) -> Listener | None:
    """Where a component of Kubernetes listens; None for another one that has no such flags."""
    port = manifest.flag_value("secure-port") or str(_PORTS.get(name, ""))
    host = manifest.flag_value("bind-address") or "0.0.0.0"  # noqa: S104  # compared, not bound
    return Listener("https", host, int(port)) if port.isdecimal() else None


def _refuse_other_urls(probes: t.Sequence[Probe], before: Manifest, after: Manifest) -> None:
    former, found = map(_listeners_of_etcd, (before, after))
    changed = [name for name in _OF_ETCD if setting(before, name) != setting(after, name)]
    for probe in probes if changed else ():
        if not any(each.accepts(probe) for each in found) and any(each.accepts(probe) for each in former):
            scheme = probe.get("scheme", "http")
            url = f"{scheme}://{_bracketed(host_of(probe))}:{probe['port']}"
            raise Refusal(
                f"args: with this change of {', '.join(changed)} etcd does not listen at {url}, so the kubelet's probes, which ask there,"
                f" {_FOREVER}. Keep it, with others behind it: {url},{scheme}://ADDRESS-OF-THE-NODE:{probe['port']}."
            )


def _listeners_of_etcd(manifest: Manifest) -> list[Listener]:
    """Where etcd serves its health without a client certificate."""
    clients = setting(manifest, _CLIENTS_HTTP) or setting(manifest, _CLIENTS) or "http://localhost:2379"
    texts = ",".join(filter(None, (setting(manifest, _METRICS), clients))).split(",")
    urls = [match for match in map(_URL.match, texts) if match]  # the rehearsal refuses others
    found = [Listener(url["scheme"], url["host"].strip("[]"), int(url["port"] or 0)) for url in urls]
    needs_client = flags.gate_value(setting(manifest, _CLIENT_AUTH) or "false") is True
    return [each for each in found if each.scheme == "http" or not needs_client]


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
