# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an upgrade needs: steps that Kubernetes supports, programs of the right version, certificates that outlast it.

kubeadm renews the certificates of a control plane in each upgrade, unless it runs with --certificate-renewal=false. It renews no authority, and
nothing that an authority outside of it has signed.
"""

from __future__ import annotations

import re
import typing as t

from ..common.errors import Refusal
from ..kubernetes import versions
from .findings import BROKEN, CHECKS, CONFIG_MAP, KUBELET_MANIFESTS, WARNS, Finding, NotChecked

Version = tuple[int, int, int]

_VERSION = re.compile(
    r"(?:Kubernetes |etcd Version: )?v?(\d{1,2})\.(\d{1,3})\.(\d{1,3})(?P<before>-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?"
)
_KUBELET_BEHIND = 3  # minor versions that a kubelet may be older than its API server
_ETCD_FIRST = {(3, 6): (3, 5, 20)}  # the oldest release of the minor version before, from which etcd supports the step
_CGROUP_V1_FAILS = (1, 35)  # from here on a kubelet needs an option to start with cgroup v1
_REPORTING_CONTAINERD = 2  # the first that reports its cgroup driver
_FALLBACK_ENDS = (1, 38)  # of the kubelet, for a runtime that does not
_MEGABYTE = 1_000_000
_SPACE, _FILES = 100 * _MEGABYTE, 100  # for manifests and certificates
_REPAIR = "it in the ConfigMap (kubectl -n kube-system edit configmap kubeadm-config)"

# What e_machine of an ELF header is called by uname.
_MACHINES = {
    3: "i686",
    21: "ppc64le",
    22: "s390x",
    40: "armv7l",
    62: "x86_64",
    183: "aarch64",
    243: "riscv64",
}
_ELF, _MACHINE_AT, _BYTE_ORDER_AT, _BIG_ENDIAN = b"\x7fELF", 18, 5, 2
HEADER_BYTES = 20


def parse_version(text: str) -> Version | None:
    """The version at the beginning of a text, such as C(v1.37.2), C(Kubernetes v1.37.2) or C(3.6.8-0); None where there is none."""
    match = _VERSION.match(text.strip())
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


def exact_version(text: str) -> Version | None:
    """The version that a text is and nothing else, such as C(1.37.2) or C(v1.37.2)."""
    match = re.fullmatch(_VERSION, text.strip())
    return parse_version(text) if match and not text.strip().startswith(("Kubernetes", "etcd")) else None


def format_version(version: Version) -> str:
    """A version as it is written."""
    return ".".join(map(str, version))


def target_of(target: str, current: str) -> Version:
    """The version that is upgraded to. current: the C(kubernetesVersion) of the cluster's ClusterConfiguration.

    Raises Refusal for one to which kubeadm does not upgrade that.
    """
    target_version, found = exact_version(target), parse_version(current)
    if target_version is None:
        raise Refusal(f"invalid target {target!r}: must be a whole version, such as 1.37.2.")
    if found is None:
        raise Refusal(
            f"the ClusterConfiguration has kubernetesVersion {current!r}, which is not a version: repair {_REPAIR}."
        )
    refuse_step(target, target_version, found, "the cluster has")
    return target_version


def refuse_step(target: str, target_version: Version, found: Version, source: str) -> None:
    """Raise Refusal where kubeadm does not upgrade one version to the other. source: what has the one that was found, such as C(the cluster has)."""
    if target_version < found:
        raise Refusal(
            f"invalid target {target}: must be {format_version(found)}, which {source}, or newer. kubeadm does not downgrade."
        )
    if target_version[0] != found[0] or target_version[1] > found[1] + 1:
        raise Refusal(
            f"invalid target {target}: must be of {found[0]}.{found[1]} or {found[0]}.{found[1] + 1}, because {source} {format_version(found)}"
            " and kubeadm upgrades by one minor version at a time. Check and make the step before it first."
        )


def refuse_api_server_step(current: str, target: str) -> None:
    """Raise Refusal where an API server is of a version that kubeadm does not upgrade to the target, whatever kubeadm-config has. current: its version
    as it reports it, or the tag of its image; a text that is no version is ignored."""
    found, target_version = parse_version(current), exact_version(target)
    if found and target_version:
        refuse_step(target, target_version, found, "the API server has")


def program_error(name: str, path: str, output: str, target: str) -> str:
    """Why a program is not of the target version; empty when it is. output: what it prints of its version."""
    found, target_version = parse_version(output), exact_version(target)
    if found is None:
        return f"{path} reports no version ({' '.join(output.split()) or 'no answer'}): it must be {name} {target}."
    if (found, _prerelease(output)) != (target_version, _prerelease(target)):
        return f"{path} is {name} {format_version(found)}{_prerelease(output)}: must be {target}, as the target is."
    return ""


def _prerelease(text: str) -> str:
    """What makes a version one before its release, such as C(-rc.1); empty for a release."""
    return "".join(match["before"] or "" for match in _VERSION.finditer(text.strip()))


def machine_of(header: bytes) -> str | None:
    """The architecture that a program is for, as uname calls it, by its first bytes; None for what is no program of Linux.

    header: HEADER_BYTES of the file, or more.
    """
    if not header.startswith(_ELF) or len(header) < HEADER_BYTES:
        return None
    order: t.Literal["big", "little"] = "big" if header[_BYTE_ORDER_AT] == _BIG_ENDIAN else "little"
    number = int.from_bytes(header[_MACHINE_AT:HEADER_BYTES], order)
    return _MACHINES.get(number, f"machine {number}")


def machine_error(path: str, header: bytes, machine: str) -> str:
    """Why a file cannot run on a node; empty when it can. machine: of the node, as uname calls it."""
    found = machine_of(header)
    if found is None:
        return f"{path} is not a Linux program: must be one for {machine}."
    return (
        "" if found == machine else f"{path} is a program for {found}: must be one for {machine}, which this node is."
    )


# ---- conditions --------------------------------------------------------------------------------------------------------


def kubelet_skew(kubelet: str, target: str) -> list[Finding]:
    """A kubelet that the new API server does not support. kubelet: its version today. One that is newer is so today, too: the upgrade breaks nothing."""
    found, target_version = parse_version(kubelet), exact_version(target)
    if found is None or target_version is None:
        return []
    if found[:2] > target_version[:2]:
        message = (
            f"kubelet {format_version(found)} is of a newer minor version than {target}, and Kubernetes supports no kubelet that is newer than its API server."
            f" Upgrade the cluster to {found[0]}.{found[1]} next, or drain the node and install kubelet {target} there, and hold its package."
        )
        return [Finding("kubelet", WARNS, message)]
    if target_version[1] - found[1] <= _KUBELET_BEHIND:
        return []
    return [
        Finding(
            "kubelet",
            BROKEN,
            f"kubelet {format_version(found)} is more than {_KUBELET_BEHIND} minor versions older than {target}, which the new API server does not support."
            " Upgrade this kubelet first.",
        )
    ]


def mixed_versions(found: t.Mapping[str, str]) -> list[Finding]:
    """Control planes of several minor versions, which kubeadm upgrades only after they are one. found: by node, of its API server."""
    minors = {node: version[:2] for node, text in found.items() if (version := parse_version(text))}
    if len(set(minors.values())) < 2:
        return []
    listed = ", ".join(f"{node} {found[node]}" for node in sorted(minors))
    return [
        Finding(
            "cluster",
            WARNS,
            f"the control planes have several versions ({listed}): end the upgrade that has begun first.",
        )
    ]


def etcd_step(current: str, following: str) -> list[Finding]:
    """A step of etcd that kubeadm or etcd does not support. current, following: the tags of its images, such as C(3.6.8-0)."""
    before, after = parse_version(current), parse_version(following)
    if before is None or after is None:
        tag = current if before is None else following
        message = f"the image of etcd has the tag {tag!r}, which is not a version, and kubeadm compares versions. Set etcd.local.imageTag to one."
        return [Finding("etcd", BROKEN, message, set_by="" if before is None else CONFIG_MAP)]
    step = f"etcd goes from {format_version(before)} to {format_version(after)}"
    if after < before:
        message = (
            f"the upgrade brings etcd {format_version(after)}, which is older than {format_version(before)} here, so kubeadm leaves etcd and its manifest as"
            " they are. Set etcd.local.imageTag."
        )
        return [Finding("etcd", WARNS, message)]
    if after[0] != before[0] or after[1] > before[1] + 1:
        return [
            Finding(
                "etcd",
                BROKEN,
                f"{step}: etcd supports one minor version at a time. Upgrade etcd to the one between first.",
            )
        ]
    oldest = _ETCD_FIRST.get(after[:2])
    if oldest and before < oldest:
        return [
            Finding(
                "etcd",
                WARNS,
                f"{step}: members before {format_version(oldest)} may lose their membership in this step. Upgrade to that first.",
            )
        ]
    return []


def may_rehearse_kubelet(target: str) -> bool:
    """Whether a kubelet of that version may be started in a rehearsal: that it stops before it does harm is known of tested versions only."""
    target_version = exact_version(target)
    return target_version is not None and target_version[:2] <= versions.NEWEST


def cgroup_findings(target: str, *, has_v2: bool, fails: bool | None) -> list[Finding]:
    """A kubelet that does not start on cgroup v1. fails: its field C(failCgroupV1), None when not set."""
    target_version = exact_version(target)
    if has_v2 or target_version is None:
        return []
    if target_version[:2] >= _CGROUP_V1_FAILS and fails is not False:
        message = (
            f"the node has cgroup v1, and from {_CGROUP_V1_FAILS[0]}.{_CGROUP_V1_FAILS[1]} on a kubelet does not start there unless failCgroupV1 is"
            " false. Boot with cgroup v2, or set that field for now."
        )
        return [Finding("kubelet", BROKEN, message, "config", "failCgroupV1", variable="node_kubelet_config")]
    return [Finding("node", WARNS, "the node has cgroup v1, whose support Kubernetes ends. Boot with cgroup v2.")]


def runtime_findings(target: str, name: str, version: str) -> list[Finding]:
    """A container runtime that does not report its cgroup driver to the kubelet.

    name: as C(Runtime.name). version: what its program prints of it, such as C(containerd ... v1.7.2 ...). Raises NotChecked where that does not show
    it and the kubelet of the target may depend on it.
    """
    target_version, ends = exact_version(target), ".".join(map(str, _FALLBACK_ENDS))
    if target_version is None:
        return []
    match = re.search(r"\bv?(\d+)\.(\d+)\.(\d+)", version)
    if name != "containerd" or match is None:
        unknown = (
            f"whether {name} reports its cgroup driver to the kubelet is not known ({' '.join(version.split()) or 'no version'}), and the kubelet's"
            f" fallback is announced to end with {ends}"
        )
        if target_version[:2] < _FALLBACK_ENDS:
            return [Finding("node", WARNS, f"{unknown}.")]
        raise NotChecked(unknown)
    if int(match[1]) >= _REPORTING_CONTAINERD:
        return []
    does_not = f"containerd {match[1]}.{match[2]}.{match[3]} does not report its cgroup driver to the kubelet"
    if target_version[:2] < _FALLBACK_ENDS:
        when = f"the fallback is announced to end with {ends}. Upgrade containerd to {_REPORTING_CONTAINERD}.0 or newer before that."
    else:
        when = (
            f"the fallback was announced to end with {ends}, whose beta still has it: read the release notes of {target}, or upgrade containerd to"
            f" {_REPORTING_CONTAINERD}.0 or newer first."
        )
    return [Finding("node", WARNS, f"{does_not}, and {when}")]


def manifest_findings(target: str, kubelet: tuple[int, int], manifests: t.Sequence[str]) -> list[Finding]:
    """Static pods that the kubelet of the target validates by more rules than the present one. None is known to be wrong: raises NotChecked.

    kubelet: its minor version today. manifests: their files, or what else names static pods.
    """
    if not manifests or kubelet >= CHECKS[KUBELET_MANIFESTS].since:
        return []
    raise NotChecked(
        f"the kubelet of {target} validates static pods by more rules than {kubelet[0]}.{kubelet[1]} and silently ignores one that it refuses, and none has"
        f" read {', '.join(manifests)}: a kubelet reads manifests once it is connected to the container runtime, which no rehearsal is"
    )


def space_findings(
    directory: str, free: int, data: int, *, free_files: int | None = None, files: int = 0, read_only: bool = False
) -> list[Finding]:
    """No space for the copies that kubeadm makes of the manifests and of etcd's data. free, data: bytes. free_files: how many more the file system takes;
    None when it sets no limit. files: of etcd's data. read_only: it is mounted so."""
    needed, needed_files = data + _SPACE, files + _FILES
    if read_only:
        problem = (
            "is mounted read-only, and kubeadm copies etcd's data and the manifests there. Mount it for writing first."
        )
    elif free < needed:
        problem = f"has {free // _MEGABYTE} MB free, and kubeadm copies etcd's data and the manifests there, {needed // _MEGABYTE} MB. Make space first."
    elif free_files is not None and free_files < needed_files:
        problem = (
            f"has inodes for {free_files} more files, and kubeadm copies etcd's data and the manifests there, {needed_files} files. Remove some"
            " first."
        )
    else:
        return []
    return [Finding("node", BROKEN, f"the file system of {directory} {problem}")]


