# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""kubeadm's add-ons: what is to be known of kube-proxy's configuration, and whether kubeadm knows the plugins of a Corefile."""

from __future__ import annotations

import json
import re

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.upgrade import addons
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.upgrade.findings import BROKEN, WARNS, NotChecked

PROXY = """\
apiVersion: kubeproxy.config.k8s.io/v1alpha1
clientConnection:
  kubeconfig: /var/lib/kube-proxy/kubeconfig.conf
  qps: 0
featureGates:
  Gone: true
kind: KubeProxyConfiguration
mode: ipvs
"""
COREFILE = """\
.:53 {
    errors
    health {
       lameduck 5s
    }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }
    prometheus :9153
    forward . /etc/resolv.conf {
       max_concurrent 1000
    }
    cache 30 {
       disable success cluster.local
       disable denial cluster.local
    }
    loop
    reload
    loadbalance
}
"""


def test_mode_ipvs_is_a_warning() -> None:
    (finding,) = addons.proxy_findings(PROXY)
    assert (finding.impact, finding.key, finding.line) == (WARNS, "mode", 8)
    assert "Kubernetes 1.40 disables it by default, and 1.43 removes it" in finding.message
    assert addons.proxy_findings(PROXY.replace("ipvs", "iptables")) == []
    assert addons.proxy_findings(PROXY.replace("mode: ipvs\n", "")) == []


@pytest.mark.parametrize("text", ["a: [", "- a", ""])
def test_unreadable_proxy_configuration_is_not_checked(text: str) -> None:
    with pytest.raises(NotChecked, match=re.escape("ConfigMap kube-system/kube-proxy (config.conf): it is not")):
        addons.proxy_findings(text)


def test_proxy_is_rehearsed_with_a_kubeconfig_that_is_missing() -> None:
    data = addons.parse_proxy(PROXY)
    assert addons.proxy_gates(data) == {"Gone": True}
    config = json.loads(addons.proxy_config(data, {}))
    assert config["clientConnection"] == {"kubeconfig": "/rehearsal-ends-here", "qps": 0}
    assert (config["mode"], config["featureGates"]) == ("ipvs", {})
    assert addons.proxy_gates(addons.parse_proxy("featureGates: null\n")) == {}


def test_refused_proxy_gate_has_its_line() -> None:
    finding = addons.broken_proxy(PROXY, ("feature_gates", "Gone"), "unrecognized feature gate: Gone")
    assert (finding.component, finding.impact, finding.key, finding.line) == ("kube-proxy", BROKEN, "Gone", 6)
    assert finding.variable == "featureGates in the ConfigMap kube-system/kube-proxy (config.conf)"
    finding = addons.broken_proxy(PROXY, None, "failed validate")
    assert (finding.field, finding.line, finding.variable) == ("", None, "")


@pytest.mark.parametrize(
    "text",
    [
        "",
        COREFILE,
        COREFILE.replace("/etc/resolv.conf", "10.0.0.1 10.0.0.2"),
        COREFILE
        + "example.com:53 {  # another server\n    log {\n        class error\n    }\n    forward . 10.0.0.1\n}\n",
        COREFILE.replace(
            "    loop\n", "    hosts {\n      10.0.0.1 a.example\n      fd00::1 b.example\n      fallthrough\n    }\n"
        ),
        COREFILE.replace("    loop\n", "    # template is what was here\n"),
    ],
)
def test_corefile_of_known_plugins_is_checked(text: str) -> None:
    assert addons.corefile_findings(text) == []


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("template ANY AAAA {\n      rcode NXDOMAIN\n    }", "template, template/rcode in"),
        ("import custom/*.override", "import in"),
        ("cache 30 {\n      verify 3s\n    }\n    cache 30 {\n      verify 3s\n    }", "cache/verify in"),
        ("hosts {\n      inline\n    }", "hosts/inline in"),
    ],
)
def test_corefile_with_unknown_plugin_is_not_checked(line: str, names: str) -> None:
    text = COREFILE.replace("    loop\n", f"    {line}\n")
    with pytest.raises(NotChecked, match=f"does not know how to migrate {re.escape(names)} the Corefile"):
        addons.corefile_findings(text)


@pytest.mark.parametrize("text", [COREFILE[:-2], COREFILE + "}\n"])
def test_corefile_with_open_braces_is_not_checked(text: str) -> None:
    with pytest.raises(NotChecked, match="the braces of the Corefile are not balanced"):
        addons.corefile_findings(text)
