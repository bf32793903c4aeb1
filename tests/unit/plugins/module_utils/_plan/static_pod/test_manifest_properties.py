# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Any desired state for any static pod: fulfilled exactly, once, and with a rollback, or refused with the line."""

from __future__ import annotations

import re
import typing as t

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod import plan as static_pod
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.plan import State, StaticPodPlan
from ansible_collections.nodecraft.kubeadm.tests.unit.support import manifest_texts, yaml_texts
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples
from ansible_collections.nodecraft.kubeadm.tests.unit.support.manifest_texts import Case, Json
from hypothesis import given, settings

# How many times the examples of a profile.
MANY = 8

_COMMENT = re.compile(r"# comment (\d+)\.")


def test_any_desired_state_is_fulfilled_exactly_or_refused() -> None:
    """Also counts: a plan that refuses everything must not pass."""
    outcomes = {"fulfilled": 0, "refused": 0}

    @settings(max_examples=MANY * settings().max_examples)
    @given(manifest_texts.cases())
    def check(case: Case) -> None:
        outcomes["fulfilled" if _is_fulfilled_or_refused(case) else "refused"] += 1

    check()
    assert outcomes["fulfilled"] > outcomes["refused"], outcomes


_POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: kube-apiserver}\nspec:\n  containers:\n  - name: kube-apiserver\n"
_COMMAND = "    command: [kube-apiserver]\n"
_VOLUME = "    volumeMounts:\n    - {name: certs, mountPath: /mnt/certs%s}\n%s  volumes:\n  - {name: certs, hostPath: {path: /certs%s}}\n"
_GONE = samples.volume("certs", "/certs", state="absent")
_MOVED = samples.volume("certs", "/etc/a", mount_path="/mnt/certs", read_only=False)

_NOTHING: Json = {
    "feature_gates": {},
    "admission_plugins": {},
    "args": {},
    "env": {},
    "volumes": [],
    "resources": {},
    "probes": {},
    "priority": {},
}

# What a search found, made small: the rest of the manifest, the desired state, and whether it can be fulfilled.
FOUND = {
    "value of the next list": ("    command: [kube-apiserver, --v]\n    args: ['1']\n", {"args": {"v": "2"}}, True),
    "value of the next list, removed": (
        "    command: [kube-apiserver, --v]\n    args: ['1']\n",
        {"args": {"v": None}},
        True,
    ),
    "plugins of the next list": (
        "    command: [kube-apiserver, --enable-admission-plugins]\n    args: [NodeRestriction]\n",
        {"admission_plugins": {"Other": "enabled"}},
        True,
    ),
    "value that is a dash": ("    command: [kube-apiserver, --audit-log-path, '-']\n", {"args": {"v": "1"}}, True),
    "value that is a dash, set": ("    command: [kube-apiserver, --v, '1']\n", {"args": {"v": "-"}}, True),
    "value that looks like a flag": ("    command: [kube-apiserver, --v, '1']\n", {"args": {"v": "--v=1"}}, True),
    "second value that looks like a flag": (
        "    command: [kube-apiserver, --v, '1', --v, '2']\n",
        {"args": {"v": ["-x", "--"]}},
        True,
    ),
    "flow list, with a comma": ("    command: [kube-apiserver, --v=1]\n", {"args": {"v": "1,2"}}, True),
    "variable set twice": (_COMMAND + "    env: [{name: B, value: a}, {name: B}]\n", {"env": {"B": "c"}}, False),
    "variable without a value": (_COMMAND + "    env: [{name: B}]\n", {"env": {"B": None}}, True),
    "variable that is null": (_COMMAND + "    env: [{name: B, value: null}]\n", {"env": {"B": None}}, True),
    "no type and for writing, written out": (
        _COMMAND + _VOLUME % (", readOnly: false", "", ", type: ''"),
        {"volumes": [_MOVED]},
        True,
    ),
    "mounted elsewhere": (
        _COMMAND + _VOLUME % ("", "  - {name: other, volumeMounts: [{name: certs, mountPath: /x}]}\n", ""),
        {"volumes": [_GONE]},
        False,
    ),
    "mounted in a part": (_COMMAND + _VOLUME % (", subPath: x", "", ""), {"volumes": [_GONE]}, False),
}


@pytest.mark.parametrize(("rest", "desired", "fulfilled"), FOUND.values(), ids=FOUND)
def test_what_was_found_before(rest: str, desired: Json, fulfilled: bool) -> None:
    whole = {**_NOTHING, **desired}
    assert _is_fulfilled_or_refused(Case(_POD + rest, yaml.safe_load(_POD + rest), (whole,))) is fulfilled


def _is_fulfilled_or_refused(case: Case) -> bool:
    now = State(samples.manifest(case.text), {}, {})
    refused = False
    for desired in case.desired_states:
        done, refusal = _plan(now, **desired)
        if done is None:
            assert re.search(r"\bline \d+: |^volumes: |^priority: ", refusal)
            refused = True
            continue
        _assert_exact(now, done, desired)
        now = State(done.after, done.record, {})
        again, refusal = _plan(now, **desired)
        assert again is not None, refusal
        assert again.operations == ()
        assert again.after.text == now.manifest.text
    _assert_rollback(case, now)
    return not refused


def _plan(before: State, **desired: t.Any) -> tuple[StaticPodPlan | None, str]:
    try:
        return static_pod.plan(samples.desired(**desired), before), ""
    except Refusal as exc:
        return None, str(exc)


def _assert_exact(before: State, done: StaticPodPlan, desired: Json) -> None:
    old, new = before.manifest.text, done.after.text
    assert (old == new) == (done.operations == ())
    assert _meaning(new) == manifest_texts.fulfilled(_meaning(old), desired)
    remaining = _COMMENT.findall(new)
    assert remaining == [number for number in _COMMENT.findall(old) if number in remaining]
    assert ("\r\n" in old) == ("\r\n" in new)
    assert new.count("\r\n") in (0, new.count("\n"))


def _assert_rollback(case: Case, now: State) -> None:
    back, dummy = _plan(now, purge=True)
    if back is not None:
        assert _meaning(back.after.text) == manifest_texts.meaning(case.pod)
        assert back.record == {}


def _meaning(text: str) -> manifest_texts.Meaning:
    return manifest_texts.meaning(yaml_texts.read(text))
