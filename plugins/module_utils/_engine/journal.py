# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The journal of a transaction: what is in it, and its two copies on the disk.

A component's directory holds one C(journal.json) while a transaction is open, and a second copy of it in C(backup). It is
written and synced before the first byte of a file changes, and after each step, so an engine that died goes on where it
stopped.

It has the types below, as JSON, with a checksum C(sha256) of all the rest. Whoever changes them changes C(FORMAT) too.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import stat
import typing as t

from .engine_errors import Damaged, OtherFormat
from .files import (
    Json,
    make_directory,
    naming_path,
    read_bytes,
    read_file,
    read_formatted,
    remove,
    sync_directory,
    to_json,
    write_json,
)

PREPARED, APPLYING, WAITING, CONFIRMING, OBSERVING, ROLLING_BACK, VERIFYING, CLOSED = (
    "prepared",
    "applying",
    "waiting",
    "confirming",
    "observing",
    "rolling_back",
    "verifying",
    "closed",
)
# The phases in which the change stands and is not committed yet.
ON_TRIAL = (WAITING, CONFIRMING, OBSERVING)
COMMITTED, ROLLED_BACK, ABORTED, UNHEALTHY, ALARM = "committed", "rolled_back", "aborted", "unhealthy", "alarm"
LOST = "what worked before does not: "  # how the reason of a rollback begins that only the use of a component has shown
STATIC_POD, SYSTEMD_UNIT = "static_pod", "systemd_unit"

# Files: the id of a transaction that was confirmed; what the run has observed of one, as C(id) and C(losses), empty for none.
CONFIRMED, OBSERVED = "confirmed", "observed"
KEEP_HISTORY = 10


Side = t.Literal["before", "after"]
SIDES: tuple[Side, Side] = ("before", "after")


class StoredVersion(t.TypedDict):
    """A version of a file. content: base64; sha256: of the bytes in it."""

    content: str
    sha256: str
    mode: int
    uid: int
    gid: int


class InterimVersion(t.TypedDict, total=False):
    """interim: of a manifest, what stands there until the former instance has ended: the same pod but for an annotation."""

    interim: StoredVersion | None


class FileEntry(InterimVersion):
    """A file that changes. before, after: None where it does not exist. switch: of the manifest, whose rename makes the change
    take effect."""

    path: str
    switch: bool
    before: StoredVersion | None
    after: StoredVersion | None


def versions_of(entry: FileEntry) -> list[StoredVersion | None]:
    """The versions of a file that are ours."""
    return [entry["before"], *new_versions(entry)]


def new_versions(entry: FileEntry) -> list[StoredVersion | None]:
    """Those that have the change."""
    return [*([entry["interim"]] if "interim" in entry else ()), entry["after"]]


class Address(t.TypedDict):
    """The address of a server that is queried over HTTP."""

    scheme: str
    host: str
    port: int


class Client(Address):
    """A server that is queried with a credential of the node."""

    kubeconfig: str


class _Probe(t.TypedDict):
    kind: str


class Probe(_Probe, total=False):
    """A probe of kind http or tcp; those of other kinds are the kubelet's to run, and need not have an address. network: C(host) or C(pod) where the
    kubelet asks the address of the pod instead of the host, which is the node's or the pod's own. certificate, key: files, of a
    member of etcd."""

    host: str
    port: int
    scheme: str
    path: str
    headers: t.Mapping[str, str]
    certificate: str
    key: str
    network: str


class _EtcdAddress(t.TypedDict):
    url: str


class EtcdClient(_EtcdAddress, total=False):
    """How a member of etcd is queried from its own node. certificate, key, authority: files."""

    certificate: str
    key: str
    authority: str


class EtcdPreviousState(t.TypedDict):
    """The state of a member before the change. writes: whether it accepted a write; None when it did not respond. revision: of that write; None
    without it. alarms: None when they are not known."""

    writes: bool | None
    revision: int | None
    alarms: list[str] | None
    members: list[str] | None  # IDs; None when they are not known


class EtcdProof(t.TypedDict):
    """The state of a changed member. revision: of the write through it. members: those that have reached it. unreachable: those that
    could not be reached. alarms: which were there before, too."""

    revision: int
    members: list[str]
    unreachable: list[str]
    alarms: list[str]


class _Process(t.TypedDict):
    arguments: t.Sequence[str | None]
    probes: list[Probe]


class Instance(_Process, total=False):
    """How the component is recognised before the change, or after it. arguments: None stands for any. written: of a static pod,
    the arguments as they stand in its manifest. server: of an API server, its address. of_image: whether these are arguments of a
    program that only the image names, or that another one starts. etcd: of a member of etcd, how it is queried.
    containers: the other ones of a static pod."""

    written: t.Sequence[str]
    server: Address
    of_image: bool
    etcd: EtcdClient
    containers: t.Sequence[str]


