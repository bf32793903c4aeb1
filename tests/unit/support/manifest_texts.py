# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Static pods in a random style, desired states for them, and what the kubelet and the component make of such a pod."""

from __future__ import annotations

import copy
import typing as t
from random import Random

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes import quantities
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples
from ansible_collections.nodecraft.kubeadm.tests.unit.support import yaml_texts
from hypothesis import strategies as st

Json = dict[str, t.Any]

NAME = "kube-apiserver"
GATES_FLAG, ENABLE_FLAG, DISABLE_FLAG = "feature-gates", "enable-admission-plugins", "disable-admission-plugins"
# What the component knows of its flags, and the collection does not.
SWITCHES = frozenset(("profiling", "anonymous-auth"))

_FLAGS = ["v", "audit-log-path", "audit-log-maxage", "goaway-chance", "tls-cipher-suites"]
_GATES = ["Alpha", "Beta", "Gamma"]
_PLUGINS = ["NodeRestriction", "Other", "Third"]
_VARIABLES = ["HOST", "TOKEN", "B"]
_VOLUMES = ["certs", "audit", "scratch"]
# Requests that no limit is below, whatever is asked for.
_REQUESTS, _LIMITS = ["250m", "1", 1, "0.5"], ["4", "4500m", 5]
_PROBES, _TIMES = ["startupProbe", "livenessProbe"], ["periodSeconds", "failureThreshold"]
_CLASSES = {"mine": 1000, "system-node-critical": 2000001000}
_ANNOTATIONS = ["theirs", "example.com/x"]
_WORDS = [
    "1",
    "true",
    "/etc/x",
    "a=b",
    "a, b",
    "it's",
    'say "x"',
    "x: y # z",
    "$(HOST)",
    "ü",
    "[x]",
    "{x",
    "no",
    " x ",
    "x" * 200,
]
# A text as a value of its own behind its flag is told from a flag by how it begins.
_DASHED = ["-", "-1", "-.5"]
_LIKE_FLAGS = ["-x", "--v=1", "--", "-v"]


class Case(t.NamedTuple):
    """A manifest, what stands in it, and the parameters of two tasks that follow each other."""

    text: str
    pod: Json
    desired_states: tuple[Json, ...]


def cases() -> st.SearchStrategy[Case]:
    """Any manifest of an API server that could run, and any desired states for it. size: about how much of all they hold."""
    return st.builds(case, st.integers(0, 3), st.randoms(use_true_random=True))


def case(size: int, random: Random) -> Case:
    """One of them."""
    pod = _pod(size, random)
    desired_states = tuple(_desired(size, random) for dummy in range(random.choice([1, 1, 2])))
    return Case(yaml_texts.write(pod, random), pod, desired_states)


# ---- pods ------------------------------------------------------------------------------------------------------------


def _pod(size: int, random: Random) -> Json:
    arguments = [item for dummy in range(random.randrange(2 * size + 1)) for item in _argument(random)]
    cut = random.choice([len(arguments), len(arguments), random.randrange(len(arguments) + 1)])
    container: Json = {"name": NAME, "command": [NAME, *arguments[:cut]]}
    others: list[Json] = [{"name": "other", "image": "x"}] if random.randrange(8) == 0 else []
    spec: Json = {"containers": random.choice([[container, *others], [*others, container]]), "hostNetwork": True}
    pod: Json = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": NAME}, "spec": spec}
    _put(container, "args", arguments[cut:], random)
    _put(container, "env", [_variable(random) for dummy in range(random.randrange(size + 1))], random)
    _put(container, "resources", _resources(random), random)
    for probe in random.sample(_PROBES, random.randrange(3)):
        container[probe] = {"httpGet": {"port": 6443}, **{name: 7 for name in _TIMES if random.randrange(2)}}
    if random.randrange(2):
        spec["priorityClassName"] = random.choice(list(_CLASSES))
        _put(spec, "priority", random.choice([None, _CLASSES[spec["priorityClassName"]]]), random)
    volumes = random.sample(_VOLUMES, random.randrange(min(size, 3) + 1))
    _put(spec, "volumes", [_volume(name, random) for name in volumes], random)
    _put(container, "volumeMounts", [mount for name in volumes for mount in _mounts(name, random)], random)
    if others and volumes and random.randrange(3) == 0:
        others[0]["volumeMounts"] = [{"name": volumes[0], "mountPath": "/other"}]
    annotations = {name: random.choice(_WORDS) for name in random.sample(_ANNOTATIONS, random.randrange(2))}
    _put(pod["metadata"], "annotations", annotations, random)
    return pod


