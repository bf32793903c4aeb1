# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which versions of Kubernetes this collection is tested with, and the warning of others."""

from __future__ import annotations

import re
import typing as t

OLDEST, NEWEST = (1, 32), (1, 37)  # of lab/vars/releases.yml
TESTED = f"{OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.{NEWEST[1]}"
# The static pods that are Kubernetes' own. etcd and those of others have versions of their own.
COMPONENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")

_VERSION = re.compile(r"(?:Kubernetes )?v?(\d{1,2})\.(\d{1,3})(?!\d)")


def parse(text: str) -> tuple[int, int] | None:
    """The minor version in C(v1.37.2), C(1.37.2-gke.1) or C(Kubernetes v1.37.2); None where there is none."""
    match = _VERSION.match(text)
    return (int(match.group(1)), int(match.group(2))) if match else None


def component_versions(images: t.Mapping[str, t.Any]) -> dict[str, list[str]]:
    """The versions of Kubernetes' components by the images of static pods, by their names."""
    return {name: [_image_version(images[name])] for name in COMPONENTS if name in images}


def tag_of(image: str) -> str:
    """The tag of an image's reference; empty where it has none, as with a digest only."""
    return image.partition("@")[0].rpartition("/")[2].partition(":")[2]


def _image_version(image: t.Any) -> str:
    """The tag of an image; the whole reference where it has none."""
    return tag_of(str(image)) or f"image: {image or 'not found'}"


def warnings(where: str, found: t.Mapping[str, t.Iterable[str]]) -> list[str]:
    """One warning of all versions that are outside the tested range or not known, or none.

    where: a node, or the address of an API server. found: by component its versions, or what was found instead of one.
    """
    untested = [
        f"{component} {problem}"
        for component, texts in found.items()
        for problem in map(_describe_untested, sorted(set(texts), key=_sort_key))
        if problem
    ]
    if not untested:
        return []
    return [
        f"{where}: {', '.join(untested)}. This collection is tested with Kubernetes {TESTED}. Rehearsals still apply; try"
        " changes on a test cluster first."
    ]


def _sort_key(text: str) -> tuple[tuple[int, int], str]:
    return parse(text) or (0, 0), text


def _describe_untested(text: str) -> str | None:
    version = parse(text)
    if version is None:
        return f"of unknown version ({text})"
    if OLDEST <= version <= NEWEST:
        return None
    return f"{text} ({'older' if version < OLDEST else 'newer'} than tested)"
