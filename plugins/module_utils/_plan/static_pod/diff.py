# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The difference that a plan makes, as Ansible shows it: without secrets."""

from __future__ import annotations

from ..documents.yaml_edit import Path
from .manifest import Manifest
from .plan import HIDDEN, StaticPodPlan
from .policy_files import PolicyFileChange

_DIFFERENT = "(hidden, different)"


def diff(plan_: StaticPodPlan) -> list[dict[str, str]]:
    """The difference as Ansible shows it: the manifest, then each file. Values of environment variables are hidden."""
    shown: list[dict[str, str]] = []
    if plan_.before.text != plan_.after.text:
        former = _environment_values(plan_.before)
        texts = [
            manifest.document.masked(
                {
                    path: HIDDEN if value in former.values() else _DIFFERENT
                    for path, value in _environment_values(manifest).items()
                }
            )
            for manifest in (plan_.before, plan_.after)
        ]
        shown.append(_diff_entry(plan_.before.document.source, *texts))
    shown.extend(_diff_entry(change.path, *_file_texts(change)) for change in plan_.files)
    return shown


def _file_texts(change: PolicyFileChange) -> tuple[str, str]:
    if not change.sensitive:
        before, after = (
            "" if file is None else file.content.decode("utf-8", "replace") for file in (change.before, change.after)
        )
        return before, after
    return (
        f"{HIDDEN}\n" if change.before else "",
        f"{_DIFFERENT if change.before else HIDDEN}\n" if change.after else "",
    )


def _environment_values(manifest: Manifest) -> dict[Path, str]:
    """Where the literal values of environment variables stand in a manifest, in all of its containers."""
    return {
        ("spec", kind, number, "env", position, "value"): str(entry["value"])
        for kind in ("initContainers", "containers")
        for number, container in enumerate(manifest.pod["spec"].get(kind) or [])
        for position, entry in enumerate(container.get("env") or [])
        if entry.get("value")
    }


def _diff_entry(path: str, before: str, after: str) -> dict[str, str]:
    return {"before_header": path, "after_header": path, "before": before, "after": after}
