# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A manifest as values: each field read, set, changed and removed, with every other byte kept."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.ownership import Change
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.manifest import Manifest, Mount
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples

MOUNT = {"host_path": "/etc/x", "path_type": "File", "mount_path": "/x", "read_only": True}


def changed(text: str, field: str, key: str, after: t.Any) -> str:
    manifest = samples.manifest(text)
    before = manifest.values()[field].get(key)
    result = manifest.change(Change(field, key, before, after))
    assert result.values()[field].get(key) == after
    others = {name: value for name, value in result.values()[field].items() if name != key}
    assert others == {name: value for name, value in manifest.values()[field].items() if name != key}
    return result.text


def lines_changed(before: str, after: str) -> tuple[list[str], list[str]]:
    """(lines gone, lines new), without their indentation."""
    old, new = before.splitlines(), after.splitlines()
    return [line.strip() for line in old if line not in new], [line.strip() for line in new if line not in old]


# ---- reading ---------------------------------------------------------------------------------------------------------


def test_values_of_kubeadms_own_manifest() -> None:
    values = samples.manifest().values()
    assert values["feature_gates"] == {}
    assert values["admission_plugins"] == {"NodeRestriction": "enabled"}
    assert values["args"] == {
        "advertise-address": ["10.0.0.11"],
        "allow-privileged": ["true"],
        "authorization-mode": ["Node,RBAC"],
        "client-ca-file": ["/etc/kubernetes/pki/ca.crt"],
        "secure-port": ["6443"],
    }
    assert values["env"] == {}
    assert values["volumes"]["ca-certs"] == {
        "host_path": "/etc/ssl/certs",
        "path_type": "DirectoryOrCreate",
        "mount_path": "/etc/ssl/certs",
        "read_only": True,
    }
    assert values["annotations"] == {
        "kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint": "10.0.0.11:6443"
    }


def test_flags_of_command_and_args_are_one_command_line() -> None:
    text = samples.with_command("--x=1", "--v").replace("    image:", "    args:\n    - --y=2\n    - --v=3\n    image:")
    manifest = samples.manifest(text)
    assert manifest.arguments == ["kube-apiserver", "--x=1", "--v", "--y=2", "--v=3"]
    assert manifest.values()["args"] == {"x": ["1"], "v": ["true", "3"], "y": ["2"]}


@pytest.mark.parametrize(
    ("probe", "expected"),
    [
        ("tcpSocket: {port: 1}", {"kind": "tcp", "host": "127.0.0.1", "port": 1, "network": "pod"}),
        ("tcpSocket: {port: probe-port, host: 10.0.0.1}", {"kind": "tcp", "host": "10.0.0.1", "port": 10259}),
        ("exec: {command: [x]}", {"kind": "exec"}),
        ("grpc: {port: 1}", {"kind": "grpc", "host": "127.0.0.1", "port": 1}),
        (
            "httpGet: {port: 1, httpHeaders: [{name: Authorization, value: Bearer x}]}",
            {
                "kind": "http",
                "scheme": "http",
                "host": "127.0.0.1",
                "port": 1,
                "path": "/",
                "headers": {"Authorization": "Bearer x"},
                "network": "pod",
            },
        ),
        (
            "httpGet: {port: 1}",
            {
                "kind": "http",
                "scheme": "http",
                "host": "127.0.0.1",
                "port": 1,
                "path": "/",
                "headers": {},
                "network": "pod",
            },
        ),
    ],
)
def test_kinds_of_probes(probe: str, expected: dict[str, t.Any]) -> None:
    start, end = (
        samples.SCHEDULER.index("      httpGet:"),
        samples.SCHEDULER.index("    name: kube-scheduler\n    ports"),
    )
    text = samples.SCHEDULER[:start] + f"      {probe}\n" + samples.SCHEDULER[end:]
    assert samples.manifest(text, "kube-scheduler").probes() == [expected]


def test_a_probe_of_a_port_that_is_not_declared_is_refused() -> None:
    text = samples.SCHEDULER.replace("port: probe-port", "port: other-port")
    with pytest.raises(Refusal, match="other-port"):
        samples.manifest(text, "kube-scheduler").probes()


