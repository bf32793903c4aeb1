# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an upgrade is checked for, what is found of one setting or condition, and what was not checked.

A check is a rehearsal by a program of the new version, or something that is read. One that was not made proves nothing, so a cluster is not safe
without it, unless a person accepts that by its name. There is no name for all of them: what is new or was overlooked must not be accepted by habit.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..common.errors import KubeadmError
from ..common.verdict import SKIPPED, Verdict

ACCEPT = "upgrade_check_accept_unrehearsed"
NODE = "node/"  # before the name of a node that was not checked

CERTIFICATES = "certificates"
KUBE_PROXY = "kube-proxy"
KUBEADM_CONFIG = "kubeadm-config"
KUBELET_GATES = "kubelet-gates"
KUBELET_MANIFESTS = "kubelet-manifests"
RUNTIME = "container-runtime"
USER_NAMESPACES = "user-namespaces"

_PULL = "pull the images of the new version on this node (kubeadm config images pull), or put the program into upgrade_check_programs"
_ACCESS = "give the account the right, and the API server the time, to answer"


class Check(t.NamedTuple):
    """One check. subject: what it is about. remedy: how a run comes to make it; empty where nothing does. since: the minor version from which on
    an upgrade depends on it."""

    subject: str
    remedy: str
    since: tuple[int, int] = (0, 0)


CHECKS: dict[str, Check] = {
    "etcd": Check("the new etcd with its manifest", _PULL),
    "kube-apiserver": Check("the new kube-apiserver with its manifest", _PULL),
    "kube-controller-manager": Check("the new kube-controller-manager with its manifest", _PULL),
    "kube-scheduler": Check("the new kube-scheduler with its manifest", _PULL),
    KUBE_PROXY: Check("the new kube-proxy with its ConfigMap", _PULL),
    "kubelet": Check("the new kubelet with its settings", "use a release of this collection that is tested with it"),
    KUBELET_GATES: Check(
        "the feature gates of a kubelet that is not started, by the new kube-apiserver",
        "put kube-apiserver of the new version into upgrade_check_programs on this node",
    ),
    KUBELET_MANIFESTS: Check(
        "the new kubelet with the manifests of static pods",
        "",
        (1, 38),
    ),
    USER_NAMESPACES: Check(
        "the ID ranges of pods with a user namespace",
        "repair what the kubelet itself reads there",
        (1, 38),
    ),
    RUNTIME: Check(
        "whether the container runtime reports its cgroup driver", "have its program in the path of the connection"
    ),
    CERTIFICATES: Check(
        "certificates that end before the upgrade, or that it does not renew",
        "see why the new kubeadm certs check-expiration fails",
    ),
    "deprecated-apis": Check("APIs that clients request and the new version does not serve", _ACCESS),
    "webhooks": Check("admission webhooks that fail closed", _ACCESS),
    "device-classes": Check("DeviceClasses with a resource of this collection", _ACCESS),
    "coredns": Check(
        "whether kubeadm knows each plugin of the Corefile",
        "try the Corefile with the new CoreDNS on a test cluster",
    ),
    KUBEADM_CONFIG: Check("whether kubeadm-config changed during the check", _ACCESS),
}


class NotChecked(KubeadmError):
    """A check could not be made, for the reason that the message gives."""


def applies(name: str, target: t.Sequence[int]) -> bool:
    """Whether an upgrade to a version depends on a check."""
    return tuple(target[:2]) >= CHECKS[name].since


def unrehearsed_entry(name: str, reason: str, remedy: str | None = None) -> dict[str, str]:
    """What was not checked, as results and reports have it. remedy: other than that of the check."""
    usual = "check it with the others" if name.startswith(NODE) else CHECKS[name].remedy
    return {"name": name, "reason": reason.rstrip("."), "remedy": usual if remedy is None else remedy}


# ---- accepting by name: to waive a check that was not made ---------------------------------------------------------------------------------------------------


def name_refusal(names: t.Iterable[str]) -> str:
    """Why names cannot be accepted, whatever a run finds; empty when they can."""
    unknown = [name for name in names if name not in CHECKS and not name.startswith(NODE)]
    if not unknown:
        return ""
    return (
        f"invalid {ACCEPT} {', '.join(unknown)}: must be names of what was not rehearsed, as the report prints them: {', '.join(CHECKS)}, or"
        f" {NODE}NAME for a node that is not in the run."
    )


def differing_refusal(values: t.Sequence[t.Any]) -> str:
    """Why the values of several hosts are refused: one list counts for the run; empty when they are the same."""
    if all(value == values[0] for value in values):
        return ""
    return f"invalid {ACCEPT}: must be the same on all hosts. Give it for the run, with -e."


