# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How the image of our device plugin is built, and whether it is built already."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import typing as t

from .desired import Json, is_whole_image_name

_TAG_LENGTH = 12  # letters of a checksum that are enough for a tag
_NO_ROOT = "none"


@dataclasses.dataclass(frozen=True)
class ImageRequest:
    """The desired image, by the variables without C(device_plugin_image_). base, root, wheels: empty when they are not set.

    name: of the image. root: a root file system. wheels: a directory. source: the directory with the plugin.
    """

    name: str
    archive: str
    source: str
    build_options: t.Sequence[str]
    base: str = ""
    root: str = ""
    wheels: str = ""


@dataclasses.dataclass(frozen=True)
class BuildInputs:
    """What exists for a build. builders: the programs that were tried, and whether they can be started. sources: the checksums of the source files by
    place; wheels: those of the wheels. root: that of the root file system, None when there is none. recipe: what is written beside the
    archive, None when there is no archive.
    """

    builders: t.Mapping[str, bool]
    sources: t.Sequence[t.Sequence[str]]
    wheels: t.Sequence[str]
    root: str | None
    recipe: str | None


def plan(request: ImageRequest, inputs: BuildInputs) -> dict[str, t.Any]:
    """The steps of a build. refusal: why nothing can be built, empty when it can.

    builder: the program. needed: whether there is something to build. recipe: a text of all that the image depends on; what is pulled or
    downloaded may change behind the same name. root_image: the name of the base image that is made of the root file system.
    build: how a build command begins. base_argument: the options that name the base image. save: the command that writes the archive.
    """
    builder = next((name for name, starts in inputs.builders.items() if starts), "")
    root_image = f"localhost/nodecraft-device-plugin-base:{(inputs.root or _NO_ROOT)[:_TAG_LENGTH]}"
    base = root_image if request.root else request.base
    parts = [
        request.name,
        base,
        list(request.build_options),
        sorted(checksum for place in inputs.sources for checksum in place),
        sorted(inputs.wheels),
    ]
    recipe = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    part = f"{request.archive}.part"
    return {
        "refusal": build_refusal(request, inputs),
        "builder": builder,
        "needed": inputs.recipe != recipe,
        "recipe": recipe,
        "root_image": root_image,
        "part": part,
        "build": [builder, "build", *request.build_options],
        "base_argument": ["--build-arg", f"BASE_IMAGE={base}"] if base else [],
        "save": _save_command(builder, request.name, part),
    }


def build_refusal(request: ImageRequest, inputs: BuildInputs) -> str:
    """Why nothing can be built; empty when it can."""
    if not is_whole_image_name(request.name) or "@" in request.name or (request.base and request.root):
        return (
            f"device_plugin_image ({request.name}) has to have a registry or localhost/ before its name and a tag behind it, as in"
            " localhost/nodecraft-device-plugin:1, and only one of device_plugin_image_base and device_plugin_image_root can be what it is"
            " built on."
        )
    if not any(inputs.builders.values()):
        return f"None of {', '.join(inputs.builders)} can be started here; install one of them."
    missing = [
        *([request.source] if not all(inputs.sources) else []),
        *([request.wheels] if request.wheels and not inputs.wheels else []),
        *([request.root] if request.root and inputs.root is None else []),
    ]
    return f"Missing or empty: {', '.join(missing)}." if missing else ""


def inputs_from_results(
    builders: t.Sequence[Json], sources: t.Sequence[Json], wheels: Json, root: Json, archive: Json, recipe: str
) -> BuildInputs:
    """Parse the results of Ansible's modules.

    builders: of C(command), one for each program. sources: of C(find), one for each place. wheels: of C(find). root, archive: of C(stat).
    recipe: the text beside the archive. A result of a task that was skipped means that nothing was found.
    """
    return BuildInputs(
        builders={each["item"]: each.get("rc") == 0 for each in builders},
        sources=[_checksums(each) for each in sources],
        wheels=_checksums(wheels),
        root=root.get("stat", {}).get("checksum"),
        recipe=recipe if archive["stat"]["exists"] else None,
    )


def _checksums(result: Json) -> list[str]:
    return [each["checksum"] for each in result.get("files", [])]


def _save_command(builder: str, name: str, part: str) -> list[str]:
    commands = {
        "podman": ["podman", "save", "--quiet", "--format", "docker-archive", "--output", part, name],
        "docker": ["docker", "save", "--output", part, name],
        "buildah": ["buildah", "push", "--quiet", name, f"docker-archive:{part}:{name}"],
    }
    return commands.get(builder, [])