def test_mounts_are_the_host_paths_that_the_container_sees() -> None:
    text = samples.API_SERVER.replace("  volumes:\n", "  volumes:\n  - emptyDir: {}\n    name: scratch\n").replace(
        "    volumeMounts:\n", "    volumeMounts:\n    - mountPath: /scratch\n      name: scratch\n"
    )
    assert samples.manifest(text).mounts() == [
        Mount("/etc/ssl/certs", "/etc/ssl/certs", True, "DirectoryOrCreate"),
        Mount("/etc/kubernetes/pki", "/etc/kubernetes/pki", True, "DirectoryOrCreate"),
    ]


@pytest.mark.parametrize(
    ("below", "path"),
    [
        ("subPath: pki/etcd", "/etc/kubernetes/pki/etcd"),
        ("subPath: ca.crt", "/etc/kubernetes/ca.crt"),
        ('subPath: ""', "/etc/kubernetes"),
        ("subPathExpr: of/$(HOST)", "/etc/kubernetes/of/w1"),
        ("subPathExpr: of/$(WHERE)", None),
    ],
)
def test_a_mount_of_a_part_of_a_volume_shows_that_part(below: str, path: str | None) -> None:
    text = samples.API_SERVER.replace(
        "    volumeMounts:\n",
        "    env:\n    - {name: HOST, value: w1}\n    - {name: WHERE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}\n"
        f"    volumeMounts:\n    - mountPath: /part\n      name: all\n      {below}\n",
    ).replace("  volumes:\n", "  volumes:\n  - hostPath: {path: /etc/kubernetes, type: Directory}\n    name: all\n")
    kind = "Directory" if path == "/etc/kubernetes" else ""
    expected = [] if path is None else [Mount(path, "/part", False, kind)]
    assert [mount for mount in samples.manifest(text).mounts() if mount.mount_path == "/part"] == expected


@pytest.mark.parametrize(
    ("argument", "expanded"),
    [
        ("--x=$(HOST)", "--x=10.0.0.11"),
        ("--x=$(HOST):$(HOST)", "--x=10.0.0.11:10.0.0.11"),
        ("--x=$$(HOST)", "--x=$(HOST)"),
        ("--x=$$$(HOST)", "--x=$10.0.0.11"),
        ("--x=$(UNKNOWN)", "--x=$(UNKNOWN)"),
        ("--x=$(EMPTY)", "--x="),
        ("--x=$HOST", "--x=$HOST"),
        ("--x=$(POD_IP)", None),
        ("--x=$$(POD_IP)", "--x=$(POD_IP)"),
    ],
)
def test_arguments_are_expanded_as_the_kubelet_does(argument: str, expanded: str | None) -> None:
    environment = """\
    env:
    - name: HOST
      value: 10.0.0.11
    - name: EMPTY
    - name: POD_IP
      valueFrom:
        fieldRef:
          fieldPath: status.podIP
    image:"""
    manifest = samples.manifest(samples.with_command(argument).replace("    image:", environment))
    assert manifest.expected_arguments() == ["kube-apiserver", expanded]
    assert manifest.environment == {"HOST": "10.0.0.11", "EMPTY": "", "POD_IP": None}


def test_values_are_expanded_by_the_variables_before_them_as_the_kubelet_does() -> None:
    environment = """\
    env:
    - name: EARLY
      value: $(BASE)
    - name: BASE
      value: three
    - name: LEVEL
      value: $(BASE)-$$(BASE)-$(NOWHERE)
    - name: ADDRESS
      valueFrom:
        fieldRef:
          fieldPath: status.podIP
    - name: URL
      value: http://$(ADDRESS)
    image:"""
    manifest = samples.manifest(samples.with_command("--v=$(LEVEL)", "--u=$(URL)").replace("    image:", environment))
    level = "three-$(BASE)-$(NOWHERE)"
    assert manifest.environment == {"EARLY": "$(BASE)", "BASE": "three", "LEVEL": level, "ADDRESS": None, "URL": None}
    assert manifest.expected_arguments()[1:] == [f"--v={level}", None]
    assert manifest.hidden == {level: "$(LEVEL)"}


@pytest.mark.parametrize(
    "name", ["KUBERNETES_SERVICE_HOST", "KUBE_DNS_SERVICE_PORT_METRICS", "KUBERNETES_PORT_443_TCP"]
)
def test_addresses_of_services_are_known_to_the_kubelet_only(name: str) -> None:
    assert samples.manifest(samples.with_command(f"--x=$({name})")).expected_arguments()[-1] is None


