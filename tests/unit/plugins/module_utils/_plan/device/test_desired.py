# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the variables of the role device_plugin ask for."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.device import desired
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.device.desired import Settings
from ansible_collections.nodecraft.kubeadm.tests.unit.support import device_plugin_settings

Json = dict[str, t.Any]
D, G = "example.com/dongle", "example.com/gpu"
OWN = "nodecraft-device-plugin"


def settings(**changes: t.Any) -> Settings:
    """Of our plugin with one resource."""
    return device_plugin_settings.settings(**{"name": OWN, **changes})


def theirs(**changes: t.Any) -> Settings:
    """Of another plugin."""
    return settings(**{"name": "dongles", "config": {}, **changes})


def test_which_plugin_and_what_becomes_of_it() -> None:
    assert (settings().is_present, settings(state="absent").is_present) == (True, False)
    assert (settings().is_bundled, theirs().is_bundled) == (True, False)


def test_a_request_without_a_fault() -> None:
    assert desired.validation_errors(settings(expected=[{"resources": {D: 4}}], has_token=True)) == []
    assert desired.validation_errors(theirs(files={"a": "b"}, expected=[{"resources": {G: 4}}])) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (settings(image=""), "device_plugin_image is not set"),
        (theirs(name=OWN), "device_plugin_config is empty"),
        (theirs(has_token=True), "device_plugin_pod_resources_token is for the bundled plugin only"),
        (settings(files={"a": "b"}), "device_plugin_files is for other plugins"),
        (
            settings(image="p:1", has_archive=True),
            "device_plugin_image is p:1; to find it in device_plugin_image_archive",
        ),
        (
            settings(pod_spec={"nodeSelector": {}, "affinity": {}}),
            "device_plugin_pod_spec has affinity, nodeSelector; use",
        ),
        (
            settings(expected=[{"resources": {G: 1, D: 1}}, {"resources": {G: 2}}]),
            f"device_plugin_expected has {G}, which device_plugin_config does not advertise.",
        ),
        (settings(has_archive=True, excluded=["w3", "w2"]), "serial excludes w2, w3"),
    ],
)
def test_what_cannot_be_deployed(options: Settings, message: str) -> None:
    (objection,) = desired.validation_errors(options)
    assert objection.startswith(message)


def test_what_matters_only_with_an_archive() -> None:
    assert desired.validation_errors(settings(image="p:1", excluded=["w2"])) == []


@pytest.mark.parametrize(
    ("name", "is_whole"),
    [
        ("localhost/p:1", True),
        ("registry.example.com/a/p:1", True),
        ("registry:5000/p:1", True),
        ("localhost/p@sha256:" + 64 * "0", True),
        ("localhost/p@sha256:" + 63 * "0", False),
        ("localhost/p", False),
        ("p:1", False),
        ("library/p:1", False),
        ("", False),
    ],
)
def test_a_whole_name_of_an_image(name: str, is_whole: bool) -> None:
    assert desired.is_whole_image_name(name) is is_whole


@pytest.mark.parametrize(
    ("resources", "names"),
    [
        ([{"name": D}, {"discover": []}, "a name", {"name": G}], [D, G]),
        (5, []),
        ({"name": D}, []),
        (None, []),
    ],
)
def test_resources_of_a_configuration_that_nothing_validated(resources: t.Any, names: list[str]) -> None:
    options = settings(config={"resources": resources})
    assert [each["name"] for each in desired.configured_resources(options)] == names
    assert desired.resource_names(options) == names


def test_names_of_resources_are_reported_once() -> None:
    assert desired.resource_names(settings(expected=[{"resources": {D: 1}}, {"resources": {G: 1}}])) == [D, G]


@pytest.mark.parametrize(
    ("container", "uses"),
    [
        ({"cdi": True}, True),
        ({"cdi": "yes"}, True),
        ({"cdi": "no"}, False),
        ({"cdi": None}, False),
        ({}, False),
        ("text", False),
    ],
)
def test_cdi(container: t.Any, uses: bool) -> None:
    resources = [{"name": G}, {"name": D, "container": container}]
    assert desired.uses_cdi(settings(config={"resources": resources})) is uses