def unread_data(directory: str, problem: str | None) -> Finding:
    """etcd's data, which kubeadm could not copy."""
    message = (
        f"kubeadm copies etcd's data before it changes anything, and {directory}, which kubeadm-config names as etcd's dataDir, cannot be read:"
        f" {problem}. Correct etcd.local.dataDir there, or repair the directory."
    )
    return Finding("node", BROKEN, message)


FIELD = "certificates"
_NODE = "node"
_HOUR, _DAY = 3600, 86400  # seconds
_UPGRADE = _DAY  # what an upgrade of a cluster may take, node by node
_NOTICE = 30 * _DAY  # to have a certificate signed elsewhere
_LIFE = 365 * _DAY  # of a certificate that kubeadm renews
_OPTIONAL = "super-admin.conf"  # only where kubeadm init ran
_KUBECONFIG = ".conf"

Json = t.Mapping[str, t.Any]


def certificate_findings(report: Json) -> list[Finding]:
    """What is wrong. report: of C(kubeadm certs check-expiration --output=json).

    Raises KeyError and TypeError for what is not of that form.
    """
    found = [(entry["name"], _of_certificate(entry)) for entry in report["certificates"]]
    found += [(entry["name"], _of_authority(entry)) for entry in report["certificateAuthorities"]]
    return [Finding(_NODE, impact, message, FIELD, name) for name, (impact, message) in found if impact]