NO_MANIFEST = {
    "a list": ("- a\n", "is not a v1 Pod"),
    "empty": ("", "is not a v1 Pod"),
    "another kind": ("apiVersion: v1\nkind: Service\n", "is not a v1 Pod"),
    "another version": ("apiVersion: apps/v1\nkind: Pod\n", "is not a v1 Pod"),
    "fixed UID": (samples.API_SERVER.replace("  labels:", "  uid: abc\n  labels:"), "line 7 sets metadata.uid"),
    "no spec": ("apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n", "found: none"),
    "no container": ("apiVersion: v1\nkind: Pod\nspec: {containers: []}\n", "found: none"),
    "other containers": (
        "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: a\n  - name: b\n",
        "no container is named kube-apiserver; found: a, b",
    ),
    "path of a mount that is a template": (
        samples.API_SERVER.replace("mountPath: /etc/kubernetes/pki", "mountPath: {pki_dir}"),
        "the path is {'pki_dir': None}, which is not a string: was a template not rendered?",
    ),
    "path of a volume that is a number": (
        samples.API_SERVER.replace("path: /etc/kubernetes/pki", "path: 5"),
        "the path is 5, which is not a string",
    ),
    "argument that is a number": (samples.with_command("--x", "5"), "command holds 5"),
    "argument that is a mapping": (samples.with_command("--x: 5"), "command holds {'--x': 5}"),
    "argument that is nothing": (samples.with_command(""), "command holds None"),
}


@pytest.mark.parametrize(("text", "complaint"), NO_MANIFEST.values(), ids=NO_MANIFEST)
def test_what_is_no_manifest_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(Refusal) as refusal:
        samples.manifest(text)
    assert complaint in str(refusal.value)
    assert samples.SOURCE in str(refusal.value)


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\nkind: Pod\nmetadata: x\n",
        "apiVersion: v1\nkind: Pod\nspec: x\n",
        "apiVersion: v1\nkind: Pod\nspec: {containers: x}\n",
        "apiVersion: v1\nkind: Pod\nspec: {containers: [x]}\n",
        "apiVersion: v1\nkind: Pod\nspec: {containers: [{name: a, command: x}]}\n",
    ],
)
def test_a_pod_of_another_shape_is_refused(text: str) -> None:
    with pytest.raises(Refusal):
        samples.manifest(text)


def test_the_only_container_is_taken_whatever_its_name() -> None:
    manifest = samples.manifest(samples.API_SERVER.replace("    name: kube-apiserver\n", "    name: api\n"))
    assert manifest.container["name"] == "api"


def test_the_container_of_the_components_name_is_taken() -> None:
    text = samples.API_SERVER.replace("  containers:\n", "  containers:\n  - name: proxy\n    image: x\n")
    manifest = samples.manifest(text)
    assert manifest.container["name"] == "kube-apiserver"
    result = manifest.change(Change("args", "v", None, ["4"]))
    assert result.arguments[-1] == "--v=4"


# ---- flags -----------------------------------------------------------------------------------------------------------

FLAGS = {
    "new": ([], "x", ["1"], ["--x=1"]),
    "new, several": ([], "x", ["1", "2"], ["--x=1", "--x=2"]),
    "changed": (["--x=1", "--y=2"], "x", ["3"], ["--x=3", "--y=2"]),
    "changed, split form": (["--x", "1", "--y=2"], "x", ["3"], ["--x", '"3"', "--y=2"]),
    "changed, underscores": (["--x_y=1"], "x-y", ["2"], ["--x_y=2"]),
    "changed, one dash": (["-v=1"], "v", ["2"], ["-v=2"]),
    "changed, bare": (["--x", "--y=2"], "x", ["false"], ["--x=false", "--y=2"]),
    "same, bare": (["--x", "--y=2"], "x", ["true"], ["--x", "--y=2"]),
    "changed, quoted": (["'--x=1'", '"--y=2"'], "y", ["3"], ["'--x=1'", '"--y=3"']),
    "folded": (["--x=1", "--y=2", "--x=3"], "x", ["4"], ["--x=4", "--y=2"]),
    "folded, split form": (["--x", "1", "--y=2", "--x", "3"], "x", ["4"], ["--x", '"4"', "--y=2"]),
    "one more": (["--x=1", "--y=2"], "x", ["1", "3"], ["--x=1", "--x=3", "--y=2"]),
    "one more behind the split form": (["--x", "a", "--y=2"], "x", ["a", "b"], ["--x", "a", "--x=b", "--y=2"]),
    "removed": (["--x=1", "--y=2"], "x", None, ["--y=2"]),
    "removed, split form": (["--x", "1", "--y=2"], "x", None, ["--y=2"]),
    "removed everywhere": (["--x=1", "--y=2", "--x", "a", "--x"], "x", None, ["--y=2"]),
    "value with an equals sign": (["--x=a=b"], "x", ["a=c"], ["--x=a=c"]),
    "value that needs quoting": (["--x=a"], "x", ["a: b # c"], ['"--x=a: b # c"']),
    "last": (["--y=2", "--x=1"], "x", None, ["--y=2"]),
}


