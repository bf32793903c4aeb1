# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Words that gave way to those of the glossary in docs/architecture.md: no name, no file and no text has them any more."""

from __future__ import annotations

import ast
import re
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT, project_files

# As a part of a name, such as in old_name or OldName.
PARTS = {
    *("wish", "wishes", "wished", "folder", "folders", "obstacle", "obstacles", "anew", "nudge", "nudged", "asker"),
    *("fitness", "sight", "somebody", "nobody", "nobodys", "whoever", "proven", "unproven", "settle", "settled"),
    *(
        "unsettled",
        "left_out",
        "in_step",
        "take_back",
        "takes_back",
        "taken_back",
        "put_back",
        "way_back",
        "by_hand",
        "roll_out",
    ),
    # A thing is named by what it is: a response, a message, a request, an observation.
    *("told", "tells", "says", "said", "asked", "asks", "speaker", "speaks", "looked", "looks", "begun"),
    *("unwell", "strayed", "strangers", "untold", "unheard", "unasked", "shut_out", "thief", "wanted_file"),
}
# As a whole name; a part of one may be plain English.
NAMES = {"answered", "unanswered", "room", "rooms"}
# To pass over files fast. CamelCase has no underscores.
JOINED = {word.replace("_", "") for word in PARTS | NAMES}
# In comments, documentation and messages, also across the end of a line: a word of each phrase, to find it fast, and the phrase.
PHRASES = {
    "wish": "(?:an?|any|each|its|of|same|that|the|this) wish(?:es)?",
    "folder": "(?:an?|any|each|its|of|same|that|the|this) folders?",
    **{word: word for word in ("anew", "somebody", "nobody")},
    "asked": "what is asked for",
    "back": "ways? back",
    "hand": "by hand",
    "name": "is no name of",
    "got": "has not got",
    "had": "as far as it can be had",
    "outside": "word from outside",
    "left": "left out",
    "go": "lets? go",
    "roll-out": "roll-outs?",
}
BETWEEN = r"[ #]*[ \n][ #]*"
PATTERNS = {word: re.compile(rf"\b{phrase.replace(' ', BETWEEN)}\b", re.IGNORECASE) for word, phrase in PHRASES.items()}
# What reads the words of earlier versions has to hold them.
EARLIER = re.compile(r"^_EARLIER_NAMES = \{.*?\}", re.MULTILINE | re.DOTALL)
# Texts of other people, what was said of released versions, and this file.
ELSEWHERE = ("COPYING", "LICENSES/", "changelogs/", "tests/contracts/test_retired_words.py")

YAML_KEY = re.compile(r"^[ -]*([A-Za-z_]\w*):(?=\s|$)", re.MULTILINE)
EXPRESSION = re.compile(r"\{[{%](.*?)[%}]\}", re.DOTALL)
LITERAL = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"")
WORD = re.compile(r"[A-Za-z_]\w*")


def is_retired(name: str) -> bool:
    """Whether a name is one of the words or consists of one."""
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_")
    return plain in NAMES or any(f"_{part}_" in f"_{plain}_" for part in PARTS)


def names(path: Path, text: str) -> t.Iterator[str]:
    """The names of a file: of Python all that are no keyword, of YAML keys and what its expressions read."""
    yield from (part for place in path.parts for part in place.split("."))
    joined = text.lower().replace("_", "")
    if not any(word in joined for word in JOINED):
        return
    if path.suffix == ".py":
        # Not its tokens: before Python 3.12 an f-string is one of them.
        for node in ast.walk(ast.parse(text)):
            for _field, value in () if isinstance(node, ast.Constant) else ast.iter_fields(node):
                found = value if isinstance(value, list) else [value]
                yield from (name for dotted in found if isinstance(dotted, str) for name in dotted.split("."))
    elif path.suffix in {".j2", ".yaml", ".yml"}:
        yield from YAML_KEY.findall(text)
        yield from (word for word in WORD.findall(text) if "_" in word)
        for expression in EXPRESSION.findall(text):
            yield from WORD.findall(LITERAL.sub("", expression))


def findings(path: Path, text: str) -> list[str]:
    """The retired names and phrases of a file."""
    prose = EARLIER.sub("", text)
    lower = prose.lower()
    patterns = [pattern for word, pattern in PATTERNS.items() if word in lower]
    phrases = (match.group() for pattern in patterns for match in pattern.finditer(prose))
    return [*dict.fromkeys(name for name in names(path, text) if is_retired(name)), *phrases]


def test_no_file_has_a_retired_word() -> None:
    found = []
    for path in project_files(ROOT):
        if not str(path).startswith(ELSEWHERE):
            text = (ROOT / path).read_text(encoding="utf-8")
            found += [f"{path}: {finding}" for finding in findings(path, text)]
    assert found == []


@pytest.mark.parametrize(
    ("path", "text", "word"),
    [
        ("a.py", "wish = 1\n", "wish"),
        ("a.py", "def f(*, former_wish: int) -> None: ...\n", "former_wish"),
        ("a.py", "class FolderWatcher: ...\n", "FolderWatcher"),
        ("a.py", "class WayBack: ...\n", "WayBack"),
        ("a.py", "ROOMS = {}\n", "ROOMS"),
        ("a.py", "f(left_out=x)\n", "left_out"),
        ("a.py", "x.takes_back()\n", "takes_back"),
        ("a.py", "text = f'{UNPROVEN}'\n", "UNPROVEN"),
        ("a.py", "told.answered = True\n", "answered"),
        ("a.py", "def test_nobody_answers() -> None: ...\n", "test_nobody_answers"),
        ("a.yml", "- name: x\n  wishes:\n    - y\n", "wishes"),
        ("a.yml", "when: __role_pass.left_out | length > 0\n", "left_out"),
        ("a.yml", "msg: \"{{ wish | combine({'a': 1}) }}\"\n", "wish"),
        ("a.j2", "{% for folder in folders %}\n", "folder"),
        ("tasks/settled.yml", "---\n", "settled"),
        ("a.py", "# What goes by\n# hand.\n", "by\n# hand"),
        ("a.py", '"""It is started anew."""\n', "anew"),
        ("a.md", "It has the\nfolder.\n", "the\nfolder"),
        ("a.md", "The way back.\n", "way back"),
    ],
)
def test_a_breach_is_found(path: str, text: str, word: str) -> None:
    assert findings(Path(path), text)[0] == word


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", '_EARLIER_NAMES = {\n    "somebody": "other",\n}\n'),
        ("a.py", 'x = {"wish": 1}["wish"]\n'),
        ("a.py", "def test_a_request_that_is_answered() -> None: ...\n"),
        ("a.py", "oversight = insight\n"),
        ("a.yml", "msg: it was answered, and was seen\n"),
        ("a.yml", "msg: \"{{ x | select('search', 'wish') }}\"\n"),
        ("a.md", "The directory of manifests.\n"),
    ],
)
def test_what_is_allowed_passes(path: str, text: str) -> None:
    assert findings(Path(path), text) == []
