# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which settings of ours shall stand in kubeadm-config, and why others must not: every control plane generates its manifests from it."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..kubernetes import flags
from .plan import DesiredSetting
from .record import SOURCE, Entry, Persisted
from .settings import Json, SettingKey, by_setting_key

# Instead of the checksum of a file.
MISSING, UNREADABLE, UNKNOWN = "missing", "unreadable", "unknown"
_WITHOUT_CONTENT = {MISSING: "does not exist", UNREADABLE: "cannot be read"}

# Go takes a proxy without a scheme, too. What an image has behind its at sign is no host.
_USERINFO = re.compile(r"://(?!:*@)[^/\s@]+@|^[^/\s@:]+:[^/\s@]+@(?!sha256:)")
_TOKEN = re.compile(
    r"eyJ[\w-]{8,}\.[\w-]+\.|\b(?:[Bb]earer|[Bb]asic)\s+\S|-----BEGIN"
    r"|\b(?:gh[oprsu]|github_pat|glpat|hvs|xox[abp])[-_.]\w{8,}"
    r"|\b[a-z0-9]{6}\.(?=[a-z]*[0-9])[a-z0-9]{16}\b"  # kubeadm's own
    r"|[?&][\w-]*(?:[Tt]oken|[Ss]ecret|[Pp]assword|[Ss]ignature|[Kk]ey)="  # in the query of a URL
)
_SECRET_NAME = re.compile(
    r"PASSWORD|SECRET"
    r"|(?:TOKEN|PASSWD|PASSPHRASE|CREDENTIAL|(?:API|PRIVATE|ACCESS|ENCRYPTION|SIGNING)_?KEY|(?<![A-Z])PASS)S?(?![A-Z])",
    re.IGNORECASE,
)
_REFERENCE = re.compile(r"\$\(([^)]+)\)")


@dataclasses.dataclass(frozen=True)
class PersistRequest:
    """What the user requests by name. gates: names, None where no variable names any, so that those that stand there stay. vaulted: keys of the
    desired state whose values come from a vault."""

    gates: t.Collection[str] | None = None
    vaulted: t.Collection[str] = ()


@dataclasses.dataclass(frozen=True)
class Entries:
    """desired: what shall stand there. skipped: what is ours and shall not, with the reason. files: of the desired ones, on every control plane."""

    desired: dict[SettingKey, DesiredSetting]
    skipped: dict[SettingKey, str]
    files: list[str]


def collect_entries(
    facts: t.Mapping[str, t.Mapping[str, Json]],
    static_pods: t.Collection[str],
    persisted: Persisted,
    request: PersistRequest,
) -> Entries:
    """Sort the settings that the control planes report.

    facts: by host, the settings of its static pods by their names. static_pods: those that the run names; of others nothing is known, so what
    stands there of them stays.
    """
    tables = {host: by_setting_key(pods) for host, pods in facts.items()}
    desired = {
        setting: DesiredSetting(entry.value, entry.original)
        for setting, entry in persisted.entries.items()
        if setting.component not in static_pods
    }
    skipped: dict[SettingKey, str] = {}
    files: dict[str, None] = {}
    for setting in sorted({setting for table in tables.values() for setting in table}):
        found = {host: table.get(setting) for host, table in tables.items()}
        entries = [entry for entry in found.values() if entry]
        known = persisted.entries.get(setting)
        if not any(entry["ours"] for entry in entries) and not _is_of_persisted(known, entries):
            continue
        reason = _not_requested_reason(
            setting, request, known, is_named=any(entry["named"] for entry in entries)
        ) or _exclusion_reason(setting, found)
        if reason:
            skipped[setting] = reason
            continue
        first = next((entry for entry in entries if entry["ours"]), entries[0])
        original = first["original"] if first["ours"] or known is None else known.original
        desired[setting] = DesiredSetting(first["value"], original, any(entry["named"] for entry in entries))
        files.update(dict.fromkeys(first["files"]))
    while missing := {setting: names for setting in desired if (names := _missing_references(setting, desired))}:
        for setting, names in missing.items():
            skipped[setting] = f"it refers to {', '.join(names)}, which is not written to kubeadm-config"
            del desired[setting]
    return Entries(desired, skipped, list(files))


def _is_of_persisted(known: Entry | None, entries: t.Iterable[Json]) -> bool:
    """Whether a setting that is ours on no node is there because kubeadm generated it from what is ours in kubeadm-config, or is named.

    Anything else is what the nodes have since a rollback, and kubeadm-config goes back with them.
    """
    return known is not None and any(entry["value"] == known.value or entry["named"] for entry in entries)