@pytest.mark.parametrize(("before", "flag", "after", "expected"), FLAGS.values(), ids=FLAGS)
def test_flags(before: list[str], flag: str, after: list[str] | None, expected: list[str]) -> None:
    quoted = [f"'{item}'" if item.isdigit() else item for item in before]
    result = changed(samples.with_command(*quoted), "args", flag, after)
    assert result == samples.with_command(
        *(item.replace('"', "'") if item[1:-1].isdigit() else item for item in expected)
    )


def test_flags_in_args_are_changed_where_they_stand() -> None:
    text = samples.with_command("--x=1").replace("    image:", "    args: [--y=2, --z=3]\n    image:")
    assert "args: [--y=4, --z=3]" in changed(text, "args", "y", ["4"])
    assert "args: [--y=2, --z=3, --new=1]" in changed(text, "args", "new", ["1"])


def test_a_flag_in_command_and_args_is_one_flag() -> None:
    text = samples.with_command("--x=1").replace("    image:", "    args:\n    - --y=2\n    - --x=3\n    image:")
    result = changed(text, "args", "x", ["4"])
    assert samples.manifest(result).arguments == ["kube-apiserver", "--x=4", "--y=2"]


def test_a_flag_at_the_end_of_command_takes_its_value_from_args() -> None:
    text = samples.with_command("--x").replace("    image:", "    args:\n    - one\n    - --y=2\n    image:")
    assert samples.manifest(text).values()["args"] == {"x": ["one"], "y": ["2"]}
    assert changed(text, "args", "x", ["two"]) == text.replace("- one", "- two")
    assert changed(text, "args", "x", None) == text.replace("    - one\n", "").replace("    - --x\n", "")


def test_a_value_that_resembles_a_flag_is_tied_to_its_own() -> None:
    text = samples.with_command("--x", "one", "--y=2")
    assert changed(text, "args", "x", ["-y"]) == samples.with_command("--x=-y", "--y=2")
    assert changed(text, "args", "x", ["-"]) == samples.with_command("--x", '"-"', "--y=2")


def test_a_removal_that_would_give_a_switch_a_value_is_refused() -> None:
    manifest = samples.manifest(samples.with_command("--x", "--y=2", "word"))
    with pytest.raises(Refusal, match=r"line 14: args y cannot be changed alone"):
        manifest.change(Change("args", "y", ["2"], None))


def test_flags_of_a_shells_script_are_refused() -> None:
    manifest = samples.manifest(
        samples.SCHEDULER.replace("- kube-scheduler\n", "- /bin/sh\n    - -c\n"), "kube-scheduler"
    )
    with pytest.raises(Refusal, match=r"line 9: the component is started by a shell \(/bin/sh\)"):
        manifest.change(Change("args", "v", None, ["4"]))


def test_the_last_flag_of_args_goes_with_its_list() -> None:
    text = samples.with_command("--x=1").replace("    image:", "    args:\n    - --y=2\n    image:")
    assert changed(text, "args", "y", None) == samples.with_command("--x=1")


# ---- feature gates ---------------------------------------------------------------------------------------------------

