# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a rollout over a control plane asks of each static pod, worked out from what is asked of the control plane as a whole."""

from __future__ import annotations

import typing as t

from ..common.errors import Refusal
from ..kubernetes import versions
from .short_restarts import with_short_restarts

Settings = t.Mapping[str, t.Any]

_ETCD = "etcd"
_API_SERVER = "kube-apiserver"
_ALL = len((_ETCD, *versions.COMPONENTS))
_PRESENT = "present"
# As Ansible takes them.
_TRUE, _FALSE = ("true", "yes", "on", "y", "t", "1", "1.0"), ("false", "no", "off", "n", "f", "0", "0.0")


def build_requests(
    static_pods: str | t.Sequence[str],
    *,
    state: str,
    preserved: t.Mapping[str, Settings],
    feature_gates: Settings | None = None,
    admission_plugins: Settings | None = None,
    components: t.Mapping[str, Settings] | None = None,
    short_restarts: bool | None = None,
    control_planes: int = 0,
) -> dict[str, dict[str, t.Any]]:
    """The entries of the option static_pods of the module static_pod_plan, by name, in the given order.

    feature_gates: of the three components of Kubernetes. admission_plugins: of the API server. components: what a single component gets
    besides, which wins over these. short_restarts: whether the flags for these are set. control_planes: how many the cluster has; 0 when that is
    not known. What none of them names (None, or a component without the option) is not in the entry, so it is left as it is. Where state is not
    present, there are no settings.

    etcd is planned on a node where the desired state names it; elsewhere only where this collection has changed it, and an etcd that is no
    static pod is left alone.

    preserved: what has its present value in a pass that only adds, by name and option; with C(waits) the static pod has no entry.
    """
    selected = parse_names(static_pods)
    names = [name for name in selected if not preserved.get(name, {}).get("waits")]
    if state != _PRESENT:
        return {name: _optional_entry(name, is_desired=len(selected) < _ALL) for name in names}
    own = components or {}
    if short_restarts is not None:
        own = with_short_restarts(own, names, is_on=short_restarts, control_planes=control_planes)
    shared = {"feature_gates": feature_gates, "admission_plugins": admission_plugins}
    return {
        name: {
            **_settings(name, _keep_preserved(own.get(name, {}), preserved.get(name, {})), shared),
            **_optional_entry(name, is_desired=name in own),
        }
        for name in names
    }


def parse_names(static_pods: str | t.Sequence[str]) -> list[str]:
    """The names of static pods. A variable of the command line is text, with commas."""
    if isinstance(static_pods, str):
        return [name.strip() for name in static_pods.split(",") if name.strip()]
    return list(static_pods)


def parse_switch(name: str, value: t.Any) -> bool:
    """The value of a variable that is true or false, also as text of the command line. Raises Refusal."""
    text = str(value).lower()
    if text not in (*_TRUE, *_FALSE):
        raise Refusal(f"invalid {name}: must be true or false.")
    return text in _TRUE


def _settings(name: str, own: Settings, shared: t.Mapping[str, Settings | None]) -> dict[str, t.Any]:
    merged = {
        option: {**(values or {}), **own.get(option, {})}
        for option, values in shared.items()
        if option in own or (values is not None and _applies_to(option, name))
    }
    return {**own, **merged}


def _applies_to(option: str, name: str) -> bool:
    """Whether a setting of the control plane as a whole is one of a static pod."""
    return name != _ETCD if option == "feature_gates" else name == _API_SERVER


def _keep_preserved(own: Settings, preserved: Settings) -> Settings:
    options = {option: keys for option, keys in preserved.items() if option != "waits"}
    return {**own, **{option: {**own.get(option, {}), **keys} for option, keys in options.items()}}


def _optional_entry(name: str, *, is_desired: bool) -> dict[str, t.Any]:
    return {"only_if_changed": True} if name == _ETCD and not is_desired else {}
