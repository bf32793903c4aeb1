# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module parameters turned into a desired state: canonical values, and every bad one refused by its name."""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.file_values import FileVersion
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.desired import SETTINGS, DesiredFile
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples


@pytest.mark.parametrize(
    ("given", "value"),
    [
        *((text, True) for text in (True, "true", "True", "yes", "on", "1", 1)),
        *((text, False) for text in (False, "false", "FALSE", "no", "off", "0", 0)),
        (None, None),
    ],
)
def test_gates_take_what_inventories_write(given: t.Any, value: bool | None) -> None:
    assert samples.desired(feature_gates={"A": given}).values["feature_gates"] == {"A": value}


@pytest.mark.parametrize(
    ("given", "value"), [("enabled", "enabled"), ("disabled", "disabled"), ("default", None), (None, None)]
)
def test_plugins(given: str | None, value: str | None) -> None:
    assert samples.desired(admission_plugins={"P": given}).values["admission_plugins"] == {"P": value}


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ("x", ["x"]),
        (5, ["5"]),
        (0, ["0"]),
        (1.5, ["1.5"]),
        (True, ["true"]),
        (False, ["false"]),
        ("True", ["True"]),
        (["a", 1, False], ["a", "1", "false"]),
        (None, None),
    ],
)
def test_args_are_rendered_kubernetes_way(given: t.Any, value: list[str] | None) -> None:
    assert samples.desired(args={"some_flag": given}).values["args"] == {"some-flag": value}


@pytest.mark.parametrize(("given", "value"), [("x", "x"), (5, "5"), (True, "true"), (False, "false"), (None, None)])
def test_environment(given: t.Any, value: str | None) -> None:
    assert samples.desired(env={"HTTPS_PROXY": given}).values["env"] == {"HTTPS_PROXY": value}


def test_volumes() -> None:
    desired = samples.desired(
        volumes=[
            samples.volume("a", "/a"),
            samples.volume("b", "/b", mount_path="/c", read_only=False, path_type="File"),
            {
                "name": "c",
                "host_path": None,
                "mount_path": None,
                "read_only": True,
                "path_type": None,
                "state": "absent",
            },
        ]
    )
    assert desired.values["volumes"] == {
        "a": {"host_path": "/a", "mount_path": "/a", "path_type": "", "read_only": True},
        "b": {"host_path": "/b", "mount_path": "/c", "path_type": "File", "read_only": False},
        "c": None,
    }


def test_files() -> None:
    desired = samples.desired(
        files=[
            samples.file("/a", "ä", mode="0640", sensitive=True),
            samples.file("/b", None, state="absent"),
            samples.file("/c", "", owner="etcd", group="0"),
        ]
    )
    assert desired.files == (
        DesiredFile("/a", FileVersion("ä".encode(), 0o640), True),
        DesiredFile("/b", None, False),
        DesiredFile("/c", FileVersion(b"", 0o600), False, "etcd", "0"),
    )


def test_a_mapping_as_content_is_json() -> None:
    (file,) = samples.desired(files=[samples.file("/a", {"b": [1], "a": None})]).files
    assert file.version is not None
    assert json.loads(file.version.content) == {"a": None, "b": [1]}


def test_absent_without_any_option_takes_everything_back_and_with_empty_ones_nothing() -> None:
    assert samples.desired(state="absent").complete == set(SETTINGS)
    assert samples.desired(state="absent", args={}).complete == set()
    assert samples.desired(state="absent", args={}, purge=True, env=None).complete == set(SETTINGS) - {"env"}
    assert samples.desired(state="present").complete == set()


def test_nothing_requested_is_a_desired_state_too() -> None:
    desired = samples.desired()
    assert not any(desired.values.values())
    assert desired.files == ()


