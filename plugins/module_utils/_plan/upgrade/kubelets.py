# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a new kubelet makes of the settings of the node."""

from __future__ import annotations

import dataclasses
import json
import posixpath
import typing as t

from ..common.file_values import FileVersion
from ..common.ownership import Values
from ..common.verdict import Verdict
from ..kubelet import config as kubelet_config
from ..kubelet import layout as kubelet_layout
from ..kubelet.config import ARGS, CONFIG, GATES, TAINTS
from ..kubelet.kubelet_state import State
from ..kubelet.layout import FRAGMENT, Layout
from ..kubelet.plan import KubeletFileChange, KubeletPlan
from ..kubernetes import flags
from . import refusals
from .findings import BROKEN, COLLECTION, INVENTORY, KUBEADM, OTHER, USER_NAMESPACES, Finding

KUBELET = "kubelet"
_API_SERVER = "kube-apiserver"
_FLAGS_FILE = "/var/lib/kubelet/kubeadm-flags.env"
_OF_KUBEADM = ("/var/lib/kubelet/config.yaml", _FLAGS_FILE)
# The minor version to which kubeadm upgrades -> the flags that it takes out of its file, because that kubelet has them no more.
_REMOVED_FLAGS: dict[tuple[int, ...], tuple[str, ...]] = {(1, 35): ("pod-infra-container-image",)}
IDS_PER_POD = 65536  # the kubelet's default for userNamespaces.idsPerPod
_IDS = 2**32
_SUBORDINATES = "/etc/subuid"
_VARIABLES = {
    GATES: "node_kubelet_feature_gates",
    CONFIG: "node_kubelet_config",
    ARGS: "node_kubelet_args",
    TAINTS: "node_kubelet_register_with_taints",
}


def unchanged_plan(state: State) -> KubeletPlan:
    """A kubelet as its files make it, as a plan with which it is rehearsed."""
    layout = state.layout()
    own = next((file for file in state.fragments if posixpath.basename(file.path) == FRAGMENT), None)
    has_directory = kubelet_layout.config_dir(layout.command) is not None
    return KubeletPlan(layout, layout, (), own if has_directory else None, (), (), state.record, ())


def after_kubeadm_upgrade(plan: KubeletPlan, target: tuple[int, ...]) -> KubeletPlan:
    """A kubelet without the flags that kubeadm itself takes out of its own file in an upgrade to that minor version."""
    settings = plan.after.settings
    gone = [
        (ARGS, name)
        for name in _REMOVED_FLAGS.get(target[:2], ())
        if [source.path for source in settings.sources(ARGS, name)] == [_FLAGS_FILE]
    ]
    return without_settings(plan, gone) if gone else plan


def all_settings(layout: Layout) -> Values:
    """All settings, in the fields of the module C(kubelet)."""
    config = {
        kubelet_config.key_of(path): value for path, value in kubelet_config.flatten(layout.settings.config).items()
    }
    args = {flag.name: flags.values(layout.settings.command_flags, flag.name) for flag in layout.settings.command_flags}
    return {GATES: layout.settings.gates(), CONFIG: config, ARGS: args}


def broken_setting(
    layout: Layout, setting: tuple[str, str] | None, message: str, *, by_site: bool, still_named: bool
) -> Finding:
    """What the new kubelet refuses.

    layout: the kubelet that was rehearsed. by_site: whether it is so only with the desired state. still_named: whether the desired state keeps
    what the collection set; otherwise site takes it away.
    """
    text = f"site would not work after the upgrade: {message}" if by_site else message
    if setting is None:
        return Finding(KUBELET, BROKEN, text, set_by=INVENTORY if by_site else "")
    field, key = setting
    sources = layout.settings.sources(field, key)
    path, line = (sources[-1].path, sources[-1].line) if sources else ("", None)
    set_by = INVENTORY if by_site else _set_by(path)
    variable = _VARIABLES.get(field, "") if set_by in (INVENTORY, COLLECTION) else ""
    if set_by == COLLECTION and not still_named:
        text, variable = f"{text}. The inventory no longer names it: run site before the upgrade", ""
    return Finding(
        KUBELET, BROKEN, text, field, key, set_by, "" if by_site else path, None if by_site else line, variable
    )


def _set_by(path: str) -> str:
    if path == kubelet_layout.DROP_IN or posixpath.basename(path) == FRAGMENT:
        return COLLECTION
    return KUBEADM if path in _OF_KUBEADM else OTHER


def without_settings(plan: KubeletPlan, offending: t.Iterable[tuple[str, str]]) -> KubeletPlan:
    """The same kubelet without settings that were refused, to find what else would be. Only for a rehearsal."""
    gone = list(offending)
    staged = {change.path: change for change in plan.files}
    documents = []
    for document in plan.after.settings.documents:
        data = _without_settings(document.data, gone)
        if data != document.data:
            text = json.dumps(data, default=str)
            before = staged[document.path].before if document.path in staged else None
            version = FileVersion(text.encode("utf-8"), 0o600)
            staged[document.path] = KubeletFileChange(document.path, before, version)
            documents.append(dataclasses.replace(document, data=data, text=text))
        else:
            documents.append(document)
    service = dataclasses.replace(plan.after.service, arguments=_without_flags(plan.after, gone))
    settings = dataclasses.replace(plan.after.settings, arguments=service.arguments, documents=tuple(documents))
    return dataclasses.replace(plan, after=Layout(service, settings), files=tuple(staged.values()))