def _put(parent: Json, key: str, value: t.Any, random: Random) -> None:
    """Nothing is omitted, empty or null."""
    if value:
        parent[key] = value
    elif random.randrange(8) == 0:
        parent[key] = random.choice([None, value])


def _argument(random: Random) -> list[str]:
    """One flag as one or two items."""
    if random.randrange(5) == 0:
        return [f"--{random.choice(sorted(SWITCHES))}{random.choice(['', '=true', '=false'])}"]
    name, value = random.choice(
        [
            (random.choice(_FLAGS), random.choice([*_WORDS, *_DASHED, ""])),
            (random.choice(_FLAGS), random.choice([*_WORDS, *_DASHED, ""])),
            (GATES_FLAG, ",".join(f"{gate}={random.choice(['true', 'false', '1'])}" for gate in _some(_GATES, random))),
            (ENABLE_FLAG, ",".join(_some(_PLUGINS[:2], random))),
            (DISABLE_FLAG, _PLUGINS[2]),
        ]
    )
    if random.randrange(10) == 0:
        name = name.replace("-", "_")
    dashes = "-" if name == "v" and random.randrange(2) else "--"
    return [f"{dashes}{name}", value] if random.randrange(3) == 0 else [f"{dashes}{name}={value}"]


def _resources(random: Random) -> Json:
    kinds: Json = {"requests": {"cpu": random.choice(_REQUESTS)}, "limits": {"cpu": random.choice(_LIMITS)}}
    return {kind: amounts for kind, amounts in kinds.items() if random.randrange(2)}


def _some(names: list[str], random: Random) -> list[str]:
    return random.sample(names, random.randrange(1, len(names) + 1))


