# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""The preflight of a static pod's change: what would keep the component from coming up, found before anything is written.

Each finding names the way out. A repair must stay possible: what is wrong already and is not touched by the change stops
it only while there is something to lose, which is a component that is healthy.
"""

from __future__ import annotations

import dataclasses
import os
import typing as t

from .._engine.files import POLL_SECONDS
from .._engine.journal import SIDES, Journal
from .._engine.node import Host
from .._engine.probes import run_probe
from .._plan.common.errors import KubeadmError, Refusal
from .._plan.kubernetes import flags
from .._plan.static_pod import etcd_quorum
from .._plan.static_pod import plan as static_pod
from . import api_server_files, certificates, etcd, static_pods
from .certificates import Finding
from .component_files import ComponentFiles
from .kubelet import Kubelet
from .runtime import runtime_at
from .state import Run
from .static_pods import API_SERVER, ETCD

# Where a member keeps what the cluster would not know again.
_DATA = ("data-dir", "wal-dir")


@dataclasses.dataclass(frozen=True)
class PreflightContext:
    """What the checks use of a node.

    patience: seconds for a moment's weakness. kubeconfig: of the node's administrator. force: as in the module's option.
    """

    kubelet: Kubelet
    run: Run
    host: Host
    clock: t.Callable[[], float]
    sleep: t.Callable[[float], None]
    patience: float
    kubeconfig: str
    force: bool


def check(pod: static_pods.StaticPod, plan: static_pod.StaticPodPlan, node: PreflightContext) -> tuple[str, ...]:
    """Look for what would keep a changed component from coming up. Writes nothing.

    Returns what the user should know. Raises Refusal, or KubeadmError for a node that is not fit for any change.
    """
    static_pods.refuse_unreachable_files(plan)
    static_pods.refuse_unmatched(pod, node.host)
    refuse_silent_kubelet(node)
    files = ComponentFiles.planned(plan)
    found = [*_certificates(pod, plan, files, node), *_image(pod, node)]
    warnings = _judge(pod, found, node) + _only_on_purpose(pod, plan, node)
    if pod.name == API_SERVER:
        warnings += _etcd_of_api_server(pod, files, node)
    if pod.name == ETCD:
        warnings += _other_data(pod, plan, node) + _quorum(pod, plan, node)
    return tuple(warnings)


_Answer = t.TypeVar("_Answer")


def _patiently(ask: t.Callable[[], _Answer], is_fine: t.Callable[[_Answer], bool], node: PreflightContext) -> _Answer:
    """The first answer that is fine, or the last one when none was within the node's patience."""
    limit = node.clock() + node.patience
    while True:
        answer = ask()
        if is_fine(answer) or node.clock() >= limit:
            return answer
        node.sleep(POLL_SECONDS)


def refuse_silent_kubelet(node: PreflightContext) -> None:
    """A kubelet that runs and does nothing would start no new pod."""
    probe = node.kubelet.healthz
    if probe is None:
        return
    is_healthy, said = _patiently(lambda: run_probe(probe), lambda answer: answer[0], node)
    if not is_healthy:
        raise Refusal(
            f"the kubelet on {os.uname().nodename} does not say that it is healthy ({said}), so nobody would start the changed"
            " component. Nothing was changed. Look at journalctl -u kubelet; systemctl restart kubelet starts it anew."
        )


# ---- certificates and image ------------------------------------------------------------------------------------------


def _certificates(
    pod: static_pods.StaticPod, plan: static_pod.StaticPodPlan, files: ComponentFiles, node: PreflightContext
) -> list[Finding]:
    probes = [probe["host"] for probe in plan.after.probes() if probe["kind"] == "http"]
    address = files.flag("advertise-address") or next(iter(probes), None)
    former = ComponentFiles(plan.before)
    return certificates.findings(pod.name, files, former, address=address, kubeconfig=node.kubeconfig)


def _image(pod: static_pods.StaticPod, node: PreflightContext) -> list[Finding]:
    image = pod.manifest.container.get("image")
    if not image or runtime_at(node.kubelet.runtime, node.run).has(str(image)) is not False:
        return []
    message = (
        f"the image {image} is not on {os.uname().nodename}, so {pod.name} could start only after a pull that may fail."
        f" Pull it first: crictl pull {image}, or kubeadm config images pull."
    )
    return [Finding(message, brought=False)]


def _judge(pod: static_pods.StaticPod, found: t.Sequence[Finding], node: PreflightContext) -> list[str]:
    """Refuse what the change brings, and whatever else while the component is healthy; the rest is worth a warning."""
    if any(finding.brought for finding in found) or (found and _is_healthy(pod, node)):
        raise Refusal(f"refused before anything was written: {' '.join(finding.message for finding in found)}")
    return [f"{finding.message} {pod.name} is not healthy, so the change is tried all the same." for finding in found]


def _only_on_purpose(pod: static_pods.StaticPod, plan: static_pod.StaticPodPlan, node: PreflightContext) -> list[str]:
    """Refuse what would leave an API server healthy and the cluster locked out, unless it is forced."""
    found = api_server_files.findings(pod, plan, node.host)
    if found and not node.force:
        raise Refusal(
            f"refused before anything was written on {os.uname().nodename}: {' '.join(found)} force: true changes it all the same."
        )
    return [f"forced: {finding}" for finding in found]


def _is_healthy(pod: static_pods.StaticPod, node: PreflightContext) -> bool:
    sight = static_pods.watch_until_healthy(pod, node.host, seconds=node.patience, clock=node.clock, sleep=node.sleep)
    return sight.healthy