# Something that a component is for. kind: of those that the engine knows. before, after: what differs between the two sides. node: whose addresses are
# meant. kubeconfig: of who may list the API's versions.
PlannedObservation = t.Mapping[str, t.Any]


class _BothSides(t.TypedDict):
    before: Instance
    after: Instance


class Watch(_BothSides, total=False):
    """A component of whatever kind. hidden: values that its log may show, and what is displayed instead. unverified: what the engine has no
    means to verify, each with the reason. observations: what has to work after the change where it worked before."""

    kind: str
    hidden: t.Mapping[str, str]
    unverified: t.Sequence[str]
    observations: t.Sequence[PlannedObservation]


class _Logs(t.TypedDict):
    log_prefix: str
    container: str


class PodIdentity(_Logs, total=False):
    """What identifies the instances of a static pod.

    log_prefix: how the names of its directories of logs begin, and pod_prefix: the part of that before the node's name.
    program: the name of its program.
    """

    pod_prefix: str
    program: str


class KubeletPaths(t.TypedDict, total=False):
    """Paths of a kubelet that are not the default ones."""

    more_pod_logs: t.Sequence[str]
    kubelet_root: str
    kubelet_conf: str


class Credential(t.TypedDict):
    """A kubeconfig of this node, and what its owner may read in any case."""

    kubeconfig: str
    path: str


class _StaticPodOptions(t.TypedDict, total=False):
    places: KubeletPaths
    credentials: list[Credential]
    mirror: Credential


class StaticPodWatch(Watch, PodIdentity, _StaticPodOptions):
    """metrics: None where no HTTP probe has the address.

    credentials: of an API server, the clients that it has to accept. mirror: the pod by which its kubelet reports it.
    """

    feature_gates: t.Mapping[str, bool]
    metrics: Client | None


def is_of_static_pod(watch: Watch) -> t.TypeGuard[StaticPodWatch]:
    """Whether it is about a static pod."""
    return watch.get("kind", STATIC_POD) == STATIC_POD


class NodeObject(t.TypedDict):
    """The Node that a kubelet reports to, and the credential to read it with."""

    name: str
    kubeconfig: str


class MovedStateFile(t.TypedDict):
    """A state file that is moved away while the unit is stopped. aside: the path it is moved to. policy: the one that the new file has to name."""

    path: str
    aside: str
    existed: bool
    policy: str


class UnitWatch(Watch):
    """complaints: about its configuration, known before the change. static_pods: those of its manifests, by their names at the API."""

    unit: str
    node: NodeObject
    complaints: list[str]
    has_static_pods: bool
    static_pods: list[str]
    set_aside: list[MovedStateFile]


def is_of_unit(watch: Watch) -> t.TypeGuard[UnitWatch]:
    """Whether it is about a systemd unit."""
    return watch.get("kind") == SYSTEMD_UNIT


class PreviousState(t.TypedDict, total=False):
    """What ran before the change: healthy, running and probes_ok, of a static pod uids, starts, clients and mirrored, of a systemd unit the rest.

    clients: whether each kubeconfig's was accepted by the API server; None for no response at all. silent: why there was none. mirrored:
    whether the kubelet had reported the instance that ran to this API server. reported: whether its report could be read, where probes are
    its to run. containers: the other ones of a static pod that worked. not_ready: why its Node was not ready; empty when it was, or when that is
    not known. enough, short: the pressures that its Node reported as False and as True. static_pods: those that were ready; None when that is not
    known. has_device_socket: whether its device manager
    had a socket at its usual path. unverified: what is no part of the proof, with the reason. observed: what the component is for, by the kind of the
    observation, with the reason why something did not work; empty where it did.
    """

    healthy: bool
    running: bool
    probes_ok: bool
    clients: dict[str, bool | None]
    silent: dict[str, str]
    mirrored: bool | None
    reported: bool
    containers: t.Sequence[str]
    etcd: EtcdPreviousState
    uids: list[str]
    starts: dict[str, int]
    invocation: str
    node: bool
    not_ready: str
    enough: list[str]
    short: list[str]
    static_pods: list[str] | None
    has_device_socket: bool
    complaints: list[str]
    unverified: list[str]
    observed: t.Mapping[str, t.Mapping[str, str]]


class KubeletReports(t.TypedDict):
    """When a kubelet wrote its Node's conditions (heartbeat) and its Lease (renewed) last; None when that is not known."""

    heartbeat: str | None
    renewed: str | None


