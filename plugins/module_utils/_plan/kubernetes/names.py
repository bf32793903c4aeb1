# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What nodes, labels, taints and extended resources may be called, by Kubernetes' own rules, and what is not ours to set.

The API takes resource names on a node that no pod can ever request, so they are checked here.
"""

from __future__ import annotations

import re
import typing as t

from ..common.errors import Refusal

_SUBDOMAIN = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
_CLOUD = "node.cloudprovider.kubernetes.io/"
# The node lifecycle controller sets and removes these by itself. out-of-service is missing: people set that one.
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")  # of a taint
_LIFECYCLE = frozenset(
    f"node.kubernetes.io/{name}"
    for name in (
        "not-ready",
        "unreachable",
        "memory-pressure",
        "disk-pressure",
        "pid-pressure",
        "network-unavailable",
        "unschedulable",
    )
)
# The kubelet writes these labels when it starts, whatever stands there.
_KUBELET = frozenset(
    ["kubernetes.io/hostname", *(f"{beta}kubernetes.io/{name}" for beta in ("", "beta.") for name in ("os", "arch"))]
)


def check_node(option: str, name: t.Any) -> str:
    """The name of a node, or a Refusal."""
    return check_object(option, name, "node")


def check_object(option: str, name: t.Any, kind: str) -> str:
    """The name of an object of a kind whose names are subdomains, or a Refusal."""
    if not isinstance(name, str) or len(name) > 253 or not _SUBDOMAIN.fullmatch(name):
        raise Refusal(
            f"invalid {option} {name!r}: must be the name of a {kind} (lower case letters, digits, dashes and dots)."
        )
    return name


def check_label(key: t.Any) -> str:
    """The key of a label that may be set, or a Refusal."""
    _check_key("labels", key)
    _refuse_controlled("labels", key, _KUBELET, "the kubelet writes it when it starts")
    return str(key)


def check_selector(selector: str | None) -> None:
    """Refuse an empty one: to Kubernetes it means every node, and to a play with an empty variable it does not."""
    if selector is not None and not selector.strip():
        raise Refusal("invalid label_selector '': must be a selector, or omitted.")


def check_taint(key: t.Any, option: str = "taints") -> str:
    """The key of a taint that may be set, or a Refusal."""
    _check_key(option, key)
    _refuse_controlled(option, key, _LIFECYCLE, "the node lifecycle controller sets and removes it by itself")
    return str(key)


def check_resource(name: t.Any) -> str:
    """The name of an extended resource that pods can request, or a Refusal."""
    problem = None
    if not isinstance(name, str) or "/" not in name:
        problem = "an extended resource has a domain before its name, such as example.com/dongle"
    elif "kubernetes.io/" in name:
        problem = "names with kubernetes.io/ are Kubernetes' own"
    elif name.startswith("requests."):
        problem = "quotas use names that begin with requests."
    else:
        # Quotas put a prefix before the name, and it has to be a name then, too.
        problem = _key_problem(f"requests.{name}")
    if problem:
        raise Refusal(f"resources: no pod could request {name!r}: {problem}.")
    return str(name)


def is_extended_resource(name: str) -> bool:
    """Whether a resource of a node is an extended one: neither Kubernetes' own nor unusable by pods."""
    try:
        check_resource(name)
    except Refusal:
        return False
    return True


def text_value(option: str, key: str, value: t.Any) -> str:
    """The value of a label or taint as Kubernetes writes it, or a Refusal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        value = str(value)
    if not isinstance(value, str):
        raise Refusal(
            f"{option}: invalid value {value!r} of {key}: must be a string in quotes, a whole number or a boolean."
        )
    if value and (len(value) > 63 or not _NAME.fullmatch(value)):
        raise Refusal(
            f"{option}: invalid value {value!r} of {key}: must be at most 63 letters, digits, '-', '_' and '.', with a"
            " letter or digit at both ends."
        )
    return value


def _check_key(option: str, key: t.Any) -> None:
    problem = _key_problem(key) if isinstance(key, str) else "it is not a string"
    if problem:
        raise Refusal(f"{option}: invalid key {key!r}: {problem}.")


def _key_problem(key: str) -> str | None:
    prefix, slash, name = key.rpartition("/")
    if slash and (len(prefix) > 253 or not _SUBDOMAIN.fullmatch(prefix)):
        return f"{prefix!r} before the slash is not a domain of at most 253 lower case letters, digits, dashes and dots"
    if not name:
        return "there is no name after the slash" if slash else "it is empty"
    if len(name) > 63:
        return f"its name has {len(name)} characters, and at most 63 are allowed"
    if not _NAME.fullmatch(name):
        return f"{name!r} is not made of letters, digits, '-', '_' and '.' with a letter or digit at both ends"
    return None


def _refuse_controlled(option: str, key: str, controlled: frozenset[str], why: str) -> None:
    if key.startswith(_CLOUD):
        raise Refusal(f"{option}: {key} is not set manually: it belongs to the cloud controller.")
    if key in controlled:
        raise Refusal(f"{option}: {key} is not set manually: {why}.")