GATES = {
    "first": ([], "A", True, ["--feature-gates=A=true"]),
    "another": (["--feature-gates=B=true"], "A", False, ["--feature-gates=B=true,A=false"]),
    "changed": (["--feature-gates=A=false,B=true"], "A", True, ["--feature-gates=A=true,B=true"]),
    "removed": (["--feature-gates=A=false,B=true"], "A", None, ["--feature-gates=B=true"]),
    "last removed": (["--x=1", "--feature-gates=A=false"], "A", None, ["--x=1"]),
    "folded": (["--feature-gates=A=true", "--x=1", "--feature-gates=B=true"], "C", True, None),
    "folded, last wins": (["--feature-gates=A=true", "--feature-gates=A=false,B=true"], "B", False, None),
    "underscores": (["--feature_gates=B=true"], "A", True, ["--feature_gates=B=true,A=true"]),
    "split form": (["--feature-gates", "B=true"], "A", True, ["--feature-gates", "B=true,A=true"]),
    "prefixed": (["--feature-gates=kube:B=true"], "A", True, ["--feature-gates=kube:B=true,kube:A=true"]),
    "prefixed, changed": (["--feature-gates=kube:A=true"], "A", False, ["--feature-gates=kube:A=false"]),
    "prefixed, removed": (["--feature-gates=kube:A=true,kube:B=1"], "A", None, ["--feature-gates=kube:B=1"]),
    "quoted": (["'--feature-gates=B=true'"], "A", True, ["'--feature-gates=B=true,A=true'"]),
}
FOLDED = {
    "folded": ["--feature-gates=A=true,B=true,C=true", "--x=1"],
    "folded, last wins": ["--feature-gates=A=false,B=false"],
}


@pytest.mark.parametrize("name", GATES)
def test_feature_gates_are_merged(name: str) -> None:
    before, gate, after, expected = GATES[name]
    result = changed(samples.with_command(*before), "feature_gates", gate, after)
    assert result == samples.with_command(*(expected or FOLDED[name]))


def test_a_gate_without_a_boolean_is_shown_as_it_is() -> None:
    values = samples.manifest(samples.with_command("--feature-gates=A=maybe,B")).values()
    assert values["feature_gates"] == {"A": "maybe", "B": ""}


# ---- admission plugins -----------------------------------------------------------------------------------------------

ENABLE, DISABLE = "--enable-admission-plugins=", "--disable-admission-plugins="
PLUGINS = {
    "enabled": ([ENABLE + "N"], "P", "enabled", [ENABLE + "N,P"]),
    "enabled, first": ([], "P", "enabled", [ENABLE + "P"]),
    "disabled": ([ENABLE + "N"], "P", "disabled", [ENABLE + "N", DISABLE + "P"]),
    "enabled to disabled": ([ENABLE + "N,P", DISABLE + "D"], "P", "disabled", [ENABLE + "N", DISABLE + "D,P"]),
    "disabled to enabled": ([ENABLE + "N", DISABLE + "P"], "P", "enabled", [ENABLE + "N,P"]),
    "default": ([ENABLE + "N,P"], "P", None, [ENABLE + "N"]),
    "default, last": ([ENABLE + "P", "--x=1"], "P", None, ["--x=1"]),
    "default from disabled": ([DISABLE + "D,P"], "P", None, [DISABLE + "D"]),
    "folded": ([ENABLE + "N", ENABLE + "M"], "P", "enabled", [ENABLE + "N,M,P"]),
}


@pytest.mark.parametrize(("before", "plugin", "after", "expected"), PLUGINS.values(), ids=PLUGINS)
def test_admission_plugins_are_merged(before: list[str], plugin: str, after: str | None, expected: list[str]) -> None:
    assert changed(samples.with_command(*before), "admission_plugins", plugin, after) == samples.with_command(*expected)


# ---- environment -----------------------------------------------------------------------------------------------------

ENVIRONMENT = samples.API_SERVER.replace(
    "    image:",
    "    env:\n    - name: A\n      value: one # why\n    - name: B\n      value: 'two'\n"
    "    - name: POD_IP\n      valueFrom: {fieldRef: {fieldPath: status.podIP}}\n    - name: EMPTY\n    image:",
)


def test_values_that_only_the_kubelet_knows_are_none() -> None:
    environment = samples.manifest(ENVIRONMENT).environment
    assert {name: value for name, value in environment.items() if value is not None} == {
        "A": "one",
        "B": "two",
        "EMPTY": "",
    }
    assert None in environment.values()


@pytest.mark.parametrize(
    ("key", "after", "gone", "new"),
    [
        ("A", "1", ["value: one # why"], ['value: "1" # why']),
        ("B", "it's", ["value: 'two'"], ["value: 'it''s'"]),
        ("B", None, ["- name: B", "value: 'two'"], []),
        ("NEW", "x", [], ["- name: NEW", "value: x"]),
        ("EMPTY", "x", [], ["value: x"]),
    ],
)
def test_environment(key: str, after: str | None, gone: list[str], new: list[str]) -> None:
    assert lines_changed(ENVIRONMENT, changed(ENVIRONMENT, "env", key, after)) == (gone, new)


