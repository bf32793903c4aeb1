# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was empty before a change, and where each line stood, is as it was when the change is reverted."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common import ownership
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods

BARE = """apiVersion: v1
kind: Pod
metadata:
  name: etcd
  namespace: kube-system{annotations}
spec:
  containers:
  - command:
    - etcd
    - --data-dir=/var/lib/etcd
    image: registry.k8s.io/etcd:3.6.6-0{resources}{env}{mounts}
    name: etcd
  hostNetwork: true{volumes}
"""
CPU = {"resources": {"requests": {"cpu": "333m"}}}
MEMORY = {"resources": {"requests": {"memory": "1Gi"}}}
ENV = {"env": {"A": "b"}}
VOLUMES = {"volumes": [static_pods.volume("data", "/srv/data")]}
FILES = {**VOLUMES, "files": [static_pods.file("/srv/data/a", "b")]}
EMPTY = (
    "{}",
    "{ }",
    "{} # none",
    "{\n        }",
    "{ # none\n        }",
    "!!map {}",
    "",
    " # none",
    "null",
    "~",
    "  ~  # none",
)


def _text(**given: str) -> str:
    indents = {"annotations": 2, "resources": 4, "env": 4, "mounts": 4, "volumes": 2}
    names = {"mounts": "volumeMounts"}
    parts = {
        part: f"\n{' ' * indent}{names.get(part, part)}:{given[part] and ' '}{given[part]}" if part in given else ""
        for part, indent in indents.items()
    }
    return BARE.format(**parts)


def _lists(texts: t.Sequence[str]) -> list[str]:
    return [text.replace("{", "[").replace("}", "]").replace("!!map", "!!seq") for text in texts]


def _cases() -> t.Iterator[tuple[str, dict[str, t.Any]]]:
    for text in EMPTY:
        yield _text(resources=text), CPU
        yield _text(annotations=text, volumes="[]", mounts="[]"), FILES
    for text in _lists(EMPTY):
        yield _text(env=text), ENV
        yield _text(volumes=text, mounts=text), VOLUMES
        yield _text(mounts=text), VOLUMES
    for inner in ("{}", "", "null"):
        yield _text(resources=f"\n      requests: {inner}"), CPU
        yield _text(resources=f"\n      requests: {inner} # soon\n      limits: {{}}"), CPU
    for flow in ("{requests: {}}", "{requests: {}, limits: {}}", "{ requests: }", "{limits: {cpu: 1}, requests: ~ }"):
        yield _text(resources=flow), CPU
    yield _text(env="[]\n    # the end"), ENV
    yield _text(env="\n    # - name: OTHER"), ENV


CASES = list(_cases())


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(("text", "options"), CASES)
def test_reverted_change_gives_the_same_bytes(text: str, options: dict[str, t.Any], newline: str) -> None:
    before = _state(text.replace("\n", newline), options)
    done = static_pods.planned(before, name="etcd", **options)
    assert done.operations
    assert done.after.text != before.manifest.text
    changed = static_pods.following(done, before)
    again = static_pods.planned(changed, name="etcd", **options)
    assert (again.operations, again.record) == ((), done.record)
    for revert in ({"purge": True}, {"state": "absent", **options}):
        assert static_pods.planned(changed, name="etcd", **revert).after.text == before.manifest.text


def _state(text: str, options: t.Mapping[str, t.Any]) -> t.Any:
    return static_pods.state(text, files={entry["path"]: None for entry in options.get("files", [])})


@pytest.mark.parametrize("first", [CPU, MEMORY])
def test_last_of_several_values_restores_the_empty_mapping(first: dict[str, t.Any]) -> None:
    before = static_pods.state(_text(resources="{ }"))
    both = {"resources": {"requests": {"cpu": "333m", "memory": "1Gi"}}}
    one = static_pods.following(static_pods.planned(before, name="etcd", **first), before)
    two = static_pods.following(static_pods.planned(one, name="etcd", **both), one)
    rest = MEMORY if first == CPU else CPU
    less = static_pods.following(static_pods.planned(two, name="etcd", purge=True, **rest), two)
    assert static_pods.planned(less, name="etcd", purge=True).after.text == before.manifest.text


def test_removed_value_restores_the_empty_mapping_at_once() -> None:
    before = static_pods.state(_text(resources="{}"))
    changed = static_pods.following(static_pods.planned(before, name="etcd", **CPU), before)
    removed = static_pods.planned(changed, name="etcd", resources={"requests": {"cpu": None}})
    assert (removed.after.text, removed.record) == (before.manifest.text, {})


def test_mapping_that_was_missing_is_removed() -> None:
    before = static_pods.state(_text())
    changed = static_pods.following(static_pods.planned(before, name="etcd", **CPU), before)
    assert static_pods.planned(changed, name="etcd", purge=True).after.text == before.manifest.text


