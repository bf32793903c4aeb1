# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which setting a component refuses, by its own message; and which it will refuse, where no program of its version can be run."""

from __future__ import annotations

import re
import typing as t

from ..common.ownership import Values
from ..common.verdict import ACCEPTED, REFUSED, Verdict
from ..kubernetes import flags
from ..transaction import rehearsal

Setting = tuple[str, str]

# Field -> how a component names one of that field. Kubernetes names the first that it meets, or several in one line.
_MESSAGES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("feature_gates", re.compile(r"unrecognized feature gate: (?:kube:)?(\w+)")),
    ("feature_gates", re.compile(r"cannot set feature gate (?:kube:)?(\w+) to")),
    ("feature_gates", re.compile(r"(\w+) is enabled, but depends on features that are disabled")),
    ("feature_gates", re.compile(r"invalid value of (?:kube:)?(\w+)=")),
    ("admission_plugins", re.compile(r'(?:enable|disable)-admission-plugins plugin "(\w+)" is unknown')),
    ("admission_plugins", re.compile(r"unknown admission plugin: (\w+)")),
    ("args", re.compile(r"unknown flag: --([\w.-]+)")),
    ("args", re.compile(r"flag provided but not defined: -+([\w.-]+)")),
    # The message of preflight for an argument that names a file.
    ("args", re.compile(r"^args: --([\w.-]+)=")),
    ("args", re.compile(r'invalid argument .* for "(?:-\w, )?--([\w.-]+)" flag')),
    ("args", re.compile(r"invalid (?:boolean )?value .* for (?:flag )?-+([\w.-]+)")),
    ("config", re.compile(r'unknown field "([\w.]+)"')),
    # A kubelet begins with the field, or names it behind the message about its value.
    ("config", re.compile(r"invalid configuration: ([a-z][\w.]*)")),
    ("config", re.compile(r"invalid configuration: .* (?:specified for|configuration option) ([a-z][\w.]*)")),
)
# A message that does not name its setting -> that setting.
_PHRASES: dict[str, Setting] = {"unknown api groups": ("args", "runtime-config")}
_FLAG = re.compile(r"--([a-z][\w-]*)")
# The minor version -> the feature gates that its components no longer know, as of v1.38.0-beta.0.
_REMOVED_GATES: dict[tuple[int, int], frozenset[str]] = {
    (1, 38): frozenset(
        (
            *("AggregatedDiscoveryRemoveBetaType", "AllowOverwriteTerminationGracePeriodSeconds"),
            *("CRDValidationRatcheting", "CustomResourceFieldSelectors", "DisableAllocatorDualWrite"),
            *("DynamicResourceAllocation", "ExecProbeTimeout", "InPlacePodVerticalScaling", "JobManagedBy"),
            *("KubeletTracing", "MatchLabelKeysInPodAffinity", "MultiCIDRServiceAllocator", "NFTablesProxyMode"),
            *("NodeSwap", "PodGroupPreemptionPolicy", "PodSchedulingReadiness", "PreferSameTrafficDistribution"),
            *("RecoverVolumeExpansionFailure", "SeparateTaintEvictionController", "ServiceAccountTokenJTI"),
            *("ServiceAccountTokenNodeBinding", "ServiceAccountTokenNodeBindingValidation"),
            *("ServiceAccountTokenPodNodeInfo", "SupplementalGroupsPolicy", "SystemdWatchdog", "WinDSR"),
            *("WinOverlay", "WindowsHostNetwork"),
        )
    ),
}


def offending_settings(message: str, values: Values) -> list[Setting]:
    """The settings that a refusal is about, each as field and key. values: what the component was started with.

    Empty when the message does not show it. A file counts as the argument that names it.
    """
    found = [
        (field, flags.normalise(key) if field == "args" else key.replace(".", "/"))
        for field, words in _MESSAGES
        for key in words.findall(message)
    ]
    found += [setting for phrase, setting in _PHRASES.items() if phrase in message]
    known = [(field, key) for field, key in found if key in values.get(field, {})]
    return list(dict.fromkeys(known)) or _by_path(message, values) or _by_flag(message, values)


def verdict_of(program: str, status: int, output: str, *, accepts: bool) -> Verdict:
    """What a new program that was started for a part of its settings printed about them. accepts: whether it came as far as it should."""
    if accepts:
        printed = tuple(f"{program} says: {text}" for text in rehearsal.warnings(output))
        return Verdict(ACCEPTED, f"{program} of the new version accepts them", warnings=printed)
    return Verdict(
        REFUSED, rehearsal.error_message(output) or f"{program} ended with status {status} and no known message"
    )


def removed_gates(gates: t.Iterable[str], target: t.Sequence[int]) -> list[tuple[Setting | None, str]]:
    """The feature gates that a version no longer knows, by a table: each as a setting, which is always known here, and what that means.

    The table does not know which gates the final release removed besides, and which it locked to a value.
    """
    return [
        (
            ("feature_gates", gate),
            f"Kubernetes {version[0]}.{version[1]} removes this feature gate, and a component that is given it does not start",
        )
        for version, names in _REMOVED_GATES.items()
        for gate in gates
        if gate in names and version <= tuple(target[:2])
    ]


def _by_path(message: str, values: Values) -> list[Setting]:
    paths = {
        key: [text for text in texts if text.startswith("/")]
        for key, texts in values.get("args", {}).items()
        if isinstance(texts, list)
    }
    return [("args", key) for key, texts in paths.items() if any(_names_path(message, text) for text in texts)]


def _by_flag(message: str, values: Values) -> list[Setting]:
    """The arguments that a message names, for whatever reason."""
    named = map(flags.normalise, _FLAG.findall(message))
    return [("args", key) for key in dict.fromkeys(named) if key in values.get("args", {})]


def _names_path(message: str, path: str) -> bool:
    """Whether a message names this very file."""
    return re.search(rf"{re.escape(path)}(?![\w./-])", message) is not None
