# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The desired state in the variables of the role C(device_plugin), as far as no cluster is needed for it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import typing as t

from ..common.plain import is_true
from .check import BUNDLED_PLUGIN

Json = t.Mapping[str, t.Any]

# Each object has a label with its owner: nothing of another owner is changed or removed.
OWNER_LABEL, OWNER = "app.kubernetes.io/managed-by", "nodecraft.kubeadm"
TOKEN_DIRECTORY = "/etc/nodecraft-device-plugin-token"  # noqa: S105 - where it is, and not what it is

_CONFIG_SUFFIX = re.compile(r"-config-[0-9a-f]{10}")
_HASH_LENGTH = 10
_AMOUNT_OF_ALL = re.compile(r"[0-9]+")
_AT_LEAST = re.compile(r"^>= *")
_WHOLE_IMAGE_NAME = re.compile(r"([^/]+[.:][^/]*|localhost)/[^@:]+(:[^/@]+|@sha256:[0-9a-f]{64})")
# Fields of a pod's specification that have a variable of their own.
_PLACEMENT_FIELDS = ("affinity", "containers", "nodeName", "nodeSelector", "tolerations")
_INVALID = 2  # exit status of nodecraft_device_plugin.validate


@dataclasses.dataclass(frozen=True)
class Settings:
    """The variables of the role that decisions go by, by their names without C(device_plugin_).

    image: empty when it is not set. has_archive, has_token: whether device_plugin_image_archive and device_plugin_pod_resources_token
    are set; their values are not needed. excluded: the hosts of the play that serial keeps out of this batch.
    """

    state: str
    name: str
    namespace: str
    image: str
    has_archive: bool
    has_token: bool
    config: Json
    files: Json
    expected: t.Sequence[Json]
    pod_spec: Json
    excluded: t.Sequence[str] = ()

    @property
    def is_present(self) -> bool:
        """Whether the plugin is to be there."""
        return self.state == "present"

    @property
    def is_bundled(self) -> bool:
        """Whether it is the plugin of this collection."""
        return bool(self.config)


def configured_resources(settings: Settings) -> list[Json]:
    """The resources that the configuration of our plugin names. It may be one that nothing has validated yet."""
    found = settings.config.get("resources")
    listed = found if isinstance(found, list) else []
    return [each for each in listed if isinstance(each, t.Mapping) and "name" in each]


def resource_names(settings: Settings) -> list[str]:
    """The resources that the variables name, each once."""
    own = [each["name"] for each in configured_resources(settings)]
    return list(dict.fromkeys([*own, *_expected_names(settings)]))


def uses_cdi(settings: Settings) -> bool:
    """Whether our plugin is to hand devices out by CDI."""
    containers = [each.get("container") for each in configured_resources(settings)]
    return any(isinstance(each, t.Mapping) and is_true(each.get("cdi")) for each in containers)


def validation_errors(settings: Settings) -> list[str]:
    """Why the plugin cannot be deployed, as sentences; none when it can."""
    image, is_bundled = settings.image, settings.is_bundled
    placing = [field for field in _PLACEMENT_FIELDS if field in settings.pod_spec]
    own = [each["name"] for each in configured_resources(settings)]
    unknown = [name for name in dict.fromkeys(_expected_names(settings)) if name not in own] if is_bundled else []
    found = {
        "device_plugin_image is not set; name the image. The playbook nodecraft.kubeadm.device_plugin_image builds that of the bundled plugin.": not image,
        "device_plugin_config is empty; set there what the bundled plugin advertises, or name another plugin in device_plugin_name.": (
            not is_bundled and settings.name == BUNDLED_PLUGIN
        ),
        "device_plugin_pod_resources_token is for the bundled plugin only, and device_plugin_config is empty.": (
            not is_bundled and settings.has_token
        ),
        "device_plugin_files is for other plugins; the bundled one is configured by device_plugin_config.": is_bundled
        and bool(settings.files),
        (
            f"device_plugin_image is {image}; to find it in device_plugin_image_archive and on the nodes, write it with a registry or"
            " localhost/ and a tag: localhost/name:1."
        ): settings.has_archive and not is_whole_image_name(image),
        (
            f"device_plugin_pod_spec has {', '.join(placing)}; use device_plugin_node_selector, device_plugin_tolerations and"
            " device_plugin_container."
        ): bool(placing),
        f"device_plugin_expected has {', '.join(unknown)}, which device_plugin_config does not advertise.": bool(
            unknown
        ),
        (
            f"serial excludes {', '.join(sorted(settings.excluded))}, which would be waited for without its image. Remove serial from"
            " the play; the plugin is replaced on device_plugin_max_unavailable nodes at a time."
        ): settings.has_archive and bool(settings.excluded),
    }
    return [sentence for sentence, holds in found.items() if holds]


