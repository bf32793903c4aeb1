# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The data for AWX: modules of awx.awx take it, and surveys ask for what the collection takes. No AWX is used here."""

from __future__ import annotations

import copy
import functools
import json
import os
import re
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction import rollback
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.upgrade import findings
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT
from ansible_collections.nodecraft.kubeadm.tests.sessions import awx

Json = dict[str, t.Any]

AWX = ROOT / "awx"
PROJECT = AWX / "project"
PLAYBOOKS = sorted(PROJECT.glob("*.yml"))
# Which module of awx.awx takes which data.
MODULES = {
    "controller_credentials": "credential",
    "controller_execution_environments": "execution_environment",
    "controller_inventories": "inventory",
    "controller_inventory_sources": "inventory_source",
    "controller_projects": "project",
    "controller_templates": "job_template",
}
# It changes nothing, so it needs no plan.
READING = {"upgrade_check.yml"}
# The types of arguments that an answer of each type of question may be for. Answers to a choice are texts, and Ansible reads booleans from them.
ARGUMENT_TYPES = {"multiplechoice": {"bool", "str"}, "multiselect": {"list"}, "text": {"path", "str"}}
BOOLEANS = ["true", "false"]
# Variables of roles that are words for one run. An answer overrides the inventory, so all other variables of roles are set there.
ONE_RUN = re.compile(r"\w+_(resume|restore_removed|lease_takeover|force|allow_\w+)")
# awx/data takes its variables of the user by this name.
OF_USER = re.compile(r"\{\{ awx_\w+ \}\}")


def load(path: Path) -> t.Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@functools.cache
def data() -> Json:
    return {name: value for path in sorted(AWX.glob("data/*.yml")) for name, value in load(path).items()}


def templates() -> list[Json]:
    return list(data()["controller_templates"])


def module_errors(module: str, item: Json) -> list[str]:
    """The errors of a module of awx.awx for an object."""
    specs = json.loads(awx.RECORD.read_text(encoding="utf-8"))["argument_specs"]
    return list(ArgumentSpecValidator(specs[module]).validate(copy.deepcopy(item)).error_messages)


@pytest.mark.parametrize("variable", MODULES)
def test_each_module_takes_the_data(variable: str) -> None:
    assert [
        (item["name"], found) for item in data()[variable] if (found := module_errors(MODULES[variable], item))
    ] == []


def test_all_data_is_used_by_the_playbook() -> None:
    (play,) = load(AWX / "configure.yml")
    used = {
        re.findall(r"\w+", task["loop"])[0]: name for task in play["tasks"] for name in task if name.startswith("awx.")
    }
    assert used == {variable: f"awx.awx.{module}" for variable, module in MODULES.items()}
    assert set(data()) == set(MODULES)
    assert {f"data/{path.name}" for path in AWX.glob("data/*.yml")} == set(play["vars_files"])


def test_the_playbook_hands_over_each_key_of_each_object() -> None:
    (play,) = load(AWX / "configure.yml")
    tasks = {re.findall(r"\w+", task["loop"])[0]: task for task in play["tasks"]}
    for variable, module in MODULES.items():
        for item in data()[variable]:
            assert tasks[variable][f"awx.awx.{module}"] == {key: f"{{{{ item.{key} }}}}" for key in item}