class RestartMarker(KubeletReports):
    """The instance of a unit that has to go, and what it reported last."""

    invocation: str


class LeaderSeen(t.TypedDict):
    """Who held a Lease when a canary was made. is_own: this node. is_changed: with this node's settings. is_proof: and all worked under it."""

    node: str
    is_own: bool
    is_changed: bool
    is_proof: bool


class Result(t.TypedDict):
    """How a closed transaction ended. Times in seconds, None when they were not measured. confirmed, observed: None where it was not awaited."""

    outcome: str
    reason: str | None
    healthy: bool | None
    ended: str
    seconds: float | None
    restart_seconds: float | None
    outage_seconds: float | None
    proof: Json | None
    confirmed: bool | None
    observed: bool | None
    notes: list[str]
    log: list[str]


RequestOrigin = t.TypedDict("RequestOrigin", {"at": str, "from": str})


class _ChangeRequest(t.TypedDict):
    format: int
    id: str
    name: str
    requested: RequestOrigin
    files: list[FileEntry]
    directories: list[str]
    watch: Watch
    wait_timeout: int
    min_ready_seconds: int
    rollback: bool


class _Options(t.TypedDict, total=False):
    confirm_timeout: int | None
    observation_timeout: int | None
    observed_before: Json | None
    reverts: str | None
    obsolete: list[str]


class Progress(t.TypedDict, total=False):
    """What an engine records on its way.

    boot: the start of the node that deadline and times count from. mark: what shows later whether the files took
    effect; switched: whether the component may have seen the change. unverified: what of the change could not be verified, each with
    the reason. leader: of the last canary behind the change. notes: what else people should know.
    """

    phase: str
    attempts: int
    boot: str
    before: PreviousState
    deadline: float | None
    mark: RestartMarker | None
    switched: bool
    reason: str
    triggered: bool
    gates: dict[str, bool | None]
    unverified: list[str]
    leader: LeaderSeen | None
    clients: list[str]
    config_hash: str
    etcd: EtcdProof
    times: dict[str, float]
    notes: list[str]
    log: list[str]
    result: Result | None


class Journal(_ChangeRequest, _Options, Progress):
    """Who requested what, and how far it is.

    directories: directories that the files need and that do not exist yet. obsolete: directories of ours that nothing needs after a commit;
    removed when they are empty then. confirm_timeout, observation_timeout: seconds to wait before the commit for a confirmation, and for what the run
    observes from elsewhere; None for none. observed_before: the same before the change. reverts: the transaction that this one reverts.
    """


def add_note(journal: Progress, text: str) -> None:
    """Record what people should know, whatever the outcome is."""
    _add(journal.setdefault("notes", []), text)


def add_unverified(journal: Progress, text: str) -> None:
    """Record what could not be verified. text: what, and the reason."""
    _add(journal.setdefault("unverified", []), text)


def _add(texts: list[str], text: str) -> None:
    if text and text not in texts:
        texts.append(text)


def version_of(content: bytes, mode: int, uid: int, gid: int) -> StoredVersion:
    """A file's version as a journal stores it."""
    return {
        "content": base64.b64encode(content).decode("ascii"),
        "sha256": hashlib.sha256(content).hexdigest(),
        "mode": mode,
        "uid": uid,
        "gid": gid,
    }


def content_of(version: StoredVersion | None, path: str = "a file") -> bytes | None:
    """The bytes of a version of a file. Raises Damaged when they are: damaged bytes are never written anywhere."""
    if version is None:
        return None
    try:
        content = base64.b64decode(version["content"], validate=True)
    except (ValueError, TypeError) as exc:
        raise Damaged(f"the journal's copy of {path} is damaged: {exc}") from exc
    if hashlib.sha256(content).hexdigest() != version["sha256"]:
        raise Damaged(f"the journal's copy of {path} does not match its checksum")
    return content


def has_content(path: str, version: StoredVersion | None) -> bool:
    """Whether a file has this version's bytes. One that cannot be read has none that are known."""
    try:
        return read_bytes(path) == content_of(version, path)
    except OSError:
        return False


def has_version(path: str, version: StoredVersion | None) -> bool:
    """Whether a file has this version's bytes, mode and owner."""
    found, content = read_file(path), content_of(version, path)
    if found is None or version is None:
        return found is None and version is None
    status = found[1]
    attributes = [stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid]
    return found[0] == content and attributes == [version["mode"], version["uid"], version["gid"]]