def config_error(validation: Json, python: str) -> str:
    """What is wrong with the configuration of our plugin; empty when nothing is, or when it is another plugin.

    validation: C(rc) and C(stderr_lines) of C(nodecraft_device_plugin.validate); empty where it did not run. python: with which it ran.
    """
    if validation.get("rc", 0) == 0:
        return ""
    lines = [line.removeprefix("/dev/stdin: ") for line in validation["stderr_lines"]]
    if validation["rc"] == _INVALID:
        return f"device_plugin_config is not valid (lines are those of its ConfigMap): {'; '.join(lines)}"
    return (
        f"device_plugin_config could not be read with {python}, which has to be Python 3.11 or newer with PyYAML, as ansible-core needs"
        f" it: {''.join(lines[-1:])}"
    )


def complete_config(settings: Settings) -> dict[str, t.Any]:
    """The configuration of our plugin, complete."""
    found: dict[str, t.Any] = {"version": "v1", **settings.config}
    pod_resources = found.get("podResources")
    # YAML makes a boolean of an off without quotes.
    if isinstance(pod_resources, t.Mapping) and pod_resources.get("access") is False:
        found["podResources"] = {**pod_resources, "access": "off"}
    if isinstance(found.get("resources"), list):
        least = _minimum_amounts(settings.expected)
        found["resources"] = [_with_minimum(each, least) for each in found["resources"]]
    if settings.has_token:
        found["podResources"] = {"access": "token", "tokenFile": f"{TOKEN_DIRECTORY}/token"}
    return found


def shares_pod_resources(complete: Json) -> bool:
    """Whether our plugin reports which pod holds which device. complete: as C(complete_config) returns it."""
    pod_resources = complete.get("podResources")
    return isinstance(pod_resources, t.Mapping) and pod_resources.get("access", "off") != "off"


def config_map_name(name: str, files: Json) -> str:
    """The name of the ConfigMap with the files of a plugin.

    A kubelet hands a changed ConfigMap to all pods that mount it. So another content is a ConfigMap with another name: it reaches a node
    when the pod there is replaced, and the other pods keep theirs.
    """
    digest = hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()
    return f"{name}-config-{digest[:_HASH_LENGTH]}"


def token_secret_name(plugin: str) -> str:
    """The name of the Secret with the token of a plugin."""
    return f"{plugin}-token"


def is_config_map(name: str, plugin: str) -> bool:
    """Whether a ConfigMap has a name of those with the files of a plugin."""
    return name.startswith(plugin) and _CONFIG_SUFFIX.fullmatch(name[len(plugin) :]) is not None


def is_whole_image_name(name: str) -> bool:
    """Whether an image is written with a registry or localhost/ before its name, and with a tag or digest behind it."""
    return _WHOLE_IMAGE_NAME.fullmatch(name) is not None


def _expected_names(settings: Settings) -> list[str]:
    return [name for entry in settings.expected for name in entry["resources"]]


def _minimum_amounts(expected: t.Sequence[Json]) -> dict[str, int]:
    """What every node is expected to offer, of a resource of which no node is expected to offer anything else; of others 0.

    A pod of ours with less is not ready, so that a rollout stops there.
    """
    found: dict[str, int] = {}
    for entry in expected:
        is_for_all = entry.get("nodes") is None and entry.get("label_selector") is None
        for name, amount in entry["resources"].items():
            digits = _AT_LEAST.sub("", str(amount))
            counts = is_for_all and _AMOUNT_OF_ALL.fullmatch(digits) is not None and found.get(name, 1) != 0
            found[name] = int(digits) if counts else 0
    return found


def _with_minimum(resource: t.Any, least: t.Mapping[str, int]) -> t.Any:
    minimum = least.get(str(resource.get("name")), 0) if isinstance(resource, t.Mapping) else 0
    return {**resource, "minHealthy": resource.get("minHealthy", minimum)} if minimum else resource