def _exclusion_reason(setting: SettingKey, found: t.Mapping[str, Json | None]) -> str:
    """Why a setting must not stand there, whatever the user requests; empty when it may. found: what each host reports of it."""
    entries = [entry for entry in found.values() if entry]
    return (
        _difference_reason(found)
        or _secret_reason(setting, [entries[0]["value"]], "its value {}, and every node may read kubeadm-config")
        or _secret_reason(
            setting, [entry["original"] for entry in entries], f"its former value {{}}, and would be kept in {SOURCE}"
        )
    )


def _not_requested_reason(setting: SettingKey, request: PersistRequest, known: Entry | None, *, is_named: bool) -> str:
    """Why the user does not request a setting; empty when nothing speaks against it. known: as it stands there. is_named: by the desired state."""
    if setting.field == "feature_gates" and known is not None and request.gates is None:
        return ""
    if setting.field == "feature_gates" and setting.key not in (request.gates or ()):
        return "a gate that a later version does not know prevents its component from starting; name it in control_plane_persist_feature_gates"
    if setting.key in {*request.vaulted, *map(flags.normalise, request.vaulted)}:
        return "its value comes from a vault, and every node may read kubeadm-config"
    if known is None and not is_named and setting.field in ("args", "env"):
        return "no variable names it, so whether its value comes from a vault is not known, and every node may read kubeadm-config"
    return ""


def _difference_reason(found: t.Mapping[str, Json | None]) -> str:
    """What keeps a setting from being one and the same on all control planes."""
    lacking = [host for host, entry in found.items() if not entry]
    if lacking:
        return f"{', '.join(lacking)} does not have it"
    hosts, entries = list(found), [entry for entry in found.values() if entry]
    for host, entry in zip(hosts, entries):
        if entry["value"] != entries[0]["value"]:
            return f"its value differs between {hosts[0]} and {host}"
        for path in dict.fromkeys([*entry["files"], *entries[0]["files"]]):
            digest = entry["files"].get(path)
            if digest in _WITHOUT_CONTENT:
                return f"{path} {_WITHOUT_CONTENT[digest]} on {host}"
            if digest == UNKNOWN and len(hosts) > 1:
                return f"whether {path} is the same on all control planes could not be determined: {host} has no sa.key"
            if digest != entries[0]["files"].get(path):
                return f"{path} differs between {hosts[0]} and {host}"
    return ""


def _secret_reason(setting: SettingKey, values: t.Iterable[t.Any], reason: str) -> str:
    """The reason with what is secret about one of some values; empty when nothing is."""
    return next((reason.format(secret) for value in values if (secret := _describe_secret(setting, value))), "")


def _describe_secret(setting: SettingKey, value: t.Any) -> str:
    """What is secret about a value; empty when nothing is."""
    texts = _as_texts(value)
    if any(map(_USERINFO.search, texts)):
        return "is a URL with a user's password"
    if any(map(_TOKEN.search, texts)) or (setting.field == "env" and _SECRET_NAME.search(setting.key)):
        return "looks like a token or a key"
    return ""


def _as_texts(value: t.Any) -> list[str]:
    return value if isinstance(value, list) else [value] if isinstance(value, str) else []


def _missing_references(setting: SettingKey, desired: t.Mapping[SettingKey, DesiredSetting]) -> list[str]:
    """Variables of the environment that an argument or another variable refers to and that would not be there."""
    if setting.field not in ("args", "env"):
        return []
    names = [name for text in _as_texts(desired[setting].value) for name in _REFERENCE.findall(text)]
    return [name for name in dict.fromkeys(names) if SettingKey(setting.component, "env", name) not in desired]


# Settings whose loss leaves stored values in clear, or lets other people in.
_SECURITY_ARGS = re.compile(
    r"encryption-provider-.*|authentication-.*|authorization-.*|oidc-.*|token-auth-file|anonymous-auth|client-ca-file|requestheader-.*"
    r"|service-account-(?:issuer|key-file|signing-key-file|lookup)"
)


def security_settings(found: t.Iterable[SettingKey]) -> list[SettingKey]:
    """Those of encryption, authentication and authorization. An admission plugin may be one as well, and its name does not show that."""
    return [
        setting
        for setting in found
        if setting.component == "kube-apiserver"
        and setting.field == "args"
        and _SECURITY_ARGS.fullmatch(flags.normalise(setting.key))
    ]