def result_of(journal: Journal) -> Result:
    """How a closed transaction ended. Raises Damaged when that is not in it."""
    result = journal["result"]
    if result is None:
        raise Damaged(f"the journal of {journal['name']} from {journal['id']} is damaged: it does not say how it ended")
    return result


# ---- journals on the disk --------------------------------------------------------------------------------------------

_CHECKSUM = "sha256"


def copies_of(directory: str, identifier: str | None = None) -> tuple[str, str]:
    """Where the two copies of a journal are: of the open one, or of a closed one by its id."""
    first = os.path.join("history", f"{identifier}.json") if identifier else "journal.json"
    return os.path.join(directory, first), os.path.join(directory, "backup", os.path.basename(first))


def save_journal(directory: str, journal: Journal, identifier: str | None = None) -> None:
    """Write both copies of a journal, each with a checksum of the whole. The first one is never older than the second."""
    checksum = hashlib.sha256(to_json(journal)).hexdigest()
    for path in copies_of(directory, identifier):
        if not os.path.isdir(os.path.dirname(path)):
            make_directory(os.path.dirname(path))
        write_json(path, {**journal, _CHECKSUM: checksum})


def load_journal(directory: str, identifier: str | None = None) -> tuple[Journal | None, str]:
    """The intact copy of a journal, and what is wrong with its first one when it is the second; None when there is none.

    Raises Damaged when there is a journal but no intact copy, OtherFormat for that of another version of the collection.
    """
    first, second = copies_of(directory, identifier)
    try:
        problem = f"{first} is missing"
        journal = _read_copy(first)
        if journal is not None:
            return journal, ""
    except Damaged as exc:
        problem = str(exc)
    try:
        journal = _read_copy(second)
    except Damaged as exc:
        raise Damaged(f"{problem}, and of its second copy: {exc}") from exc
    if journal is not None:
        return journal, f"{problem}; its second copy {second} was used"
    if os.path.exists(first):
        raise Damaged(f"{problem}, and its second copy {second} is missing")
    return None, ""


def _read_copy(path: str) -> Journal | None:
    """One copy, intact as a whole and file by file; None when it is not there. Raises Damaged, and OtherFormat."""
    journal = read_formatted(path)
    if journal is None:
        return None
    checksum = journal.pop(_CHECKSUM, None)
    try:
        for entry in journal["files"]:
            for side in SIDES:
                content_of(entry[side], f"{entry['path']} in {path}")
    except (KeyError, TypeError) as exc:
        raise Damaged(f"{path} is damaged: it is not a journal") from exc
    if checksum != hashlib.sha256(to_json(journal)).hexdigest():
        raise Damaged(f"{path} does not match its checksum")
    # What has its checksum was written by save_journal, which takes nothing else.
    return t.cast(Journal, journal)


def remove_journal(directory: str) -> None:
    """Remove the open journal, which nothing was done for. A second copy never stands alone."""
    for path in reversed(copies_of(directory)):
        remove(path)


def archive_journal(directory: str, identifier: str) -> None:
    """Move the open journal to the history. A second copy never stands alone."""
    make_directory(os.path.join(directory, "history"))
    for source, target in reversed(list(zip(copies_of(directory), copies_of(directory, identifier)))):
        with naming_path(target):
            os.rename(source, target)
        sync_directory(os.path.dirname(target))
        sync_directory(os.path.dirname(source))


def history_ids(directory: str) -> list[str]:
    """The ids of closed transactions, oldest first. Ids begin with a time stamp, so their order is theirs in time."""
    names: set[str] = set()
    for place in ("history", "backup"):
        with contextlib.suppress(FileNotFoundError):
            names.update(os.listdir(os.path.join(directory, place)))
    names.discard("journal.json")
    return sorted(name[: -len(".json")] for name in names if name.endswith(".json") and not name.startswith("."))


def last_known_good(directory: str) -> str | None:
    """The id of the newest committed transaction of which an intact copy is there."""
    for identifier in reversed(history_ids(directory)):
        with contextlib.suppress(Damaged, OtherFormat):
            journal, dummy = load_journal(directory, identifier)
            if journal and result_of(journal)["outcome"] == COMMITTED:
                return identifier
    return None


def prune_history(directory: str) -> None:
    """Bound the history. The last known good and what another version of the collection wrote stay in any case."""
    good = last_known_good(directory)
    for identifier in history_ids(directory)[:-KEEP_HISTORY]:
        if identifier != good and not _is_of_another_version(directory, identifier):
            for path in reversed(copies_of(directory, identifier)):
                remove(path)


def _is_of_another_version(directory: str, identifier: str) -> bool:
    try:
        load_journal(directory, identifier)
    except OtherFormat:
        return True
    except Damaged:
        pass
    return False