@pytest.mark.parametrize(
    ("validation", "message"),
    [
        ({}, ""),
        ({"rc": 0, "stderr_lines": []}, ""),
        (
            {"rc": 2, "stderr_lines": ["/dev/stdin: line 1: a", "/dev/stdin: line 2: b"]},
            "device_plugin_config is not valid (lines are those of its ConfigMap): line 1: a; line 2: b",
        ),
        (
            {"rc": 1, "stderr_lines": ["Traceback", "TypeError: too old"]},
            "device_plugin_config could not be read with /bin/python, which has to be Python 3.11 or newer with PyYAML, as ansible-core"
            " needs it: TypeError: too old",
        ),
    ],
)
def test_what_the_reader_of_the_plugin_reports(validation: Json, message: str) -> None:
    assert desired.config_error(validation, "/bin/python") == message


def test_a_configuration_is_completed() -> None:
    assert list(desired.complete_config(settings()).items()) == [("version", "v1"), ("resources", [{"name": D}])]
    assert desired.complete_config(settings(config={"version": "v2"})) == {"version": "v2"}


@pytest.mark.parametrize(
    ("pod_resources", "has_token", "becomes", "shares"),
    [
        (None, False, None, False),
        ({"access": False, "a": 1}, False, {"access": "off", "a": 1}, False),
        ({"access": "off"}, False, {"access": "off"}, False),
        ({"access": "open"}, False, {"access": "open"}, True),
        ({"a": 1}, False, {"a": 1}, False),
        ("open", False, "open", False),
        (
            {"access": False},
            True,
            {"access": "token", "tokenFile": "/etc/nodecraft-device-plugin-token/token"},
            True,
        ),
    ],
)
def test_who_may_request_the_devices_of_pods(
    pod_resources: t.Any, has_token: bool, becomes: t.Any, shares: bool
) -> None:
    config = {"resources": [], **({} if pod_resources is None else {"podResources": pod_resources})}
    found = desired.complete_config(settings(config=config, has_token=has_token))
    assert found.get("podResources") == becomes
    assert desired.shares_pod_resources(found) is shares


@pytest.mark.parametrize(
    ("expected", "own", "least"),
    [
        ([{"resources": {D: 4}}], {}, 4),
        ([{"resources": {D: ">=2"}}, {"resources": {D: ">= 3"}}], {}, 3),
        ([{"resources": {D: 4}}], {"minHealthy": 1}, 1),
        ([{"resources": {D: 4}}, {"nodes": ["w2"], "resources": {D: 1}}], {}, None),
        ([{"resources": {D: 4}}, {"nodes": ["w2"], "resources": {D: 1}}, {"resources": {D: 4}}], {}, None),
        ([{"label_selector": "a=b", "resources": {D: 1}}, {"resources": {D: 4}}], {}, None),
        ([{"resources": {D: "some"}}], {}, None),
        ([{"resources": {G: 4}}], {}, None),
        ([], {}, None),
    ],
)
def test_what_all_nodes_are_expected_to_offer(expected: list[Json], own: Json, least: int | None) -> None:
    options = settings(config={"resources": [{"name": D, **own}, "text"]}, expected=expected)
    resource, other = desired.complete_config(options)["resources"]
    assert (resource.get("minHealthy"), other) == (least, "text")


def test_resources_that_are_no_list_are_left_to_the_reader_of_the_plugin() -> None:
    assert desired.complete_config(settings(config={"resources": 5}))["resources"] == 5


def test_names_of_objects() -> None:
    name = desired.config_map_name("p", {"b": "1", "a": "2"})
    assert name == desired.config_map_name("p", {"a": "2", "b": "1"}) != desired.config_map_name("p", {"a": "2"})
    assert desired.is_config_map(name, "p")
    assert not any(
        desired.is_config_map(other, "p")
        for other in ("p-config", "p-config-map", "p-config-012345678", "q-config", "p", "q" + name[1:])
    )
    assert desired.token_secret_name("p") == "p-token"