def _without_settings(data: t.Mapping[str, t.Any], gone: t.Iterable[tuple[str, str]]) -> dict[str, t.Any]:
    found = dict(data)
    for field, key in gone:
        if field == GATES and isinstance(found.get("featureGates"), dict):
            found["featureGates"] = {gate: value for gate, value in found["featureGates"].items() if gate != key}
        elif field == CONFIG:
            found = _without_path(found, kubelet_config.path_of(key))
    return found


def _without_path(data: t.Mapping[str, t.Any], path: kubelet_config.FieldPath) -> dict[str, t.Any]:
    name, *rest = path
    inner = data.get(name)
    if rest and isinstance(inner, dict):
        return {**data, name: _without_path(inner, tuple(rest))}
    return {each: value for each, value in data.items() if rest or each != name}


def _without_flags(layout: Layout, gone: t.Iterable[tuple[str, str]]) -> t.Any:
    """The command line without flags, and with the flag of gates without these gates."""
    arguments = list(layout.service.arguments)
    for field, key in gone:
        found = flags.parse([argument.text for argument in arguments])
        if field == GATES:
            for flag in found:
                if flag.name == flags.FEATURE_GATES:
                    arguments[_value_at(flag)] = _without_gate(arguments[_value_at(flag)], flag, key)
        elif field == ARGS:
            indexes = {index for flag in found if flag.name == key for index in (flag.index, _value_at(flag))}
            arguments = [argument for index, argument in enumerate(arguments) if index not in indexes]
    return tuple(arguments)


def _value_at(flag: flags.Flag) -> int:
    return flag.index + 1 if flag.split else flag.index


def _without_gate(argument: t.Any, flag: flags.Flag, gate: str) -> t.Any:
    """The argument that holds the value of the flag of gates, without one of them."""
    gates = flags.parse_gates([flag.text])
    gone = flags.gate_key(gates, gate)
    text = flags.render_gates({each: gates[each] for each in gates if each != gone})
    return dataclasses.replace(argument, text=text if flag.split else f"--{flags.FEATURE_GATES}={text}")


# ---- a kubelet that is not started ---------------------------------------------------------------------------------------


def gates_command(gates: t.Mapping[str, t.Any]) -> list[str]:
    """The command line with which kube-apiserver, which knows the feature gates of a kubelet too, validates them and ends."""
    texts = {gate: str(value).lower() if isinstance(value, bool) else str(value) for gate, value in gates.items()}
    given = [f"--{flags.FEATURE_GATES}={flags.render_gates(texts)}"] if texts else []
    return [_API_SERVER, *given, "--version"]


def gates_verdict(status: int, output: str) -> Verdict:
    """Its verdict. Only its status counts: the usage behind an error may have any words."""
    return refusals.verdict_of(_API_SERVER, status, output, accepts=status == 0)


# ---- user namespaces -----------------------------------------------------------------------------------------------------


class IdRange(t.NamedTuple):
    """The IDs of the host that a user namespace gets, or that all of a node are made of."""

    first: int
    size: int

    @property
    def end(self) -> int:
        """The first ID behind it."""
        return self.first + self.size

    def __str__(self) -> str:
        return f"{self.first} to {self.end - 1}"


def user_namespace_findings(
    configured: IdRange | None, ids_per_pod: int, pods: t.Mapping[str, IdRange]
) -> list[Finding]:
    """ID ranges with which a kubelet from 1.38 on does not start.

    The kernel maps no namespace onto the last ID of all. So that kubelet takes no range that has it, neither as the one of the user kubelet nor
    as one that an earlier kubelet gave to a pod.
    configured: the range of the user kubelet; None for the kubelet's own. pods: the range of each by the file that holds it.
    """
    allowed = configured or IdRange(ids_per_pod, _IDS - 2 * ids_per_pod)
    findings = []
    if allowed.end >= _IDS:
        message = (
            f"the range of the user kubelet is {allowed}, and from 1.38 on a kubelet does not start with one that ends at or past {_IDS - 1}. Lower its"
            f" count by {ids_per_pod} or more in /etc/subuid and /etc/subgid."
        )
        findings.append(Finding(KUBELET, BROKEN, message, USER_NAMESPACES, KUBELET, file=_SUBORDINATES))
    for path, ids in pods.items():
        if ids.first < allowed.first or ids.end > min(allowed.end, _IDS - 1):
            message = (
                f"an earlier kubelet gave this pod the IDs {ids}, which are not within {allowed}, so the new one does not start (id {ids.first} is out of"
                " range). Delete the pod, or drain the node, before the upgrade."
            )
            findings.append(Finding(KUBELET, BROKEN, message, USER_NAMESPACES, _pod_of(path), file=path))
    return findings


def _pod_of(path: str) -> str:
    """The UID of the pod to whose directory a file belongs."""
    return posixpath.basename(posixpath.dirname(path))
