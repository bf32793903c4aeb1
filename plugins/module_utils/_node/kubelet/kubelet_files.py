# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the files that a kubelet reads when it starts are there and whole: those that its settings name, and those that it made itself. A running
one has them in memory."""

from __future__ import annotations

import os
import pathlib
import typing as t

from ..._engine import tls
from ..._engine.engine_errors import CredentialError, Damaged
from ..._engine.files import open_to_read, read_json
from ..._engine.node import Host
from ..._plan.common.errors import Refusal
from ..._plan.kubelet.config import Settings, sets_field
from ..._plan.kubelet.layout import Layout
from ..static_pod.certificate_pairs import pair_problem
from .kubelet_reader import certificate_directory
from .kubelet_units import KubeletUnit

_CLIENT_CA = ("authentication", "x509", "clientCAFile")
# What a kubelet opens when it starts, most of it after the point at which a rehearsal ends. Flags that are no fields are found by their names.
_OPENED_AT_START = (
    ("containerRuntimeEndpoint",),
    ("imageServiceEndpoint",),
    _CLIENT_CA,
    ("tlsCertFile",),
    ("tlsPrivateKeyFile",),
    ("imageCredentialProviderConfig",),
    ("imageCredentialProviderBinDir",),
)
# What it reads for each pod: without it a kubelet is healthy, and starts no pod.
_OPENED_FOR_PODS = (("resolvConf",),)
# What it keeps below its root and starts only over whole, with the gate that has it read, and since when that is on. The state files of
# policies are not here: a damaged one counts as one of another policy, which is moved away on a drained node.
_CHECKPOINTS = {
    "allocated_pods_state": ("InPlacePodVerticalScaling", (1, 33)),
    "actuated_pods_state": ("InPlacePodVerticalScaling", (1, 33)),
    "dra_manager_state": ("DynamicResourceAllocation", (1, 34)),
}
_SOCKET = "unix://"


def require_files(unit: KubeletUnit, after: Layout, host: Host, *, force: bool) -> list[str]:
    """Refuse to restart a kubelet that works and would not find a file that it needs, or would not take it: a rollback would not start it either. With
    force, warn. after: what the change makes of it. A relative path is not checked."""
    settings = after.settings
    damaged = [
        *_unreadable_authority(settings),
        *_unusable_pair(after),
        *_damaged_checkpoints(unit, settings),
        *_dead_links(settings, host),
    ]
    problems = [
        f"{'; '.join(found)}. {consequence}"
        for found, consequence in (
            (_missing_files(_OPENED_AT_START, settings), "It would not start again without it."),
            (damaged, "It would not start again like that."),
            (_missing_files(_OPENED_FOR_PODS, settings), "It would be healthy, and start no pod."),
        )
        if found
    ]
    if not problems:
        return []
    finding = f"kubelet on {unit.node_name}: {' '.join(problems)}"
    if force:
        return [f"forced: {finding}"]
    raise Refusal(f"{finding} Nothing was changed. Repair that, or name another file; force: true changes it anyway.")


def _missing_files(fields: t.Iterable[tuple[str, ...]], settings: Settings) -> list[str]:
    values = {path: str(settings.field(path) or "").removeprefix(_SOCKET) for path in fields}
    return [
        f"{_setting_name(path, settings)} names {value}, which does not exist"
        for path, value in values.items()
        if os.path.isabs(value) and not os.path.exists(value)
    ]


def _setting_name(path: tuple[str, ...], settings: Settings) -> str:
    """The name of what sets a field: the flag, or else the field itself."""
    return next((f"--{flag.name}" for flag in settings.command_flags if sets_field(flag.name, path)), ".".join(path))


def _unreadable_authority(settings: Settings) -> list[str]:
    """Whether the file of the authority of its clients is there and no authority. Without a file, and where it cannot be opened, nothing is said."""
    path = str(settings.field(_CLIENT_CA) or "")
    if not os.path.isabs(path):
        return []
    try:
        with open_to_read(path) as stream:
            tls.client_context(stream.read())
    except CredentialError:
        return [f"{_setting_name(_CLIENT_CA, settings)} names {path}, which holds no certificate that can be read"]
    except OSError:
        return []
    return []


def _unusable_pair(after: Layout) -> list[str]:
    """Why it could not serve with its certificate and key: those that its settings name, or else those that it made itself. It makes both where it
    finds neither. One that requests its certificate uses none of them."""
    settings = after.settings
    if settings.field(("serverTLSBootstrap",), False) not in (None, False):
        return []
    named = [str(settings.field((name,)) or "") for name in ("tlsCertFile", "tlsPrivateKeyFile")]
    own = [os.path.join(certificate_directory(after.command), name) for name in ("kubelet.crt", "kubelet.key")]
    files = named if any(named) else own
    if not all(map(os.path.isabs, files)):
        return []
    missing = [path for path in files if not os.path.exists(path)]
    if files == own and len(missing) == 1:
        (other,) = set(own) - set(missing)
        return [
            f"{missing[0]} does not exist, but {other} does: restore it, or remove both, for a kubelet without either makes another pair"
        ]
    try:
        problem = None if missing else pair_problem(*tls.read_pair(*files))
    except OSError:
        return []
    return [f"of {' and '.join(files)}, {problem.rstrip('.')}"] if problem else []


def _damaged_checkpoints(unit: KubeletUnit, settings: Settings) -> list[str]:
    """Those of its checkpoints that are no JSON. A wrong checksum, with which it does not start either, is not seen here."""
    gates = settings.gates()
    read = [name for name, (gate, since) in _CHECKPOINTS.items() if gates.get(gate, unit.state.version >= since)]
    paths = [os.path.join(unit.root, name) for name in read]
    return [
        f"{path} is damaged: drain the node and remove it, for a kubelet without it makes another one"
        for path in paths
        if _is_damaged(path)
    ]


def _is_damaged(path: str) -> bool:
    try:
        read_json(path)
    except Damaged:
        return True
    except OSError:
        return False
    return False


def _dead_links(settings: Settings, host: Host) -> list[str]:
    """Where it could not make its directories of logs, because what they are, or are in, is a link into nowhere, such as a disk that is not
    mounted."""
    directories = (str(settings.field(("podLogsDir",)) or host.pod_logs), host.container_logs)
    links = [path for name in directories for path in (name, *map(str, pathlib.PurePath(name).parents))]
    return [
        f"{path} is a link to {os.path.realpath(path)}, which does not exist"
        for path in dict.fromkeys(links)
        if os.path.islink(path) and not os.path.exists(path)
    ]