def stale_refusal(names: t.Iterable[str], unrehearsed: t.Collection[str], rehearsed: t.Collection[str]) -> str:
    """Why names are not accepted after a run that checked all its nodes; empty when they are.

    unrehearsed: on some node. rehearsed: on some node. A name in neither is of no concern to this cluster.
    """
    stale = [name for name in names if name not in unrehearsed and (name in rehearsed or name.startswith(NODE))]
    if not stale:
        return ""
    valid = ", ".join(sorted(unrehearsed))
    what = (
        f"must be of what was not rehearsed: {valid}" if valid else "everything was rehearsed, so remove the variable"
    )
    return f"invalid {ACCEPT} {', '.join(stale)}: {what}. What was rehearsed is not accepted in advance."


Json = dict[str, t.Any]

# The impact on a setting: it is kept; removed, and site sets it again; removed, and nothing sets it again; or it breaks the component. What changes nothing
# and has to be known all the same is worth a warning.
KEPT, REAPPLIED, REMOVED, BROKEN, WARNS = "kept", "reapplied", "removed", "broken", "warns"
IMPACTS = (BROKEN, REMOVED, REAPPLIED, WARNS, KEPT)  # the worst first

COLLECTION, KUBEADM, CONFIG_MAP, PATCHES, INVENTORY, OTHER = (
    "collection",
    "kubeadm",
    "kubeadm-config",
    "patches",
    "inventory",
    "other",
)


@dataclasses.dataclass(frozen=True)
class Finding:
    """What an upgrade does to one setting.

    component: a static pod, C(kubelet), or C(node) for what belongs to none. field, key: as in the modules; empty for what is no single setting.
    impact: one of IMPACTS. message: the component's own message where it breaks. set_by: who set it; empty where that does not apply. file, line:
    where it is set; empty and None when unknown. variable: the one to change; empty when there is none.
    """

    component: str
    impact: str
    message: str
    field: str = ""
    key: str = ""
    set_by: str = ""
    file: str = ""
    line: int | None = None
    variable: str = ""

    @property
    def place(self) -> tuple[str, str, str]:
        """The identity of a setting on its node."""
        return self.component, self.field, self.key


@dataclasses.dataclass
class UpgradeFindings:
    """Findings, gathered over the parts of a node or of the cluster; what was rehearsed; which checks were made; and what was not."""

    findings: list[Finding] = dataclasses.field(default_factory=list)
    rehearsed: list[Json] = dataclasses.field(default_factory=list)
    checks: list[str] = dataclasses.field(default_factory=list)
    not_rehearsed: list[Json] = dataclasses.field(default_factory=list)

    def add(self, other: UpgradeFindings, findings: t.Iterable[Finding]) -> None:
        """Take in what was and was not rehearsed of another part, with these findings."""
        self.findings += findings
        self.rehearsed += other.rehearsed
        self.not_rehearsed += other.not_rehearsed

    def check(self, name: str, findings: t.Iterable[Finding]) -> None:
        """Make a check: add what it finds. One that ends with a KubeadmError was not made, whatever it found until then."""
        try:
            for finding in findings:
                self.findings.append(finding)
        except KubeadmError as exc:
            self.skip(name, str(exc))
        else:
            self.checks.append(name)

    def skip(self, name: str, reason: str, remedy: str | None = None) -> None:
        """Record what was not rehearsed, once for each reason. The arguments are those of C(unrehearsed_entry)."""
        entry = unrehearsed_entry(name, reason, remedy)
        if entry not in self.not_rehearsed:
            self.not_rehearsed.append(entry)

    def note(self, component: str, what: str, verdict: Verdict) -> None:
        """Record a rehearsal, and as findings what it warns of. what: C(generated), C(today) or C(desired)."""
        if verdict.verdict == SKIPPED:
            self.skip(component, verdict.message, "")  # whatever is there to start, its start is not rehearsed
            return
        warnings = (Finding(component, WARNS, text) for text in verdict.warnings)
        self.findings += [finding for finding in warnings if finding not in self.findings]
        self.rehearsed.append(
            {
                "component": component,
                "what": what,
                "verdict": verdict.verdict,
                "message": verdict.message,
                "seconds": verdict.seconds,
            }
        )

    def report(self) -> Json:
        """The part of a result that is about this."""
        return {
            "findings": [dataclasses.asdict(finding) for finding in self.findings],
            "rehearsed": self.rehearsed,
            "checks": self.checks,
            "not_rehearsed": self.not_rehearsed,
        }
