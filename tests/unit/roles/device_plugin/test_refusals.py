# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role refuses before anything is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.device_plugin_role import OURS, D, Play, named, written
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Json


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        (
            {
                **OURS,
                "device_plugin_image": "x:1",
                "device_plugin_image_archive": "/x.tar",
                "device_plugin_files": {"a": "b"},
                "device_plugin_pod_spec": {"nodeSelector": {}},
                "device_plugin_expected": [{"resources": {"example.com/dongel": 1}}],
            },
            [
                "device_plugin_image is x:1; to find it in device_plugin_image_archive",
                "device_plugin_files is for other plugins",
                "device_plugin_pod_spec has nodeSelector",
                "example.com/dongel, which device_plugin_config does not offer",
            ],
        ),
        (
            {"device_plugin_pod_resources_token": "t"},
            ["device_plugin_image is not set", "device_plugin_config is empty", "is for our plugin only"],
        ),
        ({**OURS, "device_plugin_images": "x"}, ["did you mean device_plugin_image?"]),
    ],
)
def test_what_could_not_be_deployed_is_refused(play: Play, variables: Json, says: list[str]) -> None:
    outcome = play(variables)
    assert outcome.status != 0
    assert [words for words in says if words not in outcome.output] == []
    assert outcome.calls == []


NAMELESS: Json = {"resources": [{"discover": [{"fake": {"count": 4}}]}]}


@pytest.mark.parametrize(
    ("config", "says"),
    [
        (
            {"resources": [{"name": D, "discover": [{"fake": {"count": "x"}}], "preference": "best"}]},
            [
                "line 6: resources[0].discover[0].fake.count: is 'x'; it has to be a whole number, 0 or more",
                "line 7: resources[0].preference: is 'best'; allowed: packed, spread",
            ],
        ),
        (NAMELESS, ["line 3: resources[0].name: is required"]),
        (
            {"resources": 5, "podResources": "open"},
            ["resources: has to be a list", "podResources: has to be a mapping"],
        ),
        ({"ressources": []}, ["ressources: is unknown; allowed here: podResources, resources, scan, version"]),
    ],
)
@pytest.mark.parametrize("mode", [[], ["--check"]])
def test_a_configuration_that_the_plugin_would_refuse_is_refused_before_anything_is_asked(
    play: Play, mode: list[str], config: Json, says: list[str]
) -> None:
    outcome = play({**OURS, "device_plugin_config": config, "device_plugin_expected": []}, *mode)
    assert outcome.status != 0
    assert (
        "Nothing was changed. device_plugin_config is not valid (lines are those of its ConfigMap): " in outcome.output
    )
    assert [words for words in says if words not in outcome.output] == []
    assert outcome.calls == []


# What a Python of a controller says that is too old for the plugin.
TOO_OLD = """
import os, sys
if "nodecraft_device_plugin.validate" in sys.orig_argv:
    os.write(2, b"Traceback\\nTypeError: too old\\n")
    os._exit(1)
"""


def test_a_controller_that_cannot_read_the_configuration_says_what_it_needs(
    play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(TOO_OLD, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    outcome = play(OURS)
    assert outcome.status != 0
    assert "has to be Python 3.11 or newer with PyYAML, as ansible-core needs it: TypeError: too old" in outcome.output
    assert outcome.calls == []


def test_hosts_that_ask_for_different_things_are_refused(play: Play) -> None:
    outcome = play({**OURS, "device_plugin_image": "localhost/{{ inventory_hostname }}:1"})
    assert outcome.status != 0
    assert "device_plugin_image has to be the same for all" in outcome.output
    assert outcome.calls == []


@pytest.mark.parametrize(
    ("stub", "says"),
    [
        ({"stub_selected": []}, "no node gets the device plugin"),
        (
            {
                "stub_objects": {
                    "Namespace": [named("x", pod_security="")],
                    "DaemonSet": [named("nodecraft-device-plugin")],
                }
            },
            "was not made by this role",
        ),
        (
            {"stub_objects": {"Namespace": [named("x", **{"pod-security.kubernetes.io__enforce": "baseline"})]}},
            "takes pods of the level baseline only",
        ),
    ],
)
def test_what_the_cluster_says_against_it_is_heard_before_anything_is_written(
    play: Play, stub: Json, says: str
) -> None:
    outcome = play(OURS, stub=stub)
    assert outcome.status != 0
    assert says in outcome.output
    assert written(outcome) == {}