def _of_certificate(entry: Json) -> tuple[str, str]:
    """The impact of one certificate and why; empty when nothing is wrong."""
    name, left = entry["name"], entry["residualTime"]
    if entry["missing"]:
        return ("", "") if name == _OPTIONAL else (BROKEN, _missing(name))
    is_external = entry["externallyManaged"]
    remedy = (
        "have it signed again by its authority" if is_external else f"renew it before, with kubeadm certs renew {name}"
    )
    until = entry["expirationDate"]
    if left <= 0:
        return BROKEN, f"it has expired ({until}), so connections with it fail, those of kubeadm among them: {remedy}."
    if is_external and left < _NOTICE:
        return (
            WARNS,
            f"it ends in {left // _DAY} days ({until}), and the upgrade does not renew what an authority outside of kubeadm signed: {remedy}.",
        )
    if left < _UPGRADE:
        return WARNS, (
            f"it ends in {left // _HOUR} hours ({until}). The upgrade renews it when it reaches this node, and not at all with"
            f" --certificate-renewal=false: {remedy}."
        )
    return "", ""


def _missing(name: str) -> str:
    phase = f"kubeconfig {name[: -len(_KUBECONFIG)]}" if name.endswith(_KUBECONFIG) else f"certs {name}"
    return f"it does not exist, and an upgrade that has to renew it fails. Create it with kubeadm init phase {phase}."


def _of_authority(entry: Json) -> tuple[str, str]:
    left, until = entry["residualTime"], entry["expirationDate"]
    if entry["missing"] or left >= _LIFE:
        return "", ""
    remedy = "no upgrade renews an authority. Replace it manually, as the documentation of Kubernetes describes (Manual Rotation of CA Certificates)."
    if left <= 0:
        return BROKEN, f"the authority has expired ({until}), and with it all that it signed; {remedy}"
    return (
        WARNS,
        f"the authority ends in {left // _DAY} days ({until}), before the certificates that the upgrade renews; {remedy}",
    )
