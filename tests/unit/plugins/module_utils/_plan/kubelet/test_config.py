# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kubelet's settings: merging, precedence, and the line that sets each."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.file_values import TextFile
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.documents.command_line import Argument, Source
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import config as kubelet_config
from hypothesis import given
from hypothesis import strategies as st


def settings(*arguments: str, files: t.Sequence[str] = ()) -> kubelet_config.Settings:
    given = tuple(Argument(text, Source("unit", number), None) for number, text in enumerate(arguments, start=1))
    documents = [
        kubelet_config.parse_document(TextFile.of(f"/{number}.conf", text)) for number, text in enumerate(files)
    ]
    return kubelet_config.Settings(given, tuple(documents))


@pytest.mark.parametrize(
    ("target", "patch", "expected"),
    [  # the examples of RFC 7386
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patch(target: t.Any, patch: t.Any, expected: t.Any) -> None:
    assert kubelet_config.merge_patch(target, patch) == expected


# Short keys, so that two mappings often share some.
_KEYS = st.text(max_size=2)
_VALUES = st.recursive(
    st.booleans() | st.integers() | _KEYS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_KEYS, inner, min_size=1, max_size=3),
    max_leaves=8,
)
_MAPPINGS = st.dictionaries(_KEYS, _VALUES, max_size=4)


@given(_MAPPINGS)
def test_leaves_and_keys_give_the_mapping_back(data: dict[str, t.Any]) -> None:
    built: dict[str, t.Any] = {}
    for path, value in kubelet_config.flatten(data).items():
        assert kubelet_config.path_of(kubelet_config.key_of(path)) == path
        assert kubelet_config.value_at(data, path) == value
        built = kubelet_config.with_value(built, path, value)
    assert built == data


@given(_MAPPINGS, _MAPPINGS)
def test_a_patch_is_in_effect_when_it_was_merged(target: dict[str, t.Any], patch: dict[str, t.Any]) -> None:
    merged = kubelet_config.merge_patch(target, patch)
    for path, value in kubelet_config.flatten(patch).items():
        assert kubelet_config.value_at(merged, path) == value


def test_later_sources_win() -> None:
    found = settings(
        "kubelet",
        "--max-pods=3",
        "--feature-gates=A=false",
        "--feature_gates=C=1",
        files=["maxPods: 1\nfeatureGates: {A: true, B: true}", "maxPods: 2\nfeatureGates: {B: null, D: true}"],
    )
    assert found.field(("maxPods",)) == "3"
    assert found.field(("maxPods",), like=3) == 3
    assert found.gates() == {"A": False, "C": True, "D": True}
    assert [str(source) for source in found.sources("config", "maxPods")] == ["/0.conf:1", "/1.conf:1", "unit:2"]
    assert [str(source) for source in found.sources("feature_gates", "A")] == ["/0.conf:2", "unit:3"]


def test_a_merged_field_stands_where_the_merge_does() -> None:
    found = settings("kubelet", files=["x: &a {maxPods: 1}\nlogging: {<<: {verbosity: 2}}\n<<: *a\n"])
    places = [found.sources("config", key) for key in ("maxPods", "logging/verbosity", "podsPerCore")]
    assert [[str(source) for source in each] for each in places] == [["/0.conf:3"], ["/0.conf:2"], []]


def test_a_second_document_is_refused_with_its_line() -> None:
    with pytest.raises(Refusal, match=r"/c.yaml line 2: another document begins, of which a kubelet reads nothing"):
        kubelet_config.parse_document(TextFile.of("/c.yaml", "maxPods: 1\n---\nmaxPods: 2\n"))


@pytest.mark.parametrize(
    ("flag", "path"),
    [
        ("cluster-dns", "clusterDNS"),
        ("anonymous-auth", "authentication/anonymous/enabled"),
        ("contention-profiling", "enableContentionProfiling"),
        ("kube-api-content-type", "contentType"),
        ("log-flush-frequency", "logging/flushFrequency"),
        ("log-json-split-stream", "logging/options/json/splitStream"),
        ("log-text-info-buffer-size", "logging/options/text/infoBufferSize"),
        ("minimum-image-ttl-duration", "imageMinimumGCAge"),
        ("pod-max-pids", "podPidsLimit"),
        ("eviction-hard", "evictionHard/memory.available"),
        ("tls-cert-file", "tlsCertFile"),
        ("image-gc-high-threshold", "imageGCHighThresholdPercent"),
        ("v", "logging/verbosity"),
    ],
)
def test_flags_and_fields(flag: str, path: str) -> None:
    assert kubelet_config.sets_field(flag, kubelet_config.path_of(path))
    assert not kubelet_config.sets_field(flag, ("other",))


@pytest.mark.parametrize(
    ("value", "text", "same"),
    [(True, "T", True), (False, "0", True), (5, "5", True), (["a", "b"], "a,b", True), ({"a": 1}, "a=1", False)],
)
def test_values_in_a_flags_words(value: t.Any, text: str, same: bool) -> None:
    assert (text in kubelet_config.flag_texts(value)) is same


def test_taints_as_a_flag() -> None:
    taints = kubelet_config.parse_taints("a=b:NoSchedule, c:NoExecute,")
    assert kubelet_config.render_taints(taints) == "a=b:NoSchedule,c=:NoExecute"
    assert settings("k", "--register-with-taints=a=b:NoSchedule").taints() == {"a:NoSchedule": "b"}


def test_a_null_above_a_field_is_its_source() -> None:
    document = kubelet_config.parse_document(TextFile.of("/f", "a: 1\nb:\n  c: null\nd: {}\n"))
    assert str(document.source(("b", "c", "x"))) == "/f:3"
    assert document.source(("d", "x")) is None
    assert document.source(("e",)) is None


def test_flag_of_a_list_or_mapping_adds_to_those_before() -> None:
    given = settings(
        "--kube-reserved=cpu=100m,memory=1Gi",
        "--kube-reserved=memory=2Gi",
        "--eviction-hard=memory.available<100Mi",
        "--eviction-hard=nodefs.available<5%",
        "--cluster-dns=10.96.0.10",
        "--cluster-dns",
        "10.96.0.11",
        "--max-pods=30",
        "--max-pods=40",
        files=["kubeReserved: {pid: 100}\n"],
    )
    assert given.pairs("kubeReserved") == {"cpu": "100m", "memory": "2Gi"}
    assert given.pairs("evictionHard") == {"memory.available": "100Mi", "nodefs.available": "5%"}
    assert given.field(("clusterDNS",), ["10.96.0.10", "10.96.0.11"]) == ["10.96.0.10", "10.96.0.11"]
    assert given.field(("maxPods",)) == "40"
