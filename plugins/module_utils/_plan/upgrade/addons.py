# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""kubeadm's add-ons, which an upgrade brings to a new version with the configuration that they have: kube-proxy and CoreDNS."""

from __future__ import annotations

import json
import re
import typing as t

from ..common.errors import Refusal
from ..common.verdict import Verdict
from ..documents import configuration
from ..kubelet.config import GATES, ConfigDocument
from ..transaction import rehearsal
from . import refusals
from .findings import BROKEN, KUBE_PROXY, OTHER, WARNS, Finding, NotChecked

PROXY_KEY = "config.conf"  # of the ConfigMap kube-proxy
PROXY_FILE = f"{rehearsal.DIRECTORY}/kube-proxy.yaml"
_PROXY_SOURCE = f"ConfigMap kube-system/{KUBE_PROXY} ({PROXY_KEY})"
_KIND = "KubeProxyConfiguration"
_MODE = "ipvs"

# Each plugin that kubeadm's migration of a Corefile knows, with the options that it knows of it.
_PLUGINS: dict[str, frozenset[str]] = {
    name: frozenset(options.split())
    for name, options in {
        "autopath": "",
        "cache": "success denial prefetch serve_stale disable servfail keepttl",
        "errors": "consolidate stacktrace",
        "forward": "except force_tcp prefer_udp expire max_fails tls tls_servername policy health_check max_concurrent next"
        " failfast_all_unhealthy_upstreams",
        "health": "lameduck",
        "hosts": "ttl no_reverse reload fallthrough",
        "k8s_external": "apex ttl fallthrough",
        "kubernetes": "endpoint tls kubeconfig namespaces labels pods endpoint_pod_names ttl noendpoints fallthrough ignore",
        "loadbalance": "",
        "log": "class",
        "loop": "",
        "prometheus": "",
        "ready": "",
        "reload": "",
        "rewrite": "type class name edns0 ttl cname_target",
        "transfer": "to",
    }.items()
}
_HOST_ENTRY = re.compile(r"[0-9A-Fa-f:.]+")  # of the plugin hosts
_UNKNOWN_PLUGINS = "CoreDNSUnsupportedPlugins"

Json = dict[str, t.Any]


# ---- kube-proxy ----------------------------------------------------------------------------------------------------------


def parse_proxy(text: str) -> Json:
    """The configuration in kube-proxy's ConfigMap. Raises NotChecked for what kube-proxy could not read."""
    try:
        return configuration.read(text.encode("utf-8"), _KIND, dict)
    except Refusal as exc:
        raise NotChecked(f"{_PROXY_SOURCE}: {exc}") from exc


def proxy_gates(data: Json) -> Json:
    """The feature gates that it sets."""
    gates = data.get("featureGates")
    return dict(gates) if isinstance(gates, dict) else {}


def proxy_config(data: Json, gates: t.Mapping[str, t.Any]) -> str:
    """The file with which kube-proxy is rehearsed: with these gates, and a kubeconfig that does not exist, at which it ends."""
    connection = data.get("clientConnection")
    client = {**(connection if isinstance(connection, dict) else {}), "kubeconfig": rehearsal.MISSING_FILE}
    return json.dumps({**data, "featureGates": dict(gates), "clientConnection": client}, default=str)


def proxy_verdict(status: int, output: str) -> Verdict:
    """The verdict of the kube-proxy that was started with that file."""
    accepts = f"stat {rehearsal.MISSING_FILE}: no such file or directory" in output
    return refusals.verdict_of(KUBE_PROXY, status, output, accepts=accepts)


def proxy_findings(text: str) -> list[Finding]:
    """What is to be known of kube-proxy's configuration, whatever its program prints. Raises NotChecked where it cannot be read."""
    if parse_proxy(text).get("mode") != _MODE:
        return []
    message = "its mode ipvs is deprecated: Kubernetes 1.40 disables it by default, and 1.43 removes it. Move to nftables before that."
    return [Finding(KUBE_PROXY, WARNS, message, "config", "mode", OTHER, _PROXY_SOURCE, _line(text, ("mode",)))]


def broken_proxy(text: str, setting: tuple[str, str] | None, message: str) -> Finding:
    """What the new kube-proxy refuses. setting: field and key; None where its message does not name it."""
    field, key = setting or ("", "")
    line = _line(text, ("featureGates", key)) if field == GATES else None
    advice = "" if line is None else f"featureGates in the {_PROXY_SOURCE}"
    return Finding(KUBE_PROXY, BROKEN, message, field, key, OTHER, _PROXY_SOURCE, line, advice)


def _line(text: str, path: tuple[str, ...]) -> int | None:
    source = ConfigDocument(_PROXY_SOURCE, text, {}).source(path)
    return source.line if source else None


# ---- CoreDNS -------------------------------------------------------------------------------------------------------------


def corefile_findings(text: str) -> list[Finding]:
    """Nothing, where kubeadm migrates the Corefile by itself. Raises NotChecked, with the names, for plugins and options that it does not know."""
    unknown = [
        f"{plugin}/{option}" if option else plugin
        for plugin, option in dict.fromkeys(_corefile_settings(text))
        if not _is_migrated(plugin, option)
    ]
    if not unknown:
        return []
    raise NotChecked(
        f"kubeadm does not know how to migrate {', '.join(unknown)} in the Corefile: its preflight check {_UNKNOWN_PLUGINS} stops the upgrade before it"
        " begins, and no new CoreDNS has read them"
    )


def _is_migrated(plugin: str, option: str) -> bool:
    if plugin not in _PLUGINS or not option:
        return plugin in _PLUGINS
    return option in _PLUGINS[plugin] or (plugin == "hosts" and _HOST_ENTRY.fullmatch(option) is not None)


def _corefile_settings(text: str) -> t.Iterator[tuple[str, str]]:
    """Each plugin of a Corefile with an empty option, and with each of its options. Raises NotChecked where braces are not balanced."""
    depth, plugin = 0, ""
    for line in text.splitlines():
        words = _words(line)
        if not words:
            continue
        if words[0] != "}":
            if depth == 1:
                plugin = words[0]
                yield plugin, ""
            elif depth == 2:
                yield plugin, words[0]
        depth += words.count("{") - words.count("}")
        if depth < 0:
            break
    if depth:
        raise NotChecked("the braces of the Corefile are not balanced")


def _words(line: str) -> list[str]:
    """The words of a line, without its comment."""
    words = line.split()
    return words[: next((number for number, word in enumerate(words) if word.startswith("#")), len(words))]
