# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Settings of a static pod that are single values in its manifest: resources, probe settings, and the priority; and its probes, as the kubelet asks them.

A key is the way to the value from where the field begins, such as C(requests.cpu) or C(livenessProbe.periodSeconds).
"""

from __future__ import annotations

import re
import typing as t

from ..common.errors import Refusal
from ..documents.yaml_edit import Path
from ..kubernetes import quantities

RESOURCES, PROBES, PRIORITY = FIELDS = ("resources", "probes", "priority")

_REQUESTS, _LIMITS = _AMOUNTS = ("requests", "limits")
_RESOURCES = ("cpu", "memory", "ephemeral-storage")
_PROBES = ("startupProbe", "livenessProbe", "readinessProbe")
_LEAST = {"initialDelaySeconds": 0, "periodSeconds": 1, "timeoutSeconds": 1, "failureThreshold": 1}
_LARGEST = 2**31 - 1
_CLASS, _VALUE = "priorityClassName", "priority"
_CLASS_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?")
_SYSTEM_CLASSES = {"system-node-critical": 2000001000, "system-cluster-critical": 2000000000}
_LARGEST_OF_USERS = 1000000000
_NODE, _POD = "host", "pod"  # networks
_SUFFIX = re.compile(r"[a-zA-Z]i?$")

_Flat = dict[str, t.Any]


# ---- what a task requests ----------------------------------------------------------------------------------------------


def desired_resources(given: t.Mapping[str, t.Any]) -> _Flat:
    """The amounts by their keys. Raises Refusal for what no container could get."""
    return {
        f"{kind}.{name}": None if amount is None else _parse_amount(f"{kind}.{name}", amount)
        for kind, amounts in given.items()
        for name, amount in _require_mapping(RESOURCES, kind, amounts, _AMOUNTS, _RESOURCES).items()
    }


def _parse_amount(key: str, value: t.Any) -> str | int:
    """The form in which it stands in a manifest without quotes, as kubeadm writes it."""
    text = quantities.parse_amount(RESOURCES, key, value)
    amount = quantities.parse(text)
    if _SUFFIX.search(text):
        return text
    return int(amount) if amount.denominator == 1 else f"{int(quantities.round_up(amount * 1000, quantities.ONE))}m"


def desired_probes(given: t.Mapping[str, t.Any]) -> _Flat:
    """The settings of probes by their keys. Raises Refusal for what no probe could have."""
    return {
        f"{probe}.{name}": None
        if number is None
        else _parse_int(PROBES, f"{probe}.{name}", number, _LEAST[name], _LARGEST)
        for probe, times in given.items()
        for name, number in _require_mapping(PROBES, probe, times, _PROBES, tuple(_LEAST)).items()
    }


def desired_priority(given: t.Mapping[str, t.Any]) -> _Flat:
    """Class and number. Raises Refusal for what is neither."""
    for key in given:
        _require_one_of(PRIORITY, key, (_CLASS, _VALUE))
    found = dict(given)
    name, number = found.get(_CLASS), found.get(_VALUE)
    if name is not None and not (isinstance(name, str) and _CLASS_NAME.fullmatch(name)):
        raise Refusal(f"priority: invalid {_CLASS} {name!r}: must be the name of a PriorityClass.")
    if number is not None:
        found[_VALUE] = _parse_int(PRIORITY, _VALUE, number, -_LARGEST, max(_SYSTEM_CLASSES.values()))
    return found


def _require_mapping(
    option: str, key: str, value: t.Any, keys: t.Sequence[str], names: t.Sequence[str]
) -> t.Mapping[str, t.Any]:
    _require_one_of(option, key, keys)
    if not isinstance(value, dict):
        raise Refusal(f"{option}: invalid {key} {value!r}: must be a mapping of {', '.join(names)}.")
    for name in value:
        _require_one_of(f"{option}: {key}", name, names)
    return value


def _require_one_of(option: str, key: t.Any, known: t.Sequence[str]) -> None:
    if key not in known:
        raise Refusal(f"{option}: invalid key {key!r}: must be one of {', '.join(known)}.")


def _parse_int(option: str, key: str, value: t.Any, least: int, largest: int) -> int:
    # Jinja2 hands over text.
    if isinstance(value, bool) or not re.fullmatch(r"-?[0-9]{1,10}", str(value)) or not least <= int(value) <= largest:
        raise Refusal(f"{option}: invalid {key} {value!r}: must be a whole number from {least} to {largest}, or null.")
    return int(value)


# ---- what a manifest has -----------------------------------------------------------------------------------------------


def values(spec: t.Mapping[str, t.Any], container: t.Mapping[str, t.Any]) -> dict[str, _Flat]:
    """The values that are set, by field and key."""
    resources = container.get(RESOURCES) or {}
    return {
        RESOURCES: {
            f"{kind}.{name}": amount
            for kind in _AMOUNTS
            for name, amount in (resources.get(kind) or {}).items()
            if amount is not None
        },
        PROBES: {
            f"{probe}.{name}": container[probe][name]
            for probe in _PROBES
            for name in _LEAST
            if (container.get(probe) or {}).get(name) is not None
        },
        PRIORITY: {name: spec[name] for name in (_CLASS, _VALUE) if spec.get(name) is not None},
    }


def path_of(field: str, key: str, container: Path) -> Path:
    """Where in the manifest a value stands."""
    way: Path = tuple(key.split(".", 1))
    return {RESOURCES: (*container, RESOURCES, *way), PROBES: (*container, *way), PRIORITY: ("spec", *way)}[field]


def collections(field: str, key: str) -> tuple[str, ...]:
    """The mappings in which a value stands and that may be empty, the outermost first."""
    return (RESOURCES, f"{RESOURCES}.{key.partition('.')[0]}") if field == RESOURCES else ()


# ---- the plan ----------------------------------------------------------------------------------------------------------


def keep_spelling(desired: _Flat, live: _Flat) -> _Flat:
    """Desired amounts in the spelling of the manifest where that is worth the same."""
    return {key: live[key] if key in live and _is_equal(live[key], value) else value for key, value in desired.items()}


def _is_equal(live: t.Any, value: t.Any) -> bool:
    try:
        return value is not None and quantities.parse(str(live)) == quantities.parse(str(value))
    except ValueError:
        return False


def refuse_contradictions(before: t.Mapping[str, _Flat], after: t.Mapping[str, _Flat]) -> None:
    """Refuse what would keep the kubelet from running the pod, or the API from showing it."""
    if after[RESOURCES] != before[RESOURCES]:
        for name in _RESOURCES:
            _refuse_small_limit(name, *(after[RESOURCES].get(f"{kind}.{name}") for kind in _AMOUNTS))
    if after[PRIORITY] != before[PRIORITY]:
        _refuse_other_priority(after[PRIORITY].get(_CLASS), after[PRIORITY].get(_VALUE))


def _refuse_small_limit(name: str, request: t.Any, limit: t.Any) -> None:
    if None in (request, limit) or quantities.parse(str(request)) <= quantities.parse(str(limit)):
        return
    raise Refusal(
        f"resources: with {_REQUESTS}.{name} {request} and {_LIMITS}.{name} {limit} the kubelet would refuse the pod: a request must not be"
        " above its limit."
    )


def _refuse_other_priority(name: str | None, value: int | None) -> None:
    """The class of a static pod is not resolved, and the API shows no pod that has another number than its class."""
    if value is None:
        return
    if name is None or value != _SYSTEM_CLASSES.get(name, value):
        right = f"; that of {name} is {_SYSTEM_CLASSES[name]}" if name else ""
        raise Refusal(
            f"priority: invalid {_VALUE} {value}: must be the number of the pod's {_CLASS}, which is {name or 'not set'}{right}. Name"
            " both, or null for the number."
        )
    if name not in _SYSTEM_CLASSES and value > _LARGEST_OF_USERS:
        raise Refusal(
            f"priority: invalid {_VALUE} {value}: must be at most {_LARGEST_OF_USERS} outside of the system's own classes."
        )


class _Probe(t.TypedDict):
    kind: str


class Probe(_Probe, total=False):
    """A probe of a container. kind: http, tcp, or grpc and exec, which only the kubelet runs. port: not of exec. scheme, path, headers: of http.
    network: where the manifest names no host, so that the kubelet asks the pod's address: C(host), that is the node's, or C(pod). host is local then."""

    host: str
    network: str
    port: int
    scheme: str
    path: str
    headers: dict[str, str]


def probes_of_container(spec: t.Mapping[str, t.Any], container: t.Mapping[str, t.Any], source: str) -> list[Probe]:
    """The container's own probes, each once. spec: of its pod. source: the manifest's path. Raises Refusal for a port that is not declared."""
    found: list[Probe] = []
    for name in _PROBES:
        probe = container.get(name)
        if probe:
            described = _as_probe(probe, spec, container, source)
            if described not in found:
                found.append(described)
    return found


def seconds_until_killed(spec: t.Mapping[str, t.Any], container: t.Mapping[str, t.Any], source: str) -> int:
    """How long the kubelet leaves a container that does not work, when only its liveness shows that and only the
    kubelet can probe it. 0 for every other."""
    probe = container.get("livenessProbe")
    if not probe or container.get("readinessProbe"):
        return 0
    parsed = _as_probe(probe, spec, container, source)
    if parsed["kind"] in ("http", "tcp") and parsed.get("network") != _POD:
        return 0
    failures = int(probe.get("failureThreshold") or 3) * int(probe.get("periodSeconds") or 10)
    return int(probe.get("initialDelaySeconds") or 0) + failures + int(probe.get("timeoutSeconds") or 1)


def _as_probe(
    probe: t.Mapping[str, t.Any], spec: t.Mapping[str, t.Any], container: t.Mapping[str, t.Any], source: str
) -> Probe:
    parsed = _as_handler(probe, container, source)
    handler = probe.get("httpGet") or probe.get("tcpSocket")
    if handler and not handler.get("host"):
        parsed["network"] = _NODE if spec.get("hostNetwork") else _POD
    return parsed


def _as_handler(probe: t.Mapping[str, t.Any], container: t.Mapping[str, t.Any], source: str) -> Probe:
    if "httpGet" in probe:
        get = probe["httpGet"]
        return {
            "kind": "http",
            "scheme": str(get.get("scheme", "HTTP")).lower(),
            "host": get.get("host") or "127.0.0.1",
            "port": _resolve_port(get["port"], container, source),
            "path": get.get("path") or "/",
            "headers": {header["name"]: header["value"] for header in get.get("httpHeaders") or []},
        }
    if "tcpSocket" in probe:
        return {
            "kind": "tcp",
            "host": probe["tcpSocket"].get("host") or "127.0.0.1",
            "port": _resolve_port(probe["tcpSocket"]["port"], container, source),
        }
    if "grpc" in probe:
        return {"kind": "grpc", "host": "127.0.0.1", "port": _resolve_port(probe["grpc"]["port"], container, source)}
    return {"kind": "exec"}


def _resolve_port(port: int | str, container: t.Mapping[str, t.Any], source: str) -> int:
    if isinstance(port, int):
        return port
    for entry in container.get("ports") or []:
        if entry.get("name") == port:
            return int(entry["containerPort"])
    raise Refusal(f"{source}: a probe names the port {port!r}, which the container does not declare.")
