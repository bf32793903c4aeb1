# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which rights an account needs at the API for what a run does after its first write, and the message about those that it lacks.

The ClusterRoles and Roles in C(docs/credentials.md) grant them; a contract compares the two.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..common import typed
from ..common.typed import ModuleResult

Json = dict[str, t.Any]

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
USER_REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
USER_REVIEW: Json = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}


@dataclasses.dataclass(frozen=True)
class Right:
    """One verb on one resource. resource: with its subresource, such as C(nodes/proxy). group: empty for the core. namespace: empty for what
    is in none. names: of the objects that the run needs, where the right may be limited to them; empty for all.
    """

    verb: str
    resource: str
    group: str = ""
    namespace: str = ""
    names: tuple[str, ...] = ()

    @classmethod
    def parse(cls, entry: t.Mapping[str, t.Any]) -> Right:
        """From a module's option."""
        return cls(**{**entry, "names": tuple(entry.get("names") or ())})

    def __str__(self) -> str:
        names = f" {', '.join(self.names)}" if self.names else ""
        return f"{self.verb} {self.resource}{names}{f' in {self.namespace}' if self.namespace else ''}"

    def review(self, name: str = "") -> Json:
        """The object whose creation shows whether the account has the right. name: for one object only."""
        resource, dummy, subresource = self.resource.partition("/")
        attributes = {
            "verb": self.verb,
            "group": self.group,
            "resource": resource,
            "subresource": subresource,
            "namespace": self.namespace,
            "name": name,
        }
        return {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {key: value for key, value in attributes.items() if value}},
        }


# Without it none of the others can be reviewed. Every account has it, unless the ClusterRole system:basic-user was taken from it.
RIGHT_TO_REVIEW = Right("create", "selfsubjectaccessreviews", "authorization.k8s.io")


def of_lease(name: str, namespace: str) -> list[Right]:
    """To acquire, renew and release the Lease of a rollout. A right to create cannot be limited to a name."""
    group = "coordination.k8s.io"
    named = [Right(verb, "leases", group, namespace, (name,)) for verb in ("get", "update")]
    return [*named, Right("create", "leases", group, namespace)]


def of_kubelets(nodes: t.Sequence[str], *, reads_pods: bool) -> list[Right]:
    """To read nodes, and what their kubelets use. nodes: their names. reads_pods: whether to find pods that would be rejected."""
    names = tuple(nodes)
    rights = [Right("get", "nodes", names=names), Right("list", "nodes"), Right("get", "nodes/proxy", names=names)]
    return [*rights, *([Right("list", "pods")] if reads_pods else [])]


def of_canary(namespace: str) -> list[Right]:
    """To start a pod, read its log and delete it. Its namespace and ServiceAccount may be made by others."""
    pods = [Right(verb, "pods", "", namespace) for verb in ("create", "list", "deletecollection")]
    return [*pods, Right("get", "pods/log", "", namespace), Right("list", "events", "", namespace)]


def of_nodes(nodes: t.Sequence[str], fields: t.Collection[str]) -> list[Right]:
    """To set labels, taints and resources of nodes again that a restarted kubelet may have lost. fields: what of these is desired."""
    names = tuple(nodes)
    resources = {"nodes/status": "resources" in fields, "nodes": bool({"labels", "taints"}.intersection(fields))}
    return [Right("patch", resource, names=names) for resource, is_desired in resources.items() if is_desired]


def of_config_maps(config: str, record: str, namespace: str) -> list[Right]:
    """To keep settings in kubeadm's ConfigMap. config, record: the names of that one, and of the one with what was there before."""
    both = [Right(verb, "configmaps", "", namespace, (config, record)) for verb in ("get", "update")]
    return [
        *both,
        Right("create", "configmaps", "", namespace),
        Right("delete", "configmaps", "", namespace, (record,)),
    ]


def to_option(rights: t.Iterable[Right]) -> list[Json]:
    """Rights as the option of the module C(access_info)."""
    return [{**dataclasses.asdict(right), "names": list(right.names)} for right in rights]


@dataclasses.dataclass(frozen=True)
class AccessResult(ModuleResult):
    """The result of the module C(access_info). missing: the rights that the account lacks; None when the API server does not report them."""

    user: str = ""
    missing: tuple[Right, ...] | None = typed.tuple_of(Right.parse, None)


def missing_rights_message(result: AccessResult, purpose: str) -> str:
    """Why a run must not begin; empty when the account has all rights, or this is not known. purpose: what needs them."""
    if not result.missing:
        return ""
    lacking = ", ".join(map(str, result.missing))
    return (
        f"the account {result.user or 'of these credentials'} lacks rights that {purpose}: {lacking}. These rules grant them, in a"
        f" ClusterRole that is bound to the account (docs/credentials.md has all): {'; '.join(rbac_rules(result.missing))}."
    )


def unverified_rights(result: AccessResult, purpose: str) -> list[str]:
    """What of the rights is not known, because the API server did not report it. The arguments are those of missing_rights_message()."""
    if result.missing is not None:
        return []
    return [f"whether the account has the rights that {purpose}: {result.msg or 'the API does not answer'}"]


def rbac_rules(rights: t.Iterable[Right]) -> list[str]:
    """The rules that grant rights, as YAML in one line each."""
    verbs: dict[tuple[str, str], dict[str, None]] = {}
    for right in rights:
        verbs.setdefault((right.group, right.resource), {})[right.verb] = None
    return [
        f"{{apiGroups: ['{group}'], resources: [{resource}], verbs: [{', '.join(each)}]}}"
        for (group, resource), each in verbs.items()
    ]