def test_entry_of_others_stays_and_nothing_is_remembered() -> None:
    before = static_pods.state(_text(env=""))
    changed = static_pods.following(static_pods.planned(before, name="etcd", **ENV), before)
    text = changed.manifest.text.replace("    name: etcd\n", "    - name: B\n      value: c\n    name: etcd\n")
    back = static_pods.planned(static_pods.state(text, changed.record), name="etcd", purge=True)
    assert (back.after.values()["env"], back.record) == ({"B": "c"}, {})


def test_manifest_written_again_without_the_mapping_forgets_it() -> None:
    before = static_pods.state(_text(resources="{}"))
    changed = static_pods.following(static_pods.planned(before, name="etcd", **CPU), before)
    upgraded = static_pods.state(_text().replace("3.6.6-0", "3.6.7-0"), changed.record)
    again = static_pods.following(static_pods.planned(upgraded, name="etcd", **CPU), upgraded)
    assert static_pods.planned(again, name="etcd", purge=True).after.text == upgraded.manifest.text


def test_record_of_an_older_release_removes_the_line() -> None:
    """It does not say what was empty."""
    before = static_pods.state(_text(resources="{}"))
    changed = static_pods.following(static_pods.planned(before, name="etcd", **CPU), before)
    data = ownership.dump_record(changed.record)
    assert data["resources"]["requests.cpu"].pop("blanks") == {"resources": " {}"}
    former = static_pods.state(changed.manifest.text, ownership.load_record(data))
    assert static_pods.planned(former, name="etcd", purge=True).after.text == _text()


# ---- the bytes of what is more than one value ------------------------------------------------------------------------

ODD = """apiVersion: v1
kind: Pod
metadata:
  creationTimestamp: null
  name: kube-scheduler
  namespace: kube-system
spec:
  containers:
  - command:
    - kube-scheduler
    - --feature-gates=
    - --v=2
    env:
    - name: EMPTY
      value: ""
    - name: BARE
    - name: LAST
      value: c
    image: registry.k8s.io/kube-scheduler:v1.37.2
    livenessProbe:
      initialDelaySeconds: 0
      httpGet: {path: /livez, port: 10259, host: 127.0.0.1}
    name: kube-scheduler
    volumeMounts:
    - mountPath: /etc/kubernetes/scheduler.conf
      name: kubeconfig
      readOnly: false
    - mountPath: /srv/other
      name: other
  volumes:
  - hostPath:
      path: /etc/kubernetes/scheduler.conf
      type: ""
    name: kubeconfig
  - hostPath: {path: /srv/other, type: }
    name: other
"""
SET = [
    {"feature_gates": {"A": True}},
    {"args": {"v": None}},
    {"env": {"EMPTY": "1", "BARE": "2"}},
    {"env": {"EMPTY": None, "BARE": None}},
    {"volumes": [static_pods.volume("kubeconfig", "", state="absent")]},
    {"volumes": [static_pods.volume("other", "/srv/else", path_type="File")]},
    {"probes": {"livenessProbe": {"initialDelaySeconds": 5}}},
    {"priority": {"priorityClassName": "system-node-critical"}},
]


@pytest.mark.parametrize("given", SET)
def test_the_last_revert_brings_the_same_bytes(given: dict[str, t.Any]) -> None:
    before = static_pods.state(ODD)
    name = "kube-scheduler"
    changed = static_pods.following(static_pods.planned(before, name=name, **given), before)
    more = static_pods.following(static_pods.planned(changed, name=name, args={"leader-elect": "true"}), changed)
    assert static_pods.planned(more, name=name, purge=True).after.text == ODD


@pytest.mark.parametrize("given", SET)
def test_an_edit_of_others_in_between_stays(given: dict[str, t.Any]) -> None:
    before = static_pods.state(ODD)
    name = "kube-scheduler"
    changed = static_pods.following(static_pods.planned(before, name=name, **given), before)
    text = changed.manifest.text.replace("scheduler:v1.37.2", "scheduler:v1.37.3").replace(
        "    name: kube-s", "    tty: false\n    name: kube-s"
    )
    # As the node reads it: what we wrote last is not what stands there.
    edited = static_pods.state(text, changed.record)
    back = static_pods.planned(edited, name=name, purge=True)
    assert "tty: false" in back.after.text
    assert back.record == {}


def test_values_that_are_not_the_former_ones_are_no_revert() -> None:
    before = static_pods.state(ODD)
    name = "kube-scheduler"
    changed = static_pods.following(static_pods.planned(before, name=name, env={"LAST": "d"}), before)
    wrong = dataclasses.replace(changed, former=ODD.replace("--v=2", "--v=3"))
    assert "--v=2" in static_pods.planned(wrong, name=name, purge=True).after.text
