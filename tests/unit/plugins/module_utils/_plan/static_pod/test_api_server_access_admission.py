# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Admission that keeps the pods of kube-system from being made again."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod import api_server_access
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.api_server_access import (
    IMAGE_POLICY,
    POD_SECURITY,
    Plugin,
)


@pytest.mark.parametrize(
    ("plugin", "settings", "found"),
    [
        (POD_SECURITY, None, False),
        (POD_SECURITY, {"defaults": {"warn": "restricted", "audit": "restricted"}}, False),
        (POD_SECURITY, {"defaults": {"enforce": "privileged"}}, False),
        (POD_SECURITY, {"defaults": {"enforce": "baseline"}}, True),
        (POD_SECURITY, {"defaults": {"enforce": "restricted"}, "exemptions": {"namespaces": ["other"]}}, True),
        (POD_SECURITY, {"defaults": {"enforce": "restricted"}, "exemptions": {"usernames": ["kube-system"]}}, True),
        (POD_SECURITY, {"defaults": {"enforce": "restricted"}, "exemptions": {"namespaces": ["kube-system"]}}, False),
        (IMAGE_POLICY, None, True),
        (IMAGE_POLICY, {"imagePolicy": {"kubeConfigFile": "/x"}}, True),
        (IMAGE_POLICY, {"imagePolicy": {"defaultAllow": False}}, True),
        (IMAGE_POLICY, {"imagePolicy": {"defaultAllow": True}}, False),
    ],
)
def test_kube_system_must_be_able_to_make_pods(plugin: str, settings: t.Any, found: bool) -> None:
    findings = api_server_access.plugin_findings(plugin, settings)
    assert len(findings) == found
    assert all("kube-system" in finding for finding in findings)


@pytest.mark.parametrize(
    ("plugin", "enabled", "disabled", "expected"),
    [
        (POD_SECURITY, [], [], True),
        (POD_SECURITY, [], [POD_SECURITY], False),
        (IMAGE_POLICY, [], [], False),
        (IMAGE_POLICY, [IMAGE_POLICY], [], True),
        ("EventRateLimit", ["EventRateLimit"], [], False),
    ],
)
def test_a_plugin_counts_when_it_is_at_work(
    plugin: str, enabled: list[str], disabled: list[str], expected: bool
) -> None:
    assert api_server_access.is_plugin_checked(plugin, enabled, disabled) is expected


CONFIGURATION = b"""\
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: PodSecurity
  configuration: {defaults: {enforce: baseline}}
- name: ImagePolicyWebhook
  path: image.yaml
- name: EventRateLimit
  path: /else/where.yaml
- name: NodeRestriction
"""


def test_a_configuration_is_read() -> None:
    assert api_server_access.parse_plugins(CONFIGURATION, "/etc/kubernetes/admission/all.yaml") == {
        POD_SECURITY: Plugin({"defaults": {"enforce": "baseline"}}),
        IMAGE_POLICY: Plugin(None, "/etc/kubernetes/admission/image.yaml"),
        "EventRateLimit": Plugin(None, "/else/where.yaml"),
        "NodeRestriction": Plugin(),
    }
    old = b"imagePolicy: {defaultAllow: true}\n"
    assert api_server_access.parse_plugins(old, "/x") == {IMAGE_POLICY: Plugin({"imagePolicy": {"defaultAllow": True}})}
    assert api_server_access.parse_plugin_settings(old, IMAGE_POLICY) == {"imagePolicy": {"defaultAllow": True}}


@pytest.mark.parametrize("content", [b"", b"[]", b"plugins: [1]", b"plugins: [{path: x}]", b"plugins: {"])
def test_what_is_no_configuration_is_refused(content: bytes) -> None:
    with pytest.raises(Refusal, match="it is no"):
        api_server_access.parse_plugins(content, "/x")


def test_settings_are_a_mapping() -> None:
    with pytest.raises(Refusal, match="it is not a configuration of PodSecurity"):
        api_server_access.parse_plugin_settings(b"[]", POD_SECURITY)