def test_the_first_variable_brings_the_list_and_the_last_one_takes_it() -> None:
    first = changed(samples.API_SERVER, "env", "A", "1")
    assert lines_changed(samples.API_SERVER, first) == ([], ["env:", "- name: A", 'value: "1"'])
    assert changed(first, "env", "A", None) == samples.API_SERVER


@pytest.mark.parametrize("after", ["x", None])
def test_a_variable_that_is_set_twice_is_left_to_its_author(after: str | None) -> None:
    text = ENVIRONMENT.replace("    - name: B\n", "    - name: B\n      value: one\n    - name: B\n")
    line = text[: text.rindex("- name: B\n")].count("\n") + 1
    with pytest.raises(Refusal, match=rf"line {line}: the environment variable B is set twice") as refusal:
        samples.manifest(text).change(Change("env", "B", "two", after))
    assert "one" not in str(refusal.value).replace("remove one", "")


@pytest.mark.parametrize("after", ["x", None])
def test_a_computed_variable_is_left_to_its_author(after: str | None) -> None:
    with pytest.raises(Refusal, match=r"POD_IP is computed \(valueFrom\)"):
        samples.manifest(ENVIRONMENT).change(Change("env", "POD_IP", None, after))


# ---- volumes ---------------------------------------------------------------------------------------------------------


def test_a_new_volume_is_mount_and_volume_in_the_manifests_style() -> None:
    result = changed(samples.API_SERVER, "volumes", "x", MOUNT)
    assert "    - mountPath: /x\n      name: x\n      readOnly: true\n  hostNetwork" in result
    assert "  - hostPath:\n      path: /etc/x\n      type: File\n    name: x\nstatus" in result
    assert changed(result, "volumes", "x", None) == samples.API_SERVER


def test_a_volume_without_type_and_for_writing_reports_neither() -> None:
    result = changed(samples.API_SERVER, "volumes", "x", {**MOUNT, "path_type": "", "read_only": False})
    gone, new = lines_changed(samples.API_SERVER, result)
    assert gone == []
    assert new == ["- mountPath: /x", "name: x", "path: /etc/x", "name: x"]


@pytest.mark.parametrize(
    ("key", "value", "gone", "new"),
    [
        ("host_path", "/new", ["path: /etc/ssl/certs"], ["path: /new"]),
        ("mount_path", "/new", ["- mountPath: /etc/ssl/certs"], ["- mountPath: /new"]),
        ("path_type", "Directory", [], ["type: Directory"]),
    ],
)
def test_one_property_of_a_volume(key: str, value: str, gone: list[str], new: list[str]) -> None:
    before = samples.manifest().values()["volumes"]["ca-certs"]
    result = changed(samples.API_SERVER, "volumes", "ca-certs", {**before, key: value})
    assert lines_changed(samples.API_SERVER, result) == (gone, new)


def test_read_only_and_type_can_be_taken_away_and_set() -> None:
    before = samples.manifest().values()["volumes"]["ca-certs"]
    without = changed(samples.API_SERVER, "volumes", "ca-certs", {**before, "path_type": "", "read_only": False})
    assert without.count("readOnly: true") == 1
    assert without.count("type: DirectoryOrCreate") == 1
    again = changed(without, "volumes", "ca-certs", before)
    assert samples.manifest(again).pod == samples.manifest().pod


def test_what_stays_of_a_volume_is_not_written_again() -> None:
    text = samples.API_SERVER.replace("readOnly: true", "readOnly: false").replace(
        "type: DirectoryOrCreate", 'type: ""'
    )
    before = samples.manifest(text).values()["volumes"]["ca-certs"]
    assert changed(text, "volumes", "ca-certs", {**before, "host_path": "/x"}) == text.replace(
        "path: /etc/ssl/certs\n      type", "path: /x\n      type"
    )


def test_the_first_volume_brings_both_lists() -> None:
    text = samples.API_SERVER
    for name in ("ca-certs", "k8s-certs"):
        text = changed(text, "volumes", name, None)
    assert "volumes:" not in text
    assert "volumeMounts:" not in text
    assert samples.manifest(changed(text, "volumes", "x", MOUNT)).values()["volumes"] == {"x": MOUNT}


