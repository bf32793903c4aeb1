# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan: every byte that will change, what is owned afterwards, and what is shown of it."""

from __future__ import annotations

import base64
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.file_values import FileVersion
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod import plan as static_pod
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.plan import (
    State,
    StaticPodPlan,
    build_diff,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.policy_files import PolicyFileChange
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.reconciliation import FILES_ANNOTATION
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples
from ansible_collections.nodecraft.kubeadm.tests.unit.support import yaml_texts
from ansible_collections.nodecraft.kubeadm.tests.unit.support.static_pods import POLICY, following, planned, state
from hypothesis import given, settings
from hypothesis import strategies as st

# ---- changes ---------------------------------------------------------------------------------------------------------


def test_gates_plugins_and_flags_are_merged_with_what_is_there() -> None:
    done = planned(
        feature_gates={"InPlacePodVerticalScaling": True},
        admission_plugins={"ExtendedResourceToleration": "enabled"},
        args={"audit-log-maxage": 7},
    )
    assert done.after.text == samples.API_SERVER.replace(
        "--enable-admission-plugins=NodeRestriction\n    - --secure-port=6443\n",
        "--enable-admission-plugins=NodeRestriction,ExtendedResourceToleration\n    - --secure-port=6443\n"
        "    - --feature-gates=InPlacePodVerticalScaling=true\n    - --audit-log-maxage=7\n",
    )
    assert [(change.field, change.key, change.before, change.after) for change in done.operations] == [
        ("feature_gates", "InPlacePodVerticalScaling", None, True),
        ("admission_plugins", "ExtendedResourceToleration", None, "enabled"),
        ("args", "audit-log-maxage", None, ["7"]),
    ]


def test_what_is_there_already_is_no_change() -> None:
    done = planned(
        admission_plugins={"NodeRestriction": "enabled"},
        args={"secure_port": 6443, "allow-privileged": True, "not-set": None},
        volumes=[samples.volume("ca-certs", "/etc/ssl/certs", path_type="DirectoryOrCreate")],
    )
    assert done.operations == ()
    assert done.after.text == done.before.text
    assert done.record == {}
    assert build_diff(done) == []


def test_gates_that_are_true_in_other_words_are_true() -> None:
    before = state(samples.with_command("--feature-gates=A=T,B=0"))
    assert planned(before, feature_gates={"A": True, "B": False}).operations == ()


def test_a_second_run_changes_nothing() -> None:
    desired: dict[str, t.Any] = {
        "feature_gates": {"A": True},
        "admission_plugins": {"P": "disabled"},
        "args": {"x": ["1", "2"], "secure-port": None},
        "env": {"HTTPS_PROXY": "http://proxy"},
        "volumes": [samples.volume("audit", "/etc/kubernetes/audit", path_type="DirectoryOrCreate")],
        "files": [samples.file(POLICY, "kind: Policy\n")],
    }
    first = planned(**desired)
    assert len(first.operations) == 7
    second = planned(following(first), **desired, purge=True)
    assert second.operations == ()
    assert second.after.text == first.after.text
    assert second.record == following(first).record


def test_purge_gives_the_first_bytes_back() -> None:
    before = state(samples.with_command("--x=1", "--feature-gates=A=false", "--y=2"))
    done = planned(before, feature_gates={"A": True, "B": True}, args={"x": "5", "z": ["1", "2"]}, env={"E": "1"})
    back = planned(following(done), purge=True)
    assert back.after.text == before.manifest.text
    assert back.record == {}


# ---- files -----------------------------------------------------------------------------------------------------------


def test_a_new_file_is_written_and_tied_to_the_manifest() -> None:
    done = planned(files=[samples.file(POLICY, "kind: Policy\n", mode="0640")])
    assert done.files == (PolicyFileChange(POLICY, None, FileVersion(b"kind: Policy\n", 0o640), False, True),)
    annotations = done.after.values()["annotations"]
    assert len(annotations[FILES_ANNOTATION]) == 16
    assert [(change.field, change.key, change.before) for change in done.operations] == [("files", POLICY, None)]


@pytest.mark.parametrize("change", [{"content": "other\n"}, {"mode": "0644"}])
def test_another_content_or_mode_restarts_the_component(change: dict[str, str]) -> None:
    entry = samples.file(POLICY, "kind: Policy\n")
    first = planned(files=[entry])
    second = planned(following(first), files=[{**entry, **change}])
    assert second.files[0].before == first.files[0].after
    assert second.after.text != first.after.text


def test_a_file_that_is_as_desired_but_not_ours_is_left_alone() -> None:
    before = state(files={POLICY: FileVersion(b"x", 0o600)})
    done = planned(before, files=[samples.file(POLICY, "x")])
    assert done.operations == ()
    assert done.record == {}


def test_a_replaced_file_comes_back_with_mode_and_bytes() -> None:
    original = FileVersion(b"\xff\x00theirs", 0o444)
    before = state(files={POLICY: original})
    done = planned(before, files=[samples.file(POLICY, "ours")])
    assert done.record["files"][POLICY].original == {
        "content": base64.b64encode(original.content).decode(),
        "mode": "0444",
        "uid": 0,
        "gid": 0,
    }
    back = planned(following(done, before), purge=True)
    assert back.files == (PolicyFileChange(POLICY, FileVersion(b"ours", 0o600), original, True, False),)
    assert back.after.text == before.manifest.text
    assert back.record == {}


def test_a_file_of_others_keeps_its_owner() -> None:
    before = state(files={POLICY: FileVersion(b"theirs", 0o600, 7, 8)})
    done = planned(before, files=[samples.file(POLICY, "ours", mode="0640")])
    assert done.files[0].after == FileVersion(b"ours", 0o640, 7, 8)
    assert planned(following(done, before), purge=True).files[0].after == FileVersion(b"theirs", 0o600, 7, 8)


def test_a_file_of_ours_that_goes_is_removed_with_its_annotation() -> None:
    first = planned(files=[samples.file(POLICY, "ours")])
    back = planned(following(first), files=[samples.file(POLICY, None, state="absent")])
    assert back.files == (PolicyFileChange(POLICY, FileVersion(b"ours", 0o600), None, False, False),)
    assert back.after.text == samples.API_SERVER
    assert back.record == {}


@pytest.mark.parametrize("drift", [None, FileVersion(b"theirs", 0o600), FileVersion(b"ours", 0o644)])
def test_a_file_that_drifted_is_put_right_and_the_component_restarted(drift: FileVersion | None) -> None:
    """The component has the other content, and the kubelet restarts it only when the pod differs."""
    entry = samples.file(POLICY, "ours")
    before = following(planned(files=[entry]))
    done = planned(State(before.manifest, before.record, {POLICY: drift}), files=[entry])
    assert done.files[0].after == FileVersion(b"ours", 0o600)
    assert done.after.text != done.before.text
    assert planned(following(done), files=[entry]).operations == ()
    back = planned(following(done), purge=True)
    assert back.files[0].after is None
    assert FILES_ANNOTATION not in back.after.values()["annotations"]


def test_a_file_is_reverted_in_a_manifest_that_another_program_rewrote() -> None:
    original = state(files={POLICY: FileVersion(b"theirs", 0o600)})
    done = planned(original, files=[samples.file(POLICY, "ours")])
    rewritten = State(original.manifest, done.record, {POLICY: FileVersion(b"ours", 0o600)})
    back = planned(rewritten, purge=True)
    assert back.files[0].after == FileVersion(b"theirs", 0o600)
    assert back.after.text != back.before.text


def test_a_file_that_someone_else_changed_is_not_purged() -> None:
    first = planned(files=[samples.file(POLICY, "ours")])
    before = following(first)
    foreign = State(before.manifest, before.record, {POLICY: FileVersion(b"theirs", 0o600)})
    done = planned(foreign, purge=True)
    assert done.files == ()
    assert any(POLICY in warning for warning in done.warnings)
    assert not any("theirs" in warning for warning in done.warnings)


def test_the_annotation_counts_every_file_of_ours() -> None:
    one, two = samples.file("/etc/a/one", "1"), samples.file("/etc/a/two", "2")
    texts = {
        planned(files=[one]).after.text,
        planned(files=[two]).after.text,
        planned(files=[one, two]).after.text,
        planned(files=[{**one, "content": "2"}, {**two, "content": "1"}]).after.text,
    }
    assert len(texts) == 4


# ---- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [False, "false", "False", "0", "f", "F"])
def test_anonymous_requests_are_not_turned_off_under_the_kubelets_probes(value: t.Any) -> None:
    with pytest.raises(Refusal, match="anonymous-auth=false"):
        planned(args={"anonymous-auth": value})


def test_anonymous_auth_that_is_off_already_hinders_no_other_change() -> None:
    before = state(samples.with_command("--anonymous-auth=false"))
    assert planned(before, args={"v": 4}).operations


def test_anonymous_auth_is_the_api_servers_alone() -> None:
    before = State(samples.manifest(samples.SCHEDULER, "kube-scheduler"), {}, {})
    assert planned(before, name="kube-scheduler", args={"anonymous-auth": False}).operations


@pytest.mark.parametrize(
    ("arguments", "complaint"), [({"secure-port": 7443}, "port 6443"), ({"bind-address": "127.0.0.1"}, "ask 10.0.0.11")]
)
def test_a_component_is_not_moved_away_from_its_probes(arguments: dict[str, t.Any], complaint: str) -> None:
    with pytest.raises(Refusal, match=complaint):
        planned(args=arguments)


@pytest.mark.parametrize("address", ["::", "10.0.0.11"])
def test_addresses_that_the_probes_reach_are_taken(address: str) -> None:
    assert planned(args={"bind-address": address, "secure-port": 6443}).operations


def test_two_mounts_at_one_path_are_refused() -> None:
    with pytest.raises(Refusal, match="/etc/ssl/certs is already mounted"):
        planned(volumes=[samples.volume("mine", "/mine", mount_path="/etc/ssl/certs")])


# ---- any desired state, any style ------------------------------------------------------------------------------------

WORDS = st.sampled_from(["1", "true", "/etc/x", "a=b", "a, b", "it's", 'say "x"', "x: y # z", "$(HOST)", "ü"])
GATES = st.dictionaries(st.sampled_from(["Alpha", "Beta", "Gamma"]), st.sampled_from([True, False, None]), max_size=3)
PLUGINS = st.dictionaries(
    st.sampled_from(["NodeRestriction", "Other", "Third"]),
    st.sampled_from(["enabled", "disabled", "default"]),
    max_size=2,
)
ARGUMENTS = st.dictionaries(
    st.sampled_from(["v", "audit-log-path", "profiling", "goaway-chance"]),
    st.one_of(st.none(), WORDS, st.lists(WORDS, min_size=1, max_size=3)),
    max_size=3,
)
ENVIRONMENT = st.dictionaries(st.sampled_from(["HOST", "TOKEN", "B"]), st.one_of(st.none(), WORDS), max_size=3)
VOLUMES = st.lists(
    st.builds(
        lambda name, path, read_only, kind, there: samples.volume(
            name, path, mount_path=f"/mnt/{name}", read_only=read_only, path_type=kind, state=there
        ),
        st.sampled_from(["certs", "audit"]),
        st.sampled_from(["/etc/a", "/etc/b"]),
        st.booleans(),
        st.sampled_from([None, "File", "DirectoryOrCreate"]),
        st.sampled_from(["present", "present", "absent"]),
    ),
    max_size=2,
    unique_by=lambda volume: volume["name"],
)
FILES = st.lists(
    st.builds(
        samples.file,
        st.sampled_from(["/etc/a/1", "/etc/a/2"]),
        st.sampled_from(["one\n", "two\n"]),
        mode=st.sampled_from(["0600", "0644"]),
        state=st.sampled_from(["present", "present", "absent"]),
    ),
    max_size=2,
    unique_by=lambda file: file["path"],
)
DESIRED_STATES = st.fixed_dictionaries(
    {
        "feature_gates": GATES,
        "admission_plugins": PLUGINS,
        "args": ARGUMENTS,
        "env": ENVIRONMENT,
        "volumes": VOLUMES,
        "files": FILES,
        "purge": st.booleans(),
    }
)
FLAGS = st.sampled_from(
    [
        ["--v=1"],
        ["--v", "1"],
        ["--profiling"],
        ["--feature-gates=Alpha=true,Beta=false"],
        ["--enable-admission-plugins=NodeRestriction,Other"],
        ["--disable-admission-plugins", "Third"],
        ["--audit-log-path=-"],
        ["--host=$(HOST)"],
    ]
)


def _pod(groups: list[list[str]], env: dict[str, str], volumes: list[str], annotated: bool, extra: list[str]) -> t.Any:
    arguments = [argument for group in groups for argument in group]
    container: dict[str, t.Any] = {
        "command": ["kube-apiserver", *arguments],
        "image": "registry.k8s.io/kube-apiserver:v1.34.4",
        "livenessProbe": {"httpGet": {"port": 6443, "scheme": "HTTPS", "path": "/livez"}},
        "name": "kube-apiserver",
    }
    if extra:
        container["args"] = extra
    if env:
        container["env"] = [{"name": name, "value": value} for name, value in env.items()]
    spec: dict[str, t.Any] = {"containers": [container], "hostNetwork": True}
    if volumes:
        container["volumeMounts"] = [{"mountPath": f"/mnt/{name}", "name": name, "readOnly": True} for name in volumes]
        spec["volumes"] = [{"hostPath": {"path": f"/{name}", "type": "File"}, "name": name} for name in volumes]
    metadata: dict[str, t.Any] = {"creationTimestamp": None, "name": "kube-apiserver", "namespace": "kube-system"}
    if annotated:
        metadata["annotations"] = {"theirs": "kept"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {}}


# No component takes prefixed and bare gates together.
PREFIXED = st.sampled_from([["--feature_gates=kube:Alpha=true"], ["--v=1"], ["--feature-gates", "kube:Beta=true"]])

PODS = st.builds(
    _pod,
    st.one_of(st.lists(FLAGS, max_size=4), st.lists(FLAGS, max_size=4), st.lists(PREFIXED, max_size=3)),
    st.dictionaries(st.sampled_from(["HOST", "B"]), WORDS, max_size=2),
    st.lists(st.sampled_from(["certs", "other"]), unique=True, max_size=2),
    st.booleans(),
    st.sampled_from([[], ["--v=1"], ["--profiling", "--audit-log-path", "-"]]),
)


def _values(found: State) -> dict[str, t.Any]:
    values = found.manifest.values()
    values["annotations"] = {key: value for key, value in values["annotations"].items() if key != FILES_ANNOTATION}
    values["files"] = {path: file for path, file in found.files.items() if file is not None}
    return values


def _try(desired: dict[str, t.Any], before: State) -> StaticPodPlan | None:
    try:
        return static_pod.plan(samples.desired(**desired), before)
    except Refusal:
        return None


def test_any_desired_state_is_fulfilled_exactly_and_can_be_reverted() -> None:
    outcomes = {"planned": 0, "refused": 0}

    @settings(max_examples=settings().max_examples * 2 // 5)
    @given(yaml_texts.texts(PODS), st.lists(DESIRED_STATES, min_size=1, max_size=2))
    def check(text: yaml_texts.Text, desired_states: list[dict[str, t.Any]]) -> None:
        files = {"/etc/a/1": FileVersion(b"theirs\n", 0o644), "/etc/a/2": None}
        first = State(samples.manifest(text.text), {}, files)
        now = first
        for desired in desired_states:
            done = _try(desired, now)
            if done is None:
                outcomes["refused"] += 1
                continue
            outcomes["planned"] += 1
            _assert_fulfilled(desired, now, done)
            now = following(done, now)
            again = _try(desired, now)
            assert again is not None
            assert again.operations == ()
            assert again.after.text == now.manifest.text
        back = _try({"purge": True}, now)
        if back is not None:
            assert _values(following(back, now)) == _values(first)
            assert back.record == {}

    check()
    assert outcomes["planned"] > outcomes["refused"], outcomes


def _assert_fulfilled(desired: dict[str, t.Any], before: State, done: StaticPodPlan) -> None:
    parsed = samples.desired(**desired)
    values = _values(following(done, before))
    for field, keys in parsed.values.items():
        for key, value in keys.items():
            assert values[field].get(key) == value
    if not desired["purge"]:  # whatever is not named stays
        for field, keys in _values(before).items():
            named = {entry.path for entry in parsed.files} if field == "files" else set(parsed.values.get(field, {}))
            for key, value in keys.items():
                assert key in named or values[field].get(key) == value
    changed = {(change.field, change.key) for change in done.operations}
    assert bool(changed) == (done.after.text != done.before.text)