BAD: dict[str, tuple[dict[str, t.Any], str]] = {
    "name with a slash": ({"name": "../etcd"}, "invalid name '../etcd'"),
    "name with capitals": ({"name": "Kube"}, "invalid name 'Kube'"),
    "empty name": ({"name": ""}, "invalid name ''"),
    "name that ends in a dot": ({"name": "a."}, "invalid name 'a.'"),
    "owner with a colon": ({"files": [samples.file("/a", owner="a:b")]}, "files: invalid owner 'a:b' of /a"),
    "empty group": ({"files": [samples.file("/a", group="")]}, "files: invalid group '' of /a"),
    "gate value": ({"feature_gates": {"A": "maybe"}}, "feature_gates: invalid value 'maybe' of A: must be true, false"),
    "gate value empty": ({"feature_gates": {"A": ""}}, "feature_gates: invalid value '' of A: must be true, false"),
    "gate value number": ({"feature_gates": {"A": 2}}, "feature_gates: invalid value 2 of A: must be true, false"),
    "gate value list": (
        {"feature_gates": {"A": [True]}},
        "feature_gates: invalid value [True] of A: must be true, false",
    ),
    "gate name with value": ({"feature_gates": {"A=true": True}}, "feature_gates: invalid name 'A=true'"),
    "gate name empty": ({"feature_gates": {"": True}}, "feature_gates: invalid name ''"),
    "gate name with comma": ({"feature_gates": {"A,B": True}}, "feature_gates: invalid name 'A,B'"),
    "gate name with prefix": ({"feature_gates": {"kube:A": True}}, "feature_gates: invalid name 'kube:A'"),
    "plugin value": ({"admission_plugins": {"P": "on"}}, "admission_plugins: invalid value 'on' of P: must be enabled"),
    "plugin value bool": (
        {"admission_plugins": {"P": True}},
        "admission_plugins: invalid value True of P: must be enabled",
    ),
    "plugin value list": (
        {"admission_plugins": {"P": ["enabled"]}},
        "admission_plugins: invalid value ['enabled'] of P: must be enabled",
    ),
    "plugin name": ({"admission_plugins": {"P,Q": "enabled"}}, "admission_plugins: invalid name 'P,Q'"),
    "plugins elsewhere": (
        {"name": "kube-scheduler", "admission_plugins": {"P": "enabled"}},
        "only kube-apiserver has admission plugins",
    ),
    "flag with dashes": ({"args": {"--v": 2}}, "args: invalid name '--v'"),
    "flag with value": ({"args": {"v=2": None}}, "args: invalid name 'v=2'"),
    "flag name empty": ({"args": {"": "x"}}, "args: invalid name ''"),
    "gates as a flag": ({"args": {"feature-gates": "A=true"}}, "use the option feature_gates instead"),
    "gates as a flag, underscore": ({"args": {"feature_gates": None}}, "use the option feature_gates instead"),
    "plugins as a flag": ({"args": {"enable-admission-plugins": "A"}}, "use the option admission_plugins instead"),
    "plugins off as a flag": ({"args": {"disable-admission-plugins": "A"}}, "option admission_plugins instead"),
    "flag value empty": ({"args": {"v": ""}}, "args: invalid value '' of v: must be null"),
    "flag value empty in a list": ({"args": {"v": ["a", ""]}}, "args: invalid value '' of v: must be null"),
    "flag value empty list": ({"args": {"v": []}}, "args: invalid value [] of v: must be null"),
    "flag value null in a list": ({"args": {"v": [None]}}, "args: invalid value None of v: must be a string"),
    "flag value mapping": ({"args": {"v": {"a": "b"}}}, "args: invalid value {'a': 'b'} of v: must be a string"),
    "flag value list in a list": ({"args": {"v": [["a"]]}}, "args: invalid value ['a'] of v: must be a string"),
    "flag value with a line break": ({"args": {"v": "a\nb"}}, "args: v holds a line break"),
    "flag value with a NUL": ({"args": {"v": "a\0b"}}, "args: v holds a line break or a NUL"),
    "flag named in both spellings": (
        {"args": {"audit-log-path": "/a", "audit_log_path": "/b"}},
        "args: audit-log-path",
    ),
    "variable name": ({"env": {"A=B": "x"}}, "env: invalid name 'A=B'"),
    "variable name empty": ({"env": {"": "x"}}, "env: invalid name ''"),
    "variable name that begins with a digit": ({"env": {"1A": "x"}}, "env: invalid name '1A'"),
    "variable empty": ({"env": {"A": ""}}, "env: invalid value '' of A: must be null"),
    "variable list": ({"env": {"A": ["secret"]}}, "env: invalid value of A: must be a string, a number or a boolean"),
    "variable with a line break": ({"env": {"A": "secret\n"}}, "env: A holds a line break"),
    "volume without host path": (
        {"volumes": [samples.volume("a", "/a", host_path=None)]},
        "volumes: a needs host_path",
    ),
    "volume with relative path": ({"volumes": [samples.volume("a", "a")]}, "volumes: a needs host_path, an absolute"),
    "volume without mount path": (
        {"volumes": [samples.volume("a", "/a", mount_path="")]},
        "volumes: a needs mount_path",
    ),
    "volume twice": ({"volumes": [samples.volume("a", "/a"), samples.volume("a", "/b")]}, "volumes: a is named twice"),
    "file with relative path": (
        {"files": [samples.file("a")]},
        "files: invalid path 'a': must be absolute and normalized",
    ),
    "file with dots": (
        {"files": [samples.file("/etc/../a")]},
        "files: invalid path '/etc/../a': must be absolute and normalized",
    ),
    "file with two slashes": (
        {"files": [samples.file("//etc/a")]},
        "files: invalid path '//etc/a': must be absolute and normalized",
    ),
    "file that is a directory": (
        {"files": [samples.file("/etc/a/")]},
        "files: invalid path '/etc/a/': must be absolute and normalized",
    ),
    "file mode in words": ({"files": [samples.file("/a", mode="u=rw")]}, "files: invalid mode 'u=rw' of /a"),
    "file mode that is no octal": ({"files": [samples.file("/a", mode="0680")]}, "files: invalid mode '0680' of /a"),
    "file mode read as a number": ({"files": [samples.file("/a", mode="384")]}, "files: invalid mode '384' of /a"),
    "file mode with more than permissions": (
        {"files": [samples.file("/a", mode="4755")]},
        "files: invalid mode '4755' of /a",
    ),
    "file mode without the zero": ({"files": [samples.file("/a", mode="640")]}, "files: invalid mode '640' of /a"),
    "file content that is a number": ({"files": [samples.file("/a", 5)]}, "files: the content of /a must be text"),
    "file content that is no text": (
        {"files": [samples.file("/a", "\ud800")]},
        "files: the content of /a is not UTF-8",
    ),
    "file without content": ({"files": [samples.file("/a", None)]}, "files: /a has no content"),
    "file twice": ({"files": [samples.file("/a"), samples.file("/a")]}, "files: /a is named twice"),
}


@pytest.mark.parametrize(("given", "complaint"), BAD.values(), ids=BAD)
def test_a_bad_value_is_refused_by_its_name(given: dict[str, t.Any], complaint: str) -> None:
    with pytest.raises(Refusal) as refusal:
        samples.desired(**given)
    assert complaint in str(refusal.value)


@pytest.mark.parametrize("path", ["/", "/proc", "/usr/local/bin", "/usr/local/bin/"])
def test_a_mount_does_not_hide_the_image(path: str) -> None:
    with pytest.raises(Refusal, match="would hide"):
        samples.desired(volumes=[samples.volume("a", "/srv/a", mount_path=path)])


@pytest.mark.parametrize("path", ["/a/../b", "/a//b", "//a", "/a/."])
def test_a_mount_path_is_plain(path: str) -> None:
    with pytest.raises(Refusal, match="not a normalized path"):
        samples.desired(volumes=[samples.volume("a", "/srv/a", mount_path=path)])


def test_no_refusal_shows_a_value_of_the_environment() -> None:
    for given, dummy in (case for name, case in BAD.items() if name.startswith("variable")):
        with pytest.raises(Refusal) as refusal:
            samples.desired(**given)
        assert "secret" not in str(refusal.value)
