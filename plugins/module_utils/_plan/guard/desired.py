# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The desired state of a placement guard: the options of a task, and whether a cluster could have it."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..common.errors import Refusal
from ..kubernetes import names as node_names
from ..kubernetes.canary_objects import NAMESPACE
from . import policies as placement_policies
from .policies import MUTATION

# Its pods keep the cluster going.
# Kubernetes' own, and that of canaries, which have to start on a protected node, too.
_ALWAYS_EXEMPT = ("kube-system", NAMESPACE)
# A name has 253 characters at most, and those of the trial's pods begin with this one and 7 more: any value up to 246 works.
_LONGEST_NAME = 200
_DAEMON_SET = re.compile(r"[^/\s]+/[^/\s]+")


@dataclasses.dataclass(frozen=True)
class Desired:
    """The options of a task. affinity: whether names of nodes become affinities, which counts with enforce only. exceptions: CEL expressions
    that let a pod through."""

    name: str
    present: bool
    nodes: tuple[str, ...]
    resources: tuple[str, ...]
    taint_keys: tuple[str, ...]
    require_request: bool
    enforce: bool
    affinity: bool
    schedulers: tuple[str, ...]
    exceptions: tuple[str, ...]
    exempt_daemon_sets: tuple[str, ...]
    exempt_namespaces: tuple[str, ...]
    allow_refusals: bool
    trial_namespace: str


def parse_desired(params: t.Mapping[str, t.Any]) -> Desired:
    """Turn module parameters into a desired state. Raises Refusal for what no cluster could guard."""
    resources = tuple(params["resources"])
    desired = Desired(
        name=params["name"],
        present=params["state"] == "present",
        nodes=tuple(sorted(set(params["nodes"]))),
        resources=resources,
        taint_keys=tuple(params["taint_keys"] or ()) or resources,
        require_request=params["require_request"],
        enforce=params["enforce"],
        affinity=params["enforce"] and params["on_node_name"] == "affinity",
        schedulers=tuple(params["schedulers"]),
        exceptions=tuple(params["exceptions"]),
        exempt_daemon_sets=tuple(params["exempt_daemon_sets"]),
        exempt_namespaces=(*_ALWAYS_EXEMPT, *sorted(set(params["exempt_namespaces"]) - {*_ALWAYS_EXEMPT})),
        allow_refusals=params["allow_refusals"],
        trial_namespace=params["trial_namespace"],
    )
    _check_names(desired)
    _check_texts(desired)
    if desired.present:
        _check_combination(desired)
    return desired


def _check_names(desired: Desired) -> None:
    node_names.check_object("name", desired.name, "policy")
    if len(desired.name) > _LONGEST_NAME:
        raise Refusal(f"name: it has {len(desired.name)} characters, and at most {_LONGEST_NAME} are allowed.")
    if placement_policies.is_trial(desired.name):
        raise Refusal(
            f"name: {desired.name!r} is reserved for the copy of another guard during its trial; choose another suffix."
        )
    for name in desired.nodes:
        node_names.check_node("nodes", name)
    for name in desired.resources:
        node_names.check_resource(name)
    for key in desired.taint_keys:
        node_names.check_taint(key, "taint_keys")
    for name in desired.exempt_namespaces:
        node_names.check_object("exempt_namespaces", name, "namespace")
    node_names.check_object("trial_namespace", desired.trial_namespace, "namespace")


def _check_texts(desired: Desired) -> None:
    for name in desired.exempt_daemon_sets:
        if not _DAEMON_SET.fullmatch(name):
            raise Refusal(f"exempt_daemon_sets: invalid name {name!r}: must be namespace/name.")
    for option, texts in (("exceptions", desired.exceptions), ("schedulers", desired.schedulers)):
        if not all(text.strip() for text in texts):
            raise Refusal(f"{option}: one of them is empty; remove it.")


def _check_combination(desired: Desired) -> None:
    if not (desired.nodes or desired.taint_keys):
        raise Refusal(
            "none of nodes, resources and taint_keys is given; name the nodes to protect, or what this collection keeps them for."
        )
    if desired.require_request and not desired.resources:
        raise Refusal("require_request: resources is empty; name there what pods have to request.")
    if not desired.schedulers:
        raise Refusal("invalid schedulers []: must name one that may place pods on protected nodes.")
    if desired.trial_namespace in desired.exempt_namespaces:
        raise Refusal(
            f"trial_namespace: the guard does not apply to {desired.trial_namespace}, so no trial is possible there; name another."
        )


def refuse_unserved(desired: Desired, served: t.Collection[str], version: t.Callable[[], str]) -> None:
    """Refuse a cluster that has no such policies. served: the kinds that it has. version: returns the cluster's."""
    lacking = [kind for kind in placement_policies.kinds_of(affinity=desired.affinity) if kind not in served]
    if not lacking:
        return
    reason = f"this cluster ({version()}) does not serve {lacking[0]} of admissionregistration.k8s.io/v1, which Kubernetes has"
    if lacking[0] == MUTATION:
        raise Refusal(f"on_node_name is affinity, and {reason} from 1.36 on. Leave it at refuse.")
    key = desired.taint_keys[0] if desired.taint_keys else "KEY"
    raise Refusal(
        f"{reason} from 1.30 on, unless --runtime-config switches it off. Without it, keep others off the nodes with a taint of the"
        f" effect NoExecute, which the kubelets enforce, too: give the nodes {{key: {key}, effect: NoExecute}} beside the one with"
        " NoSchedule, with node_taint or in node_resources_taints. Pods for these nodes have to tolerate both;"
        " ExtendedResourceToleration adds a toleration of NoSchedule only."
    )
