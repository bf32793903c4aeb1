# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""JSON is read as JSON, with its tabs; a tab in YAML is named with its line; a line of dashes at the end is no second document."""

from __future__ import annotations

import json

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.file_values import TextFile
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.documents import configuration
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.documents.yaml_edit import Document, Operation
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.cluster_configuration import (
    ClusterConfiguration,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import config
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods

DATA = {"kind": "K", "a": {"b": [1, "x\ty", None], "c": 1e3, "d": "\U0001f600"}}
TABBED = json.dumps(DATA, indent="\t")
TAB = "there is a tab, which not every reader of YAML takes for a blank; replace the tab by spaces"
TABS = ["a: b\nc: d\t\n", "a: b\nc:\td\n", "a: b\nc: d\t# e\n", "a:\n-\tc\n", "a:\n\tb: c\n"]


@pytest.mark.parametrize("text", [TABBED, f"\ufeff{TABBED}\n", f"\t\n{TABBED}", json.dumps(DATA)])
def test_json_is_read_as_json(text: str) -> None:
    assert configuration.load(text) == DATA
    assert configuration.read(text.encode("utf-8"), "K", dict) == DATA
    assert config.parse_document(TextFile.of("/c", text)).data == DATA


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((text, text in "yY") for text in "yYnN"),
        ("!!bool n", False),
        ("0o17", 15),
        ("-0o7", -7),
        ("017", 15),
        ("08", 8),
        ("1e2", 100),
        ("1_0.5E-1", 1.05),
        ("-.5", -0.5),
        ("4e+1 # c", 40),
    ],
)
def test_what_is_a_value_for_kubernetes_alone_is_one(text: str, value: object) -> None:
    for read in (
        configuration.load(f"a: {text}\n"),
        Document.parse(f"b: {text}\na: {text}\n", "f").data,
        configuration.load(f"{{a: {text.partition(' #')[0]}}}"),
    ):
        assert read["a"] == value
        assert isinstance(read["a"], bool) == isinstance(value, bool)


@pytest.mark.parametrize("text", ["yEs", "ny", "0o8", "1e", "12e4567", ".", "1.2.3", "0x", "e5"])
def test_what_resembles_a_value_stays_a_text(text: str) -> None:
    assert configuration.load(f"a: {text}\nb: 'y'\nc: \"1e2\"\nd: !!str n\n") == {
        "a": text,
        "b": "y",
        "c": "1e2",
        "d": "n",
    }


@pytest.mark.parametrize("text", ["12:30", "1:2:3", "190:20:30.15", "2024-01-01", "2024-01-01T10:00:00Z", "="])
def test_what_only_pyyaml_takes_for_a_number_or_a_date_is_text(text: str) -> None:
    assert configuration.load(f"a: {text}\nb: [-1, 0x1F, 1.5, true, null]\n") == {
        "a": text,
        "b": [-1, 31, 1.5, True, None],
    }


def test_line_of_a_field_of_json_is_found() -> None:
    source = config.parse_document(TextFile.of("/c", TABBED)).source(("a", "c"))
    assert source is not None
    assert TABBED.splitlines()[source.line - 1].strip() == '"c": 1000.0,'


def test_yaml_in_braces_is_read_as_yaml() -> None:
    assert configuration.load("{a: b, c: [d]}") == {"a": "b", "c": ["d"]}


@pytest.mark.parametrize("text", TABS)
def test_tab_is_named_with_its_line(text: str) -> None:
    with pytest.raises(Refusal, match=rf"^{TAB} \(line 2\)$"):
        configuration.read(text.encode(), "K", dict)
    with pytest.raises(Refusal, match=f"^/c line 2: {TAB}.$"):
        config.parse_document(TextFile.of("/c", text))
    with pytest.raises(Refusal, match=f"^/c line 2: {TAB}.$"):
        Document.parse(text, "/c")
    with pytest.raises(Refusal, match=f"ClusterConfiguration line 2: {TAB}. Repair it"):
        ClusterConfiguration.parse(text)


@pytest.mark.parametrize(
    "end", ["---\n", "---", "--- # end\n", "...\n", "...\n---\n", "---\n---\n", "---\n# nothing\n"]
)
def test_document_may_end_with_dashes(end: str) -> None:
    assert configuration.load(f"a: b\n{end}") == {"a": "b"}
    before = static_pods.state(f"{static_pods.SCHEDULER}{end}")
    done = static_pods.planned(
        before, name="kube-scheduler", args={"v": ["3"]}, env={"A": "b"}, volumes=[static_pods.volume("x", "/x")]
    )
    assert done.after.text.endswith(end)
    back = static_pods.planned(static_pods.following(done, before), name="kube-scheduler", purge=True)
    assert back.after.text == before.manifest.text


@pytest.mark.parametrize("more", ["---\na: b\n", "---\na: [", "---\n"])
def test_components_read_the_first_document_of_their_files(more: str) -> None:
    assert configuration.read(f"a: b\n{more}".encode(), "K", dict) == {"a": "b"}


@pytest.mark.parametrize("more", ["---\na: b\n", "---\n---\na\n", "---\n''\n---\n{}\n"])
def test_second_document_is_refused(more: str) -> None:
    with pytest.raises(Refusal, match=r"line \d+: another document begins, .* Remove it"):
        static_pods.manifest(f"{static_pods.SCHEDULER}{more}", "kube-scheduler")


@pytest.mark.parametrize("indent", [None, 2, "\t"])
def test_manifest_in_json_stays_json(indent: str | int | None) -> None:
    pod = static_pods.manifest(static_pods.SCHEDULER, "kube-scheduler").pod
    container = {**pod["spec"]["containers"][0], "env": None, "resources": {}, "tty": False}
    text = json.dumps({**pod, "spec": {**pod["spec"], "containers": [container]}}, indent=indent)
    before = static_pods.state(text)
    done = static_pods.planned(
        before,
        name="kube-scheduler",
        args={"v": ["3"], "leader-elect": ["false"]},
        env={"A": 'b "c"'},
        volumes=[static_pods.volume("x", "/x")],
        resources={"requests": {"cpu": "333m"}},
        probes={"livenessProbe": {"periodSeconds": 7}},
    )
    changed = json.loads(done.after.text)["spec"]["containers"][0]
    assert changed["env"] == [{"name": "A", "value": 'b "c"'}]
    assert changed["resources"] == {"requests": {"cpu": "333m"}}
    back = static_pods.planned(static_pods.following(done, before), name="kube-scheduler", purge=True)
    assert back.after.text == text


def test_json_is_edited_without_quotes_that_go() -> None:
    document = Document.parse('{\n\t"a": {"b": "c"}\n}', "/c").apply(Operation("replace", ("a", "b"), "d e"))
    assert document.text == '{\n\t"a": {"b": "d e"}\n}'