OTHER_VOLUMES = {
    "not on the host": samples.API_SERVER.replace("  volumes:\n", "  volumes:\n  - emptyDir: {}\n    name: x\n"),
    "not mounted": samples.API_SERVER.replace("  volumes:\n", "  volumes:\n  - hostPath: {path: /x}\n    name: x\n"),
    "mounted twice": samples.API_SERVER.replace(
        "  volumes:\n", "  volumes:\n  - hostPath: {path: /x}\n    name: x\n"
    ).replace(
        "    volumeMounts:\n",
        "    volumeMounts:\n    - {mountPath: /x, name: x}\n    - {mountPath: /y, name: x}\n",
    ),
}


OTHER_VOLUMES["mounted by another container"] = samples.API_SERVER.replace(
    "  containers:\n",
    "  initContainers:\n  - name: i\n    volumeMounts: [{mountPath: /i, name: ca-certs}]\n  containers:\n",
).replace("ca-certs", "x")
OTHER_VOLUMES["mounted in a part"] = samples.API_SERVER.replace(
    "      name: ca-certs\n", "      name: x\n      subPath: part\n"
).replace("ca-certs", "x")


@pytest.mark.parametrize("text", OTHER_VOLUMES.values(), ids=OTHER_VOLUMES)
@pytest.mark.parametrize("after", [MOUNT, None])
def test_a_volume_of_another_kind_is_left_to_its_author(text: str, after: t.Any) -> None:
    manifest = samples.manifest(text)
    with pytest.raises(Refusal, match="volume x is not a plain hostPath volume with one mount"):
        manifest.change(Change("volumes", "x", manifest.values()["volumes"]["x"], after))


# ---- annotations -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "before",
    [
        samples.API_SERVER,
        samples.SCHEDULER.replace("kube-scheduler", "kube-apiserver"),
        samples.API_SERVER.replace("  labels:", "  generation: 1\n  labels:"),
    ],
)
def test_annotations(before: str) -> None:
    first = changed(before, "annotations", "nodecraft/x", "1")
    second = changed(first, "annotations", "nodecraft/x", "2")
    assert lines_changed(first, second) == (['nodecraft/x: "1"'], ['nodecraft/x: "2"'])
    assert changed(second, "annotations", "nodecraft/x", None) == before


def test_empty_annotations_are_filled() -> None:
    text = samples.SCHEDULER.replace("metadata:\n", "metadata:\n  annotations: {}  # none\n")
    manifest = samples.manifest(text, "kube-scheduler")
    result = manifest.change(Change("annotations", "nodecraft/x", None, "1"))
    assert result.text == text.replace("{}", '{nodecraft/x: "1"}')


@pytest.mark.parametrize("nothing", ["annotations: null", "annotations:", "annotations: ~  # none"])
def test_annotations_that_are_null_are_filled_and_restored(nothing: str) -> None:
    manifest = samples.manifest(samples.SCHEDULER.replace("metadata:\n", f"metadata:\n  {nothing}\n"), "kube-scheduler")
    filled = manifest.change(Change("annotations", "nodecraft/x", None, "1"))
    comment = nothing.partition("~")[2]
    assert f'\n  annotations:{comment}\n    nodecraft/x: "1"\n  name: kube-scheduler\n' in filled.text
    assert filled.change(Change("annotations", "nodecraft/x", "1", None)).text == manifest.text


# ---- the whole -------------------------------------------------------------------------------------------------------


def test_a_manifest_in_another_style_keeps_it() -> None:
    text = (
        "\ufeff# ours\r\napiVersion: v1\r\nkind: Pod\r\nmetadata: {name: kube-apiserver}\r\nspec:\r\n"
        "    containers:\r\n      -  name: kube-apiserver\r\n"
        "         command: ['kube-apiserver', \"--v=1\"]  # why\r\n"
    )
    result = changed(text, "feature_gates", "A", True)
    assert result == text.replace('"--v=1"]', '"--v=1", --feature-gates=A=true]')


def test_changes_do_not_touch_the_manifest_they_came_from() -> None:
    manifest = samples.manifest()
    manifest.change(Change("args", "v", None, ["4"]))
    assert manifest.text == samples.API_SERVER
    assert Manifest.parse(samples.API_SERVER, samples.SOURCE, "kube-apiserver") == manifest
