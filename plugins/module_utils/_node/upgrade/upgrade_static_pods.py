# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an upgrade does to the static pods of a control plane: those that the new kubeadm generates, one after the other."""

from __future__ import annotations

import typing as t

from ..._plan.kubeadm_config.cluster_configuration import CONFIG_MAP_SOURCE, Endpoint
from ..._plan.kubernetes import versions
from ..._plan.static_pod.manifest import image_tag
from ..._plan.upgrade import prerequisites
from ..._plan.upgrade.findings import BROKEN, CONFIG_MAP, WARNS, Finding, UpgradeFindings
from ..static_pod.static_pods import API_SERVER, ETCD
from . import upgrade_checks
from .control_plane_upgrade import ControlPlane
from .static_pod_upgrade import check_static_pod
from .upgrade_manifests import NotGenerated, endpoint_of, generate, refuse_patches
from .upgrade_programs import KUBEADM, installed_kubeadm


def refuse_step(node: ControlPlane) -> None:
    """Refuse a step from the version of this node's API server that kubeadm does not take. Raises Refusal."""
    prerequisites.refuse_api_server_step(image_tag(node.read_pod(API_SERVER).manifest), node.programs.target)


def check(node: ControlPlane, found: UpgradeFindings) -> str | None:
    """Add the findings. Returns the version of the API server today, from its image's tag."""
    refuse_patches(node.patches)
    api_server = node.read_pod(API_SERVER)
    endpoint = endpoint_of(api_server.manifest, node.node_name, node.runtime)
    kubeadm = node.kubeadm(node.programs.path(KUBEADM), node.programs.target, endpoint)
    upgrade_checks.check_certificates(kubeadm, found)
    try:
        new = generate(kubeadm)
    except NotGenerated as exc:
        message = f"the new kubeadm generates no manifests, so the upgrade does not begin: {exc}"
        found.findings.append(Finding(KUBEADM, BROKEN, message, set_by=CONFIG_MAP, file=CONFIG_MAP_SOURCE))
        _skip_others(node, {}, "there is no new manifest", found)
        return image_tag(api_server.manifest)
    found.findings += [
        Finding(KUBEADM, WARNS, f"kubeadm ignores it: {error}", set_by=CONFIG_MAP, file=CONFIG_MAP_SOURCE)
        for error in new.strict_errors
    ]
    old = _generate_baseline(node, endpoint, image_tag(api_server.manifest))
    for name, text in new.manifests.items():
        check_static_pod(name, text, old.get(name), node, found)
    _skip_others(node, new.manifests, "the new kubeadm generates no manifest of it", found)
    return image_tag(api_server.manifest)


def _skip_others(node: ControlPlane, names: t.Container[str], reason: str, found: UpgradeFindings) -> None:
    """Report the static pods of a control plane that are none of these, and so were not rehearsed."""
    for name in (ETCD, *versions.COMPONENTS):
        if name not in names and not (name == ETCD and node.configuration.has_external_etcd):
            found.skip(name, reason, "see what the new kubeadm makes of kubeadm-config")


def _generate_baseline(node: ControlPlane, endpoint: Endpoint, tag: str) -> dict[str, str]:
    """What kubeadm generates for the version of today: by the node's own kubeadm where it is of that version. Empty when it cannot.

    tag: of the API server's image. In the middle of an upgrade the ConfigMap has another version.
    """
    current = tag if prerequisites.parse_version(tag) else node.configuration.version
    own = installed_kubeadm(node.run)
    is_same = (
        own is not None
        and (prerequisites.parse_version(own[1]) or ())[:2] == (prerequisites.parse_version(current) or (None,))[:2]
    )
    program = own[0] if own and is_same else node.programs.path(KUBEADM)
    try:
        return generate(node.kubeadm(program, current, endpoint)).manifests
    except NotGenerated:
        return {}