def load_by_ansible(path: Path) -> subprocess.CompletedProcess[str]:
    """Have Ansible load variables, with a duplicate key as an error; by default it warns."""
    command = [sys.executable, "-m", "ansible", "adhoc", "localhost", "--module-name=ansible.builtin.include_vars"]
    environment = {**os.environ, "ANSIBLE_DUPLICATE_YAML_DICT_KEY": "error"}
    return subprocess.run(
        [*command, f"--args=file={path} name=data"], env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("path", sorted(AWX.glob("data/*.yml")), ids=lambda path: path.stem)
def test_ansible_finds_no_duplicate_key_in_the_data(path: Path) -> None:
    done = load_by_ansible(path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_merged_key_that_is_overridden_is_found(tmp_path: Path) -> None:
    path = tmp_path / "vars.yml"
    path.write_text("a:\n  <<: {b: 1}\n  b: 2\n", encoding="utf-8")
    done = load_by_ansible(path)
    assert done.returncode != 0
    assert "duplicate" in (done.stdout + done.stderr).lower()


# ---- job templates ---------------------------------------------------------------------------------------------------


def template_errors(found: t.Sequence[Json]) -> list[str]:
    """What is wrong with job templates."""
    problems = []
    changing = {item["playbook"] for item in found} - READING
    for playbook in sorted(changing):
        plans = [item for item in found if item["playbook"] == playbook and item["job_type"] == "check"]
        applies = [item for item in found if item["playbook"] == playbook and item["job_type"] == "run"]
        twins = [{**item, "name": "", "description": "", "job_type": ""} for item in (*plans, *applies)]
        if len(plans) != 1 or len(applies) != 1 or twins[0] != twins[1]:
            problems.append(f"{playbook} has no plan and apply that are otherwise the same")
    for item in found:
        if item["job_slice_count"] != 1 or item["allow_simultaneous"] is not False:
            problems.append(f"{item['name']}: a run needs all nodes of its cluster, and is the only one")
        if "ask_job_slice_count_on_launch" in item or "ask_job_type_on_launch" in item:
            problems.append(f"{item['name']}: how a job runs is no question")
        if item["job_type"] == "check" and not item["diff_mode"]:
            problems.append(f"{item['name']}: a plan shows what it would change")
    return problems


def test_every_change_has_a_plan_and_an_apply_and_none_is_sliced() -> None:
    assert template_errors(templates()) == []
    names = [item["name"] for item in templates()]
    assert len(set(names)) == len(names)


def test_job_templates_name_what_is_there() -> None:
    assert {item["playbook"] for item in templates()} == {path.name for path in PLAYBOOKS}
    for item in templates():
        for key, variable in (
            ("project", "controller_projects"),
            ("inventory", "controller_inventories"),
            ("execution_environment", "controller_execution_environments"),
        ):
            assert item[key] in [each["name"] for each in data()[variable]]
        assert {*item["credentials"]} <= {each["name"] for each in data()["controller_credentials"]}


def test_no_secret_is_in_the_data() -> None:
    inputs = [each["inputs"] for each in data()["controller_credentials"]]
    for secret in ("ssh_key_data", "bearer_token"):
        assert [OF_USER.fullmatch(each[secret]) is not None for each in inputs if secret in each] == [True]
    # AWX switches the verification off where it has no authority to verify with.
    assert all("ssl_ca_cert" in each for each in inputs if each.get("verify_ssl"))


@pytest.mark.parametrize(
    "change",
    [
        {"job_slice_count": 4},
        {"allow_simultaneous": True},
        {"job_type": "run"},
        {"diff_mode": False},
        {"ask_job_slice_count_on_launch": True},
    ],
    ids=str,
)
def test_a_job_template_that_would_harm_is_found(change: Json) -> None:
    first, *others = templates()
    assert template_errors([{**first, **change}, *others]) != []


# ---- the project -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PLAYBOOKS, ids=lambda path: path.stem)
def test_a_playbook_of_the_project_is_one_of_the_collection(path: Path) -> None:
    (play,) = load(path)
    assert set(play) == {"name", "ansible.builtin.import_playbook"}
    assert play["ansible.builtin.import_playbook"] == f"nodecraft.kubeadm.{path.stem}"
    assert (ROOT / "playbooks" / path.name).is_file()


# ---- surveys ---------------------------------------------------------------------------------------------------------


@functools.cache
def of_roles() -> Json:
    """The variables of all roles."""
    specs = [load(path)["argument_specs"]["main"]["options"] for path in ROOT.glob("roles/*/meta/argument_specs.yml")]
    return {name: option for options in specs for name, option in options.items()}


def argument(variable: str) -> Json:
    """The specification of a variable: a role, the module that a playbook hands it to, or the playbook's own decision."""
    if variable == "rollback_components":
        return {"type": "list", "choices": sorted([*rollback.STATIC_PODS, rollback.KUBELET])}
    if variable == findings.ACCEPT:
        return {"type": "list", "choices": list(findings.CHECKS)}
    if variable in of_roles():
        return dict(of_roles()[variable])
    for module in ("pod_resize", "upgrade_check"):
        if variable.startswith(f"{module}_"):
            text = (ROOT / "plugins" / "modules" / f"{module}.py").read_text(encoding="utf-8")
            documentation = re.findall(r'^DOCUMENTATION = r?"""\n(.*?)^"""', text, re.MULTILINE | re.DOTALL)[0]
            return dict(yaml.safe_load(documentation)["options"][variable.removeprefix(f"{module}_")])
    raise KeyError(variable)


def is_setting(variable: str) -> bool:
    """Whether a variable belongs in the inventory."""
    return variable in of_roles() and ONE_RUN.fullmatch(variable) is None


def question_errors(question: Json) -> list[str]:
    """What is wrong with a question of a survey: the answer would be refused, or mean something else."""
    kind, known = question["type"], argument(question["variable"])
    problems = []
    choices = question["choices"].splitlines() if "choices" in question else []
    expected = known.get("choices") or (BOOLEANS if known["type"] == "bool" else [])
    if known["type"] not in ARGUMENT_TYPES.get(kind, ()):
        problems.append(f"{kind} is no answer for {known['type']}")
    if sorted(choices) != sorted(expected):
        problems.append(f"choices {choices} are not {expected}")
    default = known.get("default", "")
    if str(question["default"]) != (str(default).lower() if known["type"] == "bool" else str(default)):
        problems.append(f"default {question['default']!r} is not {default!r}")
    if known.get("required") and not question["required"]:
        problems.append("is required")
    if is_setting(question["variable"]):
        problems.append("is a setting")
    return problems


def questions_of(template: Json) -> list[Json]:
    return list(template["survey_spec"].get("spec", []))


def questions() -> list[Json]:
    return [question for item in templates() for question in questions_of(item)]


def test_surveys_request_what_the_collection_takes() -> None:
    assert [(question["variable"], found) for question in questions() if (found := question_errors(question))] == []
    assert {question["type"] for question in questions()} == set(ARGUMENT_TYPES)
    for item in templates():
        variables = [question["variable"] for question in questions_of(item)]
        assert item["survey_enabled"] is bool(variables)
        assert len(set(variables)) == len(variables)


@pytest.mark.parametrize(
    ("variable", "change"),
    [
        ("control_plane_resume", {"type": "text"}),
        ("control_plane_resume", {"choices": "yes\nno"}),
        ("control_plane_resume", {"default": "true"}),
        ("control_plane_resume", {"variable": "node_kubelet_adopt"}),
        ("pod_resize_namespace", {"required": False}),
        ("pod_resize_template", {"choices": "keep\nupdate"}),
        ("rollback_components", {"choices": "kubelet"}),
        ("upgrade_check_accept_unrehearsed", {"choices": "all"}),
    ],
    ids=str,
)
def test_a_question_of_another_type_is_found(variable: str, change: Json) -> None:
    question = next(each for each in questions() if each["variable"] == variable)
    assert question_errors(question) == []
    assert question_errors({**question, **change}) != []


def test_a_setting_is_found() -> None:
    assert is_setting("control_plane_lock_timeout")
    assert is_setting("node_kubelet_adopt")
    assert not is_setting("node_kubelet_lease_takeover")
    assert not is_setting("upgrade_check_target")


def test_a_variable_that_the_collection_does_not_have_is_found() -> None:
    with pytest.raises(KeyError):
        argument("control_plane_resumed")


def test_an_object_that_awx_would_refuse_is_found() -> None:
    (template, *_others) = templates()
    assert module_errors("job_template", {**template, "job_type": "scan"}) != []
    assert module_errors("job_template", {**template, "job_slices": 1}) != []
    assert module_errors("inventory", {"name": "without an organization"}) != []
