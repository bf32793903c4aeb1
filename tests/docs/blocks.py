# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fenced blocks of the guides: which there are, what each is, and which is marked as not executed here."""

from __future__ import annotations

import enum
import itertools
import re
import textwrap
import typing as t
from pathlib import Path

import yaml

COMMANDS = ("console", "shell")
YAML = "yaml"
# Readers only read them: output, diagrams, queries.
DISPLAYED_LANGUAGES = ("mermaid", "promql", "text")

FENCE = re.compile(r"(?P<indent> *)```(?P<language>\w*)")
NOTE = re.compile(r" *\*Not executed here: (?P<reason>.+)\.\*")
FILE = re.compile(r"# (?P<path>[\w/.-]+\.yml)\n")
PROMPT = "$ "
# What a reader who follows the pages calls the hosts.
NAMES = re.compile(r"(?<![\w.-])(?P<name>cp1|w1|w2)(?![\w-])")
FILES_OF_VARIABLES = ("group_vars/", "host_vars/")
GROUPS = frozenset({"all", "kube_control_plane", "kube_node"})


class Shape(enum.Enum):
    """What a block is to the reader who follows the page."""

    COMMANDS = "commands"
    PLAYBOOK = "a playbook"
    TASKS = "a list of tasks"
    INVENTORY = "an inventory"
    VARIABLES = "variables"
    OBJECTS = "objects of Kubernetes"
    OTHER = "something that no command takes"
    DISPLAYED = "displayed"


class Block(t.NamedTuple):
    """One block. line: of its fence; reason: why it is not executed, as on the page, or empty."""

    page: str
    line: int
    language: str
    text: str
    reason: str

    @property
    def name(self) -> str:
        """Where it is."""
        return f"{self.page}:{self.line}"

    @property
    def shape(self) -> Shape:
        """What it is."""
        if self.language in COMMANDS:
            return Shape.COMMANDS
        if self.language != YAML:
            return Shape.DISPLAYED
        shape = shape_of(read_yaml(self.text))
        return Shape.VARIABLES if self.file.startswith(FILES_OF_VARIABLES) and shape is Shape.OTHER else shape

    @property
    def executed(self) -> bool:
        """Whether it is executed."""
        return self.shape is not Shape.DISPLAYED and not self.reason

    @property
    def file(self) -> str:
        """The file that its first line names, or empty."""
        named = FILE.match(self.text)
        return named["path"] if named else ""

    @property
    def commands(self) -> str:
        """What a shell gets: of a console the lines behind the prompt, without what was printed."""
        if self.language != "console":
            return self.text
        return "".join(line.removeprefix(PROMPT) for line in self.text.splitlines(True) if line.startswith(PROMPT))


def parse_blocks(page: str, text: str) -> list[Block]:
    """All blocks of a page, in its order."""
    lines = text.splitlines()
    found = []
    number = 0
    while number < len(lines):
        opening = FENCE.fullmatch(lines[number])
        if opening is None:
            number += 1
            continue
        end = next(at for at in itertools.count(number + 1) if lines[at].strip() == "```")
        content = textwrap.dedent("".join(f"{line}\n" for line in lines[number + 1 : end]))
        found.append(Block(page, number + 1, opening["language"], content, note_beside(lines, number, end)))
        number = end + 1
    return found


def note_beside(lines: t.Sequence[str], begin: int, end: int) -> str:
    """The reason in the paragraph right before or right behind a block."""
    before = next((line for line in reversed(lines[:begin]) if line.strip()), "")
    behind = next((line for line in lines[end + 1 :] if line.strip()), "")
    note = NOTE.fullmatch(before) or NOTE.fullmatch(behind)
    return note["reason"] if note else ""


def read_yaml(text: str) -> list[t.Any]:
    """The YAML documents of a block."""
    return list(yaml.safe_load_all(text))


def shape_of(content: t.Sequence[t.Any]) -> Shape:
    """What YAML documents are to Ansible, or to kubectl."""
    if all(isinstance(one, dict) and {"apiVersion", "kind"} <= set(one) for one in content):
        return Shape.OBJECTS
    if len(content) != 1:
        return Shape.OTHER
    (one,) = content
    if isinstance(one, list) and all(isinstance(entry, dict) for entry in one):
        plays = [bool({"hosts", "ansible.builtin.import_playbook"} & set(entry)) for entry in one]
        tasks = ["name" in entry and any(entry_is_module(key) for key in entry) for entry in one]
        return Shape.PLAYBOOK if all(plays) else Shape.TASKS if all(tasks) else Shape.OTHER
    if isinstance(one, dict):
        return Shape.INVENTORY if set(one) <= GROUPS else shape_of_mapping(one)
    return Shape.OTHER


def entry_is_module(key: str) -> bool:
    """Whether a key of a task is the name of a module, in full as everywhere here."""
    return key.count(".") == 2


def shape_of_mapping(one: t.Mapping[str, t.Any]) -> Shape:
    """Variables are those of one of the collection's roles and playbooks."""
    return Shape.VARIABLES if all(playbook_of(name) for name in one) else Shape.OTHER


# The playbook that applies the variables of this beginning.
PLAYBOOKS = {
    "control_plane_": "site",
    "device_plugin_": "device_plugin",
    "kube_": "site",
    "node_kubelet_": "site",
    "node_resources_": "node_resources",
    "placement_guard_": "placement_guard",
    "pod_resize_": "resize",
}


def playbook_of(variable: str) -> str:
    """The playbook that applies a variable, or empty."""
    return next((playbook for prefix, playbook in PLAYBOOKS.items() if variable.startswith(prefix)), "")


def rename_nodes(text: str, lab: str) -> str:
    """A text with the nodes of a lab in the place of the reader's."""
    return NAMES.sub(rf"{lab}-\g<name>", text)


def pages(root: Path) -> list[str]:
    """README and guides, in the order in which they are followed."""
    return ["README.md", *sorted(str(path.relative_to(root)) for path in (root / "docs").glob("*.md"))]


def read_blocks(root: Path) -> list[Block]:
    """The blocks of all pages."""
    return [block for page in pages(root) for block in parse_blocks(page, (root / page).read_text(encoding="utf-8"))]