def _variable(random: Random) -> Json:
    rare: list[Json] = [{}, {"value": None}, {"value": ""}, {"valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]
    usual: list[Json] = [{"value": word} for word in _WORDS]
    return {"name": random.choice(_VARIABLES), **random.choice(rare if random.randrange(3) == 0 else usual)}


def _volume(name: str, random: Random) -> Json:
    types: list[Json] = [{}, {"type": "File"}, {"type": ""}, {"type": None}]
    if random.randrange(8) == 0:
        return {"emptyDir": {}, "name": name}
    return {"hostPath": {"path": f"/{name}", **random.choice(types)}, "name": name}


def _mounts(name: str, random: Random) -> list[Json]:
    more: list[Json] = [{}, {}, {"readOnly": True}, {"readOnly": False}, {"subPath": "x"}]
    mount = {"mountPath": f"/mnt/{name}", "name": name, **random.choice(more)}
    return random.choice([[mount]] * 6 + [[], [mount, {**mount, "mountPath": f"/again/{name}"}]])


# ---- desired states --------------------------------------------------------------------------------------------------


def _desired(size: int, random: Random) -> Json:
    values = [*_WORDS, *_DASHED, *_LIKE_FLAGS]

    def texts() -> t.Any:
        return random.choice(
            [None, random.choice(values), [random.choice(values) for dummy in range(random.randrange(1, 4))]]
        )

    def some(names: list[str]) -> list[str]:
        return random.sample(names, random.randrange(min(size, len(names)) + 1)) if random.randrange(2) else []

    return {
        "feature_gates": {name: random.choice([True, False, None]) for name in some(_GATES)},
        "admission_plugins": {name: random.choice(["enabled", "disabled", "default"]) for name in some(_PLUGINS)},
        "args": {
            **{name: texts() for name in some(_FLAGS)},
            **{name: random.choice([True, False, None]) for name in some(["profiling"])},
        },
        "env": {name: random.choice([None, *values]) for name in some(_VARIABLES)},
        "resources": {
            kind: {"cpu": random.choice([None, *amounts])}
            for kind, amounts in (("requests", _REQUESTS), ("limits", _LIMITS))
            if random.randrange(3) == 0
        },
        "probes": {probe: {random.choice(_TIMES): random.choice([None, 7, "30"])} for probe in some(_PROBES)},
        "priority": _priority(random) if random.randrange(3) == 0 else {},
        "volumes": [
            samples.volume(
                name,
                random.choice(["/etc/a", f"/{name}"]),
                mount_path=random.choice(["/new", f"/mnt/{name}"]),
                read_only=random.choice([True, False]),
                path_type=random.choice([None, "File"]),
                state=random.choice(["present", "present", "absent"]),
            )
            for name in some(_VOLUMES)
        ],
    }


def _priority(random: Random) -> Json:
    name = random.choice([None, *_CLASSES])
    return {"priorityClassName": name, "priority": name and random.choice([None, _CLASSES[name]])}


# ---- what comes of a pod ---------------------------------------------------------------------------------------------


class Meaning(t.NamedTuple):
    """A pod as those see it who run it. rest: what no option of ours is about."""

    gates: Json
    plugins: Json
    args: Json
    env: Json
    volumes: Json
    fields: Json
    annotations: Json
    rest: Json


def meaning(pod: Json) -> Meaning:
    """What the kubelet and the component make of a pod."""
    rest = copy.deepcopy(pod)
    container = next(entry for entry in rest["spec"]["containers"] if entry["name"] == NAME)
    args = _flags(container.pop("command") + (container.pop("args", None) or []))
    gates = {}
    for entry in ",".join(args.pop(GATES_FLAG, [])).split(","):
        if entry:
            gates[entry.split("=")[0]] = entry.split("=")[1] in ("true", "1")
    plugins = {}
    for flag, state in ((DISABLE_FLAG, "disabled"), (ENABLE_FLAG, "enabled")):
        plugins.update(dict.fromkeys(filter(None, ",".join(args.pop(flag, [])).split(",")), state))
    env = {
        entry["name"]: entry.get("valueFrom", entry.get("value") or "") for entry in container.pop("env", None) or []
    }
    mounts: Json = {}
    for mount in container.pop("volumeMounts", None) or []:
        described = {**mount, "readOnly": bool(mount.get("readOnly"))}
        mounts.setdefault(mount["name"], []).append(described)
    fields = _fields(rest["spec"], container)
    volumes = {}
    for volume in rest["spec"].pop("volumes", None) or []:
        if volume.get("hostPath"):
            volume["hostPath"]["type"] = volume["hostPath"].get("type") or ""
        volumes[volume["name"]] = (volume, mounts.get(volume["name"], []))
    annotations = rest["metadata"].pop("annotations", None) or {}
    return Meaning(gates, plugins, args, env, volumes, fields, annotations, rest)


def _fields(spec: Json, container: Json) -> Json:
    """Single values, taken out of the pod. What an amount is worth counts, not how it is written."""
    found = {name: spec.pop(name, None) for name in ("priorityClassName", "priority")}
    for kind, amounts in (container.pop("resources", None) or {}).items():
        found.update({f"{kind}.{name}": quantities.parse(str(amount)) for name, amount in (amounts or {}).items()})
    for probe in _PROBES:
        found.update({f"{probe}.{name}": container.get(probe, {}).pop(name, None) for name in _TIMES})
    return {key: value for key, value in found.items() if value is not None}


def _flags(command_line: list[str]) -> Json:
    """Flag -> its values, by the rules of pflag: a flag that is no switch takes the next item, whatever that is."""
    found: Json = {}
    items = iter(command_line[1:])
    for item in items:
        assert item.startswith("-"), f"the component knows no {item!r}"
        name, equals, value = item.lstrip("-").partition("=")
        name = name.replace("_", "-")
        found.setdefault(name, []).append(value if equals else "true" if name in SWITCHES else next(items))
    return found


def fulfilled(before: Meaning, desired: Json) -> Meaning:
    """What a pod has to mean when a desired state was carried out."""
    texts = {name: _texts(value) for name, value in desired["args"].items()}
    states = {name: None if state == "default" else state for name, state in desired["admission_plugins"].items()}
    volumes = {volume["name"]: _desired_volume(volume) for volume in desired["volumes"]}
    return before._replace(
        gates=_merged(before.gates, desired["feature_gates"]),
        plugins=_merged(before.plugins, states),
        args=_merged(before.args, texts),
        env=_merged(before.env, desired["env"]),
        volumes=_merged(before.volumes, volumes),
        fields=_merged(before.fields, _desired_fields(desired)),
    )


def _merged(before: Json, desired: Json) -> Json:
    return {name: value for name, value in {**before, **desired}.items() if value is not None}


def _desired_fields(desired: Json) -> Json:
    amounts = {
        f"{kind}.{name}": amount and quantities.parse(str(amount))
        for kind, given in desired["resources"].items()
        for name, amount in given.items()
    }
    times = {
        f"{probe}.{name}": number and int(number)
        for probe, given in desired["probes"].items()
        for name, number in given.items()
    }
    return {**amounts, **times, **desired["priority"]}


def _texts(value: t.Any) -> list[str] | None:
    if value is None:
        return None
    return [
        str(item).lower() if isinstance(item, bool) else item
        for item in (value if isinstance(value, list) else [value])
    ]


def _desired_volume(volume: Json) -> tuple[Json, list[Json]] | None:
    if volume["state"] == "absent":
        return None
    host = {"path": volume["host_path"], "type": volume["path_type"] or ""}
    mount = {"name": volume["name"], "mountPath": volume["mount_path"], "readOnly": volume["read_only"]}
    return {"name": volume["name"], "hostPath": host}, [mount]
