# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What AWX takes: the answers to surveys, and the argument specifications of modules of awx.awx, read from their sources.

The collection is in packages of Ansible up to 13. ``awx.py WHEEL`` writes what the contracts use into tests/contracts/awx_modules.json.
"""

from __future__ import annotations

import ast
import json
import sys
import typing as t
import zipfile
from pathlib import Path

import yaml

Json = dict[str, t.Any]

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "tests" / "contracts" / "awx_modules.json"
TEMPLATES = ROOT / "awx" / "data" / "job_templates.yml"
PACKAGE = "ansible==13.8.0"
DIRECTORY = "ansible_collections/awx/awx"
MODULES = ("credential", "execution_environment", "inventory", "inventory_source", "job_template", "project")


def main() -> None:
    """Write the record."""
    (wheel,) = sys.argv[1:]
    RECORD.write_text(f"{json.dumps(read_modules(Path(wheel)), indent=2)}\n", encoding="utf-8")


def survey_vars(playbook: str, **given: t.Any) -> Json:
    """The extra variables of a job: those given, and the defaults of the survey for all others. One that the survey has no question for is refused."""
    templates = yaml.safe_load(TEMPLATES.read_text(encoding="utf-8"))["controller_templates"]
    spec = next(each for each in templates if each["playbook"] == playbook)["survey_spec"].get("spec", [])
    defaults = {each["variable"]: each["default"] for each in spec}
    if unknown := set(given) - set(defaults):
        raise KeyError(f"no question of {playbook} is for {', '.join(sorted(unknown))}")
    return defaults | given


def read_modules(wheel: Path) -> Json:
    """What is recorded of a package of Ansible: where it is from, and the specification of each module."""
    with zipfile.ZipFile(wheel) as archive:
        about = json.loads(archive.read(f"{DIRECTORY}/MANIFEST.json"))["collection_info"]
        found = {
            name: specification(archive.read(f"{DIRECTORY}/plugins/modules/{name}.py").decode()) for name in MODULES
        }
    source = f"awx.awx {about['version']} in {'-'.join(wheel.name.split('-')[:2])} of PyPI"
    return {"source": source, "license": "GPL-3.0-or-later", "argument_specs": found}


def specification(source: str) -> Json:
    """The C(argument_spec) of a module, which is a call of dict in all of them."""
    (call,) = (
        node.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["argument_spec"]
    )
    return t.cast(Json, value(call))


def value(node: ast.expr) -> object:
    """The value of an expression of literals and calls of dict."""
    if isinstance(node, ast.Call):
        return {str(keyword.arg): value(keyword.value) for keyword in node.keywords}
    return ast.literal_eval(node)


if __name__ == "__main__":
    main()
