# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The change of kubeadm-config: nothing else in it moves, and the rollback leads to the former bytes."""

from __future__ import annotations

import difflib
import typing as t

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config import plan as kubeadm_config
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.plan import (
    ConfigPlan,
    DesiredSetting,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.record import Entry, Persisted
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.settings import SettingKey
from ansible_collections.nodecraft.kubeadm.tests.unit.support.cluster_configurations import (
    API_SERVER,
    OTHERS,
    TEXT,
    VOLUME,
    arg,
)
from hypothesis import example, given, settings
from hypothesis import strategies as st

PLUGIN = SettingKey(API_SERVER, "admission_plugins", "EventRateLimit")
EVERYTHING: dict[SettingKey, DesiredSetting] = {
    **arg("audit-log-path", "/var/log/a"),
    **arg("quota-backend-bytes", "123", component="etcd"),
    PLUGIN: DesiredSetting("enabled"),
    SettingKey(API_SERVER, "volumes", "policy"): DesiredSetting(VOLUME),
    SettingKey("kube-controller-manager", "feature_gates", "A"): DesiredSetting(True),
    SettingKey("kube-scheduler", "env", "GOGC"): DesiredSetting("50"),
}


def plan(text: str, desired: t.Mapping[SettingKey, DesiredSetting], persisted: Persisted | None = None) -> ConfigPlan:
    return kubeadm_config.plan(text, persisted or Persisted(), desired)


def again(former: ConfigPlan, desired: t.Mapping[SettingKey, DesiredSetting], text: str | None = None) -> ConfigPlan:
    """A later run. text: what the ConfigMap has then."""
    return plan(former.after if text is None else text, desired, Persisted.parse(former.record.dump()))


@pytest.mark.parametrize("text", [TEXT, OTHERS, TEXT.replace("\n", "\r\n")])
def test_everything_comes_and_goes_and_leaves_the_former_bytes(text: str) -> None:
    first = plan(text, EVERYTHING)
    assert first.skipped == {}
    assert len(first.operations) == len(EVERYTHING)
    gone = [line[2:] for line in difflib.ndiff(text.splitlines(), first.after.splitlines()) if line.startswith("- ")]
    assert set(gone) <= {
        "apiServer: {}",
        "controllerManager: {} # ours",
        "scheduler: {}",
        "    value: NodeRestriction,AlwaysPullImages",
    }
    assert "controllerManager: # ours\n" in first.after.replace("\r\n", "\n")
    assert again(first, EVERYTHING).operations == ()
    back = again(first, {})
    assert (back.after, back.record) == (text, Persisted())
    assert [(each.before, each.after) for each in back.operations] == [
        (each.after, each.before) for each in first.operations
    ]


@pytest.mark.parametrize("nothing", ["", " ~", " null # none", "\n  extraArgs:", "\n  extraArgs: null"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_has_no_value_is_filled(nothing: str, end: str) -> None:
    text = TEXT.replace("scheduler: {}", f"scheduler:{nothing}").replace("\n", end)
    desired = arg("v", "4", component="kube-scheduler")
    first = plan(text, desired)
    assert (first.skipped, len(first.operations)) == ({}, 1)
    found = yaml.safe_load(first.after)
    assert found.pop("scheduler") == {"extraArgs": [{"name": "v", "value": "4"}]}
    assert found == {key: value for key, value in yaml.safe_load(text).items() if key != "scheduler"}
    assert again(first, desired).operations == ()
    assert again(first, {}).after == text


def test_what_kubeadm_reads_of_it() -> None:
    found = yaml.safe_load(plan(TEXT, EVERYTHING).after)
    assert found["apiServer"]["extraArgs"] == [
        {"name": "enable-admission-plugins", "value": "NodeRestriction,EventRateLimit"},
        {"name": "audit-log-path", "value": "/var/log/a"},
    ]
    assert found["apiServer"]["extraVolumes"] == [
        {
            "name": "policy",
            "hostPath": "/etc/audit",
            "mountPath": "/etc/audit",
            "readOnly": True,
            "pathType": "Directory",
        }
    ]
    assert found["controllerManager"] == {"extraArgs": [{"name": "feature-gates", "value": "A=true"}]}
    assert found["scheduler"] == {"extraEnvs": [{"name": "GOGC", "value": "50"}]}
    assert found["etcd"]["local"]["extraArgs"] == [{"name": "quota-backend-bytes", "value": "123"}]


@pytest.mark.parametrize("touch", [lambda text: f"{text}mine: 1\n", lambda text: yaml.safe_dump(yaml.safe_load(text))])
def test_a_text_that_another_has_written_since_loses_just_what_is_ours(touch: t.Callable[[str], str]) -> None:
    first = plan(OTHERS, EVERYTHING)
    text = touch(first.after)
    assert again(first, EVERYTHING, text).operations == ()
    assert again(first, EVERYTHING, text).after == text
    back = again(first, {}, text)
    expected = yaml.safe_load(touch(OTHERS))
    assert yaml.safe_load(back.after) == expected
    assert list(yaml.safe_load(back.after)) == list(expected)
    assert back.record == Persisted()


DESIRED_STATES = st.dictionaries(
    st.sampled_from(
        [SettingKey(name, "args", key) for name in (API_SERVER, "etcd") for key in ("v", "service-account-issuer")]
    ),
    st.sampled_from([None, ["4"], ["@a: #b", "y"], ["ä"]]).map(DesiredSetting),
)


TOUCHES: list[t.Callable[[str], str]] = [str, "# mine\n{}".format, lambda text: yaml.safe_dump(yaml.safe_load(text))]


@given(
    states=st.lists(DESIRED_STATES, min_size=2, max_size=3),
    touch=st.sampled_from(TOUCHES),
    text=st.sampled_from([TEXT, OTHERS]),
)
@settings(max_examples=10)
@example(states=[arg("v", "4"), {**arg("v", "4"), **arg("a", "5")}], touch=TOUCHES[1], text=TEXT)
def test_a_second_run_has_nothing_to_do(
    states: list[dict[SettingKey, DesiredSetting]], touch: t.Callable[[str], str], text: str
) -> None:
    former = plan(text, {})
    for desired in states:
        former = again(former, desired, touch(former.after))
        second = again(former, desired)
        assert (second.operations, second.after) == ((), former.after)
    if touch is str:
        assert again(former, {}).after == text


def test_where_another_has_written_since_nothing_moves_that_is_right() -> None:
    first = plan(TEXT, EVERYTHING)
    text = first.after.replace('"123"', '"124"') + "mine: 1\n"
    assert again(first, EVERYTHING, text).after == f"{first.after}mine: 1\n"
    assert again(first, {}, f"{first.after}mine: 1\n").after == f"{TEXT}mine: 1\n"
    both = plan(TEXT, {**arg("a", "1"), **arg("b", "2")})
    entries = [f'  - name: {name}\n    value: "{value}"\n' for name, value in (("a", 1), ("b", 2))]
    turned = both.after.replace("".join(entries), "".join(reversed(entries)))
    assert turned != both.after
    assert again(both, {**arg("a", "1"), **arg("b", "2")}, turned).after == turned


def test_what_was_written_beside_another_is_not_written_again_in_another_order() -> None:
    first = plan(TEXT, arg("a", "1"))
    text = first.after.replace('    value: "1"\n', '    value: "1"\n  - name: theirs\n    value: x\n')
    both = {**arg("a", "1"), **arg("b", "2")}
    second = again(first, both, text)
    assert (again(second, both).operations, again(second, both).after) == ((), second.after)
    assert yaml.safe_load(again(second, {}).after)["apiServer"] == {"extraArgs": [{"name": "theirs", "value": "x"}]}


def test_values_of_others_are_replaced_and_removed_where_they_are_named_and_come_back() -> None:
    desired = {
        **arg("audit-log-maxage", "30"),
        **arg("service-account-issuer"),
        SettingKey(API_SERVER, "admission_plugins", "AlwaysPullImages"): DesiredSetting(None),
        SettingKey(API_SERVER, "feature_gates", "A"): DesiredSetting(False),
        SettingKey(API_SERVER, "volumes", "audit"): DesiredSetting(VOLUME),
        SettingKey(API_SERVER, "env", "GOGC"): DesiredSetting("70"),
    }
    first = plan(OTHERS, desired)
    found = yaml.safe_load(first.after)["apiServer"]
    assert found["extraArgs"] == [
        {"name": "audit_log_maxage", "value": "30"},
        {"name": "feature-gates", "value": "A=false"},
    ]
    assert found["extraVolumes"][0]["pathType"] == "Directory"
    assert found["extraEnvs"][0] == {"name": "GOGC", "value": "70"}
    assert "value: '30' # days" in first.after
    assert first.record.entries[SettingKey(API_SERVER, "args", "service-account-issuer")].configured == [
        "https://a",
        "https://b",
    ]
    assert again(first, {}).after == OTHERS
    unnamed = {place: DesiredSetting(value.value, named=False) for place, value in desired.items()}
    second = plan(OTHERS, unnamed)
    assert (second.after, set(second.skipped)) == (OTHERS, set(unnamed))


def test_a_value_of_others_that_is_right_stays_theirs() -> None:
    for named in (True, False):
        found = plan(OTHERS, arg("audit-log-maxage", "10", named=named))
        assert (found.operations, found.record, found.after, found.skipped) == ((), Persisted(), OTHERS, {})


def test_a_flag_that_stands_there_several_times_gets_its_values_in_their_order() -> None:
    desired = arg("service-account-issuer", "https://new", "https://a", "https://b")
    found = yaml.safe_load(plan(OTHERS.replace("  - name: feature-gates\n    value: A=true\n", ""), desired).after)
    names = [entry["value"] for entry in found["apiServer"]["extraArgs"]]
    assert names == ["10", "NodeRestriction,AlwaysPullImages", "https://new", "https://a", "https://b"]
    moved = OTHERS.replace(
        "apiServer:\n  extraArgs:\n",
        "apiServer:\n  extraArgs:\n  - name: service-account-issuer\n    value: https://0\n",
    )
    values = [
        entry["name"]
        for entry in yaml.safe_load(plan(moved, arg("service-account-issuer", "1", "2", "3", "4")).after)["apiServer"][
            "extraArgs"
        ]
    ]
    assert values[-3:] == ["service-account-issuer"] * 3
    first = plan(TEXT, arg("v", "4"))
    more = first.after.replace('    value: "4"\n', '    value: "4"\n  - name: w\n    value: x\n')
    twice = yaml.safe_load(again(first, arg("v", "4", "5"), more).after)["apiServer"]["extraArgs"]
    assert [entry["name"] for entry in twice] == ["v", "v", "w"]


def test_a_default_of_kubeadm_cannot_be_reported_to_be_unset() -> None:
    found = plan(TEXT, arg("profiling"))
    assert (found.operations, list(found.skipped.values())) == (
        (),
        ["kubeadm sets it by itself, and kubeadm-config cannot express that it is unset"],
    )


def test_a_plugin_that_kubeadm_enables_by_itself_is_disabled_and_enabled_again() -> None:
    place = SettingKey(API_SERVER, "admission_plugins", "NodeRestriction")
    first = plan(TEXT, {place: DesiredSetting("disabled")})
    assert yaml.safe_load(first.after)["apiServer"]["extraArgs"] == [
        {"name": "enable-admission-plugins", "value": ""},
        {"name": "disable-admission-plugins", "value": "NodeRestriction"},
    ]
    later = again(first, {}, f"{first.after}mine: 1\n")
    assert later.after == f"{TEXT}mine: 1\n"


def test_a_value_that_someone_changed_there_is_theirs_from_then_on() -> None:
    first = plan(TEXT, arg("v", "4"))
    text = first.after.replace('"4"', '"5"')
    later = again(first, {}, text)
    assert (later.after, later.record) == (text, Persisted())
    assert "kube-apiserver args v" in later.warnings[0]
    assert later.operations[0].field == "record"
    named = again(first, arg("v", "4"), text)
    assert named.record.entries[SettingKey(API_SERVER, "args", "v")].configured == ["5"]


def test_what_someone_took_out_there_is_written_again() -> None:
    first = plan(TEXT, arg("v", "4"))
    later = again(first, arg("v", "4"), TEXT)
    assert later.after == first.after
    assert again(first, {}, TEXT).after == TEXT


def test_what_the_nodes_had_before_stays_as_it_was_first_noted() -> None:
    first = plan(TEXT, arg("v", "4", original=["2"]))
    later = again(first, arg("v", "4", original=None))
    assert later.record.entries == {SettingKey(API_SERVER, "args", "v"): Entry(["4"], ["2"], None)}


@pytest.mark.parametrize(
    ("desired", "text", "reason"),
    [
        (SettingKey(API_SERVER, "feature_gates", "B"), "feature-gates", "extraArgs has feature-gates 2 times"),
        (PLUGIN, "enable-admission-plugins", "extraArgs has enable-admission-plugins 2 times"),
    ],
)
def test_a_list_that_stands_there_twice_is_left_alone(desired: SettingKey, text: str, reason: str) -> None:
    twice = OTHERS.replace("  extraEnvs:\n", f"  - name: {text}\n    value: C=true\n  extraEnvs:\n")
    found = plan(
        twice, {desired: DesiredSetting(True if desired.field == "feature_gates" else "enabled"), **arg("v", "4")}
    )
    assert found.skipped[desired].startswith(reason)
    assert [change.key for change in found.operations] == ["args v"]


def test_a_variable_that_is_computed_is_left_alone() -> None:
    place = SettingKey(API_SERVER, "env", "FROM")
    twice = OTHERS.replace("  - name: FROM\n", "  - name: GOGC\n    value: '1'\n  - name: FROM\n")
    assert (
        "2 times"
        in plan(twice, {SettingKey(API_SERVER, "env", "GOGC"): DesiredSetting("2")}).skipped[
            SettingKey(API_SERVER, "env", "GOGC")
        ]
    )
    assert "valueFrom" in plan(TEXT, {place: DesiredSetting({"fieldRef": {}})}).skipped[place]
    for value in ("x", None):
        found = plan(OTHERS, {place: DesiredSetting(value)})
        assert (found.after, found.operations) == (OTHERS, ())
        assert "valueFrom" in found.skipped[place]


def test_of_a_variable_that_stands_there_twice_the_last_one_counts() -> None:
    place = SettingKey(API_SERVER, "env", "GOGC")
    twice = OTHERS.replace('    value: "50"\n', '    value: "50"\n  - name: GOGC\n    value: "60"\n')
    assert plan(twice, {place: DesiredSetting("60")}).skipped == {}
    assert "2 times" in plan(twice, {place: DesiredSetting("50")}).skipped[place]


def test_beside_an_external_etcd_there_is_no_local_one() -> None:
    external = TEXT.replace("  local:\n    dataDir: /var/lib/etcd\n", "  external: {endpoints: ['https://a:2379']}\n")
    first = plan(TEXT, {**arg("v", "4", component="etcd"), **arg("v", "4")})
    for found in (
        plan(external, arg("v", "4", component="etcd")),
        again(first, arg("v", "4", component="etcd"), external),
    ):
        assert (found.after, found.record) == (external, Persisted())
        assert "etcd.external" in found.skipped[SettingKey("etcd", "args", "v")]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (TEXT.replace("v1beta4", "v1beta3"), "kubeadm config migrate"),
        ("a: [", "it is not valid YAML"),
        ("kind: List\n", "holds no ClusterConfiguration"),
        (f"{TEXT}---\nkind: List\n", r"line \d+: another document begins, .* Remove it"),
        (TEXT.replace("scheduler: {}", "scheduler: &a {}"), "anchor"),
        (TEXT + "scheduler: {}\n", "occurs twice"),
        (
            TEXT.replace("apiServer: {}", "apiServer: {extraArgs: {v: '4'}}"),
            r"line \d+: apiServer.extraArgs is not a list. Write one entry",
        ),
    ],
)
def test_a_text_that_cannot_be_edited_is_refused(text: str, why: str) -> None:
    with pytest.raises(Refusal, match=why.replace("(", "\\(")):
        plan(text, arg("v", "5"))


def test_an_operation_in_a_line() -> None:
    lines = [kubeadm_config.format_change(change) for change in plan(TEXT, EVERYTHING).operations]
    assert lines == [
        "etcd args quota-backend-bytes: unset -> 123",
        "kube-apiserver admission_plugins EventRateLimit: unset -> enabled",
        "kube-apiserver args audit-log-path: unset -> /var/log/a",
        "kube-apiserver volumes policy: unset -> /etc/audit",
        "kube-controller-manager feature_gates A: unset -> true",
        "kube-scheduler env GOGC: unset -> 50",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"format": 2}',
        '{"format": 1, "entries": [{}], "text": "", "digest": ""}',
        Persisted({SettingKey("kube-vip", "args", "v"): Entry(["1"], None, None)}).dump(),
        Persisted({SettingKey("etcd", "files", "v"): Entry(["1"], None, None)}).dump(),
    ],
)
def test_a_record_that_is_not_ours_is_refused(text: str) -> None:
    with pytest.raises(Refusal, match="nodecraft-kubeadm-persisted"):
        Persisted.parse(text)
    assert Persisted.parse(None) == Persisted.parse("") == Persisted()


def test_a_record_is_read_as_it_was_written() -> None:
    record = plan(OTHERS, EVERYTHING).record
    assert Persisted.parse(record.dump()) == record
    assert set(record.of("etcd")) == {("args", "quota-backend-bytes")}
