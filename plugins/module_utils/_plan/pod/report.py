# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the playbook C(resize) refuses, and its report of pods and their templates."""

from __future__ import annotations

import typing as t

Json = t.Mapping[str, t.Any]

PREFIX = "pod_resize_"
_SELECTIONS = ("names", "label_selector", "owner")


def variables_error(names: t.Iterable[str], known: t.Sequence[str]) -> str:
    """Why a run is refused by the names of its variables; empty when it is not. names: of all that are set. known: options, without prefix."""
    given = {name for name in names if name.startswith(PREFIX) and name != f"{PREFIX}report"}
    takes = [f"{PREFIX}{option}" for option in known]
    unknown = sorted(given.difference(takes))
    if unknown:
        return f"This playbook does not know {', '.join(unknown)}; it knows {', '.join(takes)}."
    if f"{PREFIX}namespace" not in given or not given.intersection(f"{PREFIX}{option}" for option in _SELECTIONS):
        return "Set pod_resize_namespace, and one of pod_resize_names, pod_resize_label_selector and pod_resize_owner."
    return ""


def make_report(result: Json) -> dict[str, t.Any]:
    """The result for programs. result: as below."""
    return {
        **{name: result.get(name) or {} for name in ("pods", "templates")},
        "unverified": result.get("unverified") or [],
    }


def report_lines(result: Json) -> list[str]:
    """The result for people. result: of the module C(pod_resize); empty when it did not run."""
    pods, templates = result.get("pods") or {}, result.get("templates") or {}
    outcomes: dict[str, list[str]] = {}
    for name, pod in pods.items():
        outcomes.setdefault(pod["outcome"], []).append(name)
    found = [f"{outcome}: {', '.join(names)}" for outcome, names in sorted(outcomes.items())]
    found += [pod["msg"] if pod.get("failed") else f"{name}: {pod['msg']}" for name, pod in pods.items() if pod["msg"]]
    found += [_describe_template(name, template) for name, template in templates.items()]
    limits = [f"WARNING: not verified: {what}" for what in result.get("unverified") or ()]
    return [*(found or ["nothing was done"]), *limits]


def _describe_template(name: str, template: Json) -> str:
    if template["changed"]:
        state = "its template changes"
    elif template["differs"]:
        state = "its template differs from its pods"
    else:
        state = "its template matches its pods"
    return f"{name}: {state}" + (f"; {template['msg']}" if template.get("msg") else "")