def _runs(pod: static_pods.StaticPod, node: PreflightContext) -> bool:
    return static_pods.running_process(pod, node.host) is not None


# ---- the API server's etcd -------------------------------------------------------------------------------------------


def _etcd_of_api_server(pod: static_pods.StaticPod, files: ComponentFiles, node: PreflightContext) -> list[str]:
    """An API server becomes ready only with an etcd that answers; one address of several is enough."""
    answers = _patiently(lambda: _ask_etcd(files), _is_enough, node)
    bad = "; ".join(answer.words for answer in answers if not answer.ok)
    if _is_enough(answers):
        return [f"of the etcd that {pod.name} uses, {bad}"] if bad else []
    problem = f"no etcd that --etcd-servers names answers well on {os.uname().nodename} ({bad})"
    if _runs(pod, node):
        raise Refusal(
            f"refused before anything was written: {problem}, so a new {pod.name} would not become ready. Repair etcd, or name"
            " the right addresses and certificates (etcd-servers, etcd-cafile, etcd-certfile, etcd-keyfile)."
        )
    return [f"{problem}; {pod.name} does not run, so the change is tried all the same."]


def _ask_etcd(files: ComponentFiles) -> list[etcd.Health]:
    try:
        return etcd.health_for_api_server(files)
    except KubeadmError as exc:
        return [etcd.Health(False, str(exc))]


def _is_enough(answers: t.Sequence[etcd.Health]) -> bool:
    """What cannot be asked for its health may be healthy."""
    return not answers or any(answer.ok is not False for answer in answers)


# ---- etcd itself -----------------------------------------------------------------------------------------------------


def _other_data(pod: static_pods.StaticPod, plan: static_pod.StaticPodPlan, node: PreflightContext) -> list[str]:
    """A member that starts over another folder is an empty one, and may look healthy."""
    before, after = ComponentFiles(plan.before), ComponentFiles.planned(plan)
    if flags.gate_value(after.flag("force-new-cluster") or "false") is True:
        raise Refusal(
            "args: force-new-cluster makes a new cluster of one member out of this one's data, at every start. It is for a"
            " disaster, by hand, and must not stay in a manifest."
        )
    moved = [
        f"{flag}: {_data(before, flag)} -> {_data(after, flag)}"
        for flag in _DATA
        if _data(before, flag) != _data(after, flag)
    ]
    if not moved:
        return []
    if _runs(pod, node):
        raise Refusal(
            f"refused before anything was written: the member on {os.uname().nodename} runs, and would start over other data"
            f" ({'; '.join(moved)}). Moving a member's data is done by hand, with the member stopped."
        )
    return [
        f"{pod.name} on {os.uname().nodename} does not run, and starts over other data with this change ({'; '.join(moved)})"
    ]


def refuse_files_among_data(pod: static_pods.StaticPod, paths: t.Iterable[str]) -> None:
    """Nothing of a member's data is read or written by us, so no file that a task names may stand there."""
    if pod.name != ETCD:
        return
    files = ComponentFiles(pod.manifest)
    folders = [folder for folder in (_data(files, flag) for flag in _DATA) if folder]
    for path in paths:
        if any(os.path.commonpath([path, folder]) == folder for folder in folders):
            raise Refusal(f"files: {path} on {os.uname().nodename} lies among the data of etcd; name another folder.")


def _data(files: ComponentFiles, flag: str) -> str | None:
    path = files.flag(flag)
    try:
        return path and files.place(path)
    except KubeadmError:
        return path


def _quorum(pod: static_pods.StaticPod, plan: static_pod.StaticPodPlan, node: PreflightContext) -> list[str]:
    """Whether the cluster can do without this member for a moment."""
    if not _runs(pod, node):
        return []  # it is stopped already
    verdict, failure = _patiently(
        lambda: _ask_members(plan), lambda answer: not answer[0].refusal and not answer[1], node
    )
    if verdict.refusal:
        raise Refusal(f"refused before anything was written: {verdict.refusal}")
    if failure:
        problem = f"the members of the etcd cluster could not be asked for on {os.uname().nodename} ({failure})"
        if _is_healthy(pod, node):
            raise Refusal(
                f"refused before anything was written: {problem}, so it is not known whether a majority is left without this"
                " one. See that the member answers there with its own certificates."
            )
        return [f"{problem}; this one is not healthy, so the change is tried all the same."]
    return [verdict.warning] if verdict.warning else []


def _ask_members(plan: static_pod.StaticPodPlan) -> tuple[etcd_quorum.QuorumVerdict, str]:
    """Whether the cluster can do without this member, or why it cannot be told. It is asked as it runs now."""
    try:
        return etcd_quorum.judge(etcd.read_members(etcd.Access.of(ComponentFiles(plan.before)))), ""
    except KubeadmError as exc:
        return etcd_quorum.QuorumVerdict(), str(exc)


def add_member_probes(journal: Journal, plan: static_pod.StaticPodPlan) -> None:
    """Have the proof of an etcd also ask the member at the address by which its clients reach it, whatever the manifest's
    own probes ask: theirs is another port, which shows nothing of certificates."""
    try:
        url = etcd.Access.of(ComponentFiles(plan.before)).url
        for side, manifest in zip(SIDES, (plan.before, plan.after)):
            journal["watch"][side]["probes"].append(etcd.Access.of(ComponentFiles(manifest)).probe(url))
    except KubeadmError:
        return  # its arguments do not tell where
