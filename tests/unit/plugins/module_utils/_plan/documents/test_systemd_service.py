# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Command lines of services: by systemd's rules, with the source of each argument."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.file_values import TextFile
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.documents.systemd_service import (
    environment_files,
    quote_argument,
    quote_assignment,
    read_service,
    replace_file,
)
from hypothesis import example, given
from hypothesis import strategies as st

UNIT = "/etc/u.service"


def command(text: str, environment: str = "") -> list[str]:
    return read_service([TextFile.of(UNIT, f"[Service]\n{text}")], {"/e": environment}, "w1.example.com").command


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ExecStart=/k a 'b c' \"d'e\"", ["/k", "a", "b c", "d'e"]),
        ("ExecStart=-/k \\\n  a \\\n# comment\n  b", ["/k", "a", "b"]),
        ("ExecStart=/old\nExecStart=\nExecStart=/k", ["/k"]),
        (
            "Environment=A=1 'B=2 3'\nEnvironment=\"C=x\"\nExecStart=/k $A $B ${B} ${C}-${D} $D",
            ["/k", "1", "2", "3", "2 3", "x-"],
        ),
        # Only a whole word is a variable without braces, and its name is all of the word.
        (
            "Environment=A=1\nExecStart=/k --a=$A $A-b $ --c=${A}$A --d=${A:-e} f$",
            ["/k", "--a=$A", "--c=1$A", "--d=${A:-e}", "f$"],
        ),
        # A percent sign before anything but a letter begins no specifier.
        (
            'Environment="A=--a<5%,b<7%" B=9%\nExecStart=/k --c=3% $A $B %%p',
            ["/k", "--c=3%", "--a<5%,b<7%", "9%", "%p"],
        ),
        ("ExecStart=/k a\u00a0b\u2028c \u00a0", ["/k", "a\u00a0b\u2028c", "\u00a0"]),
        ('Environment=A-B=1 "C D=2" 3=4 E=5\nExecStart=/k $A-B x${A-B} $3 $E', ["/k", "x", "5"]),
        ("Environment=A=1\nEnvironment=\nExecStart=/k $A x", ["/k", "x"]),
        ("Environment=A=1\nEnvironment=A=2\nExecStart=/k $A", ["/k", "2"]),
        ('Environment="A=50%% \\"q\\""\nExecStart=/k ${A}', ["/k", '50% "q"']),
        ("Environment=A=1\nEnvironmentFile=-/e\nExecStart=/k $A", ["/k", "file"]),
        ("ExecStart=/k $$A", ["/k", "$A"]),
        ("[Other]\nExecStart=/x\n[Service]\nExecStart=/k", ["/k"]),
        ("ExecStart=/k %H %l %n %N %p %%", ["/k", "w1.example.com", "w1", "u.service", "u", "u", "%"]),
        ("Environment=A=%l\nExecStart=/k $A", ["/k", "w1"]),
        ("EnvironmentFile=-/%%e\nEnvironmentFile=/e\nExecStart=/k $A", ["/k", "file"]),
        ("ExecStart=/k a\\\\\n[Install]\n", ["/k", "a\\"]),
        ("ExecStart=/k 'a; b'", ["/k", "a; b"]),
    ],
)
def test_command_lines(text: str, expected: list[str]) -> None:
    assert command(text, "A=file\n" if "/e" in text else "") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A=x y\n", ["x", "y"]),
        ("# A=no\n;A=no\nA='x \"y z\"'\n", ["x", "y z"]),
        ('A="x \\"y z\\""\n', ["x", "y z"]),
        ("A=x \\\n  y\n", ["x", "y"]),
        ("A=1\nA=2\n", ["2"]),
        ("A=\n", []),
        ("no assignment\nA = spaced\nA=x   \n", ["x"]),
        ("A = spaced\n", ["spaced"]),
        ('A=--a="b c" d\n', ["--a=b c", "d"]),
        ("A='a' \"b\"\n", ["ab"]),
        ("A='a' b c\n", ["ab", "c"]),
        ("A=a # b\n", ["a", "#", "b"]),
        ("A=a\\\\\nB=c\n", ["a\\"]),
        ("# no \\\n\nA=x\n", ["x"]),
        ("# no \\\r\nA=x y\r\n", ["x", "y"]),
        ("A=x \\ \nB=y\n", ["x"]),
        ("A=x\u00a0y\x0cz\u2028\n", ["x\u00a0y\x0cz\u2028"]),
    ],
)
def test_environment_files(text: str, expected: list[str]) -> None:
    assert command("EnvironmentFile=/e\nExecStart=/k $A", text) == ["/k", *expected]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "give 0 commands in ExecStart .none."),
        ("ExecStart=/a\nExecStart=/b", rf"give 2 commands in ExecStart .{UNIT}:2, {UNIT}:3."),
        ("ExecStart=@/a b", "is not understood here. Write one command"),
        ("ExecStart=/a %q", f"{UNIT}:2: the specifier %q is not understood here .*Write there what it stands for"),
        ("EnvironmentFile=/e%q\nExecStart=/a", f"{UNIT}:2: the specifier %q"),
        ("ExecStart=/a 'b", f"{UNIT}:2: a quotation mark is not closed"),
        ("ExecStart=:/a b", f"{UNIT}:2: ExecStart=:/a b is not understood"),
        ("ExecStart=a b", f"{UNIT}:2: ExecStart=a b is not understood"),
        ("ExecStart=/a b ; /c", f"{UNIT}:2: ExecStart=/a b ; /c is not understood"),
        ("ExecStart=/a \\q", "the escape"),
        ("EnvironmentFile=/e\nExecStart=/a $A", "/e:1: a value over several lines"),
        ("EnvironmentFile=/e\nExecStart=/a $B", "/e:1: a comment ends with a backslash"),
        ("EnvironmentFile=/e\nExecStart=/a $C", "/e:1: behind this backslash is a carriage return"),
    ],
)
def test_what_is_not_understood_is_refused_with_its_line(text: str, words: str) -> None:
    texts = {"several": "A='x\ny'\n", "comment": "# x\\\nB=y\n", "carriage": "C=x \\\r\ny\r\n"}
    environment = next((each for word, each in texts.items() if word in words), "")
    with pytest.raises(Refusal, match=words):
        command(text, environment)


def test_sources_are_files_and_lines() -> None:
    unit = [
        TextFile.of("u", "[Service]\nEnvironmentFile=-/e\nExecStart=/k \\\n $A $B c\n"),
        TextFile.of("d/1.conf", "[Service]\n\n# comment\nEnvironment=B=b\n"),
    ]
    assert environment_files(unit, "w1") == ["/e"]
    service = read_service(unit, {"/e": "X=1\nA=a\n"}, "w1")
    assert [(argument.text, str(argument.source), argument.variable) for argument in service.arguments] == [
        ("/k", "u:3", None),
        ("a", "/e:2", "A"),
        ("b", "d/1.conf:4", "B"),
        ("c", "u:3", None),
    ]


def test_a_byte_order_mark_is_no_part_of_the_first_line() -> None:
    assert read_service([TextFile.of(UNIT, "\ufeff[Service]\nExecStart=/k a\n")], {}, "w1").command == ["/k", "a"]


def test_drop_ins_are_read_by_name_whatever_their_directory() -> None:
    unit = [TextFile.of("u", ""), TextFile.of("/usr/u.d/10-a.conf", ""), TextFile.of("/etc/u.d/30-c.conf", "")]
    added = TextFile.of("/etc/u.d/20-b.conf", "x")
    with_it = replace_file(unit, added.path, added.version)
    assert [file.path for file in with_it][1:] == ["/usr/u.d/10-a.conf", "/etc/u.d/20-b.conf", "/etc/u.d/30-c.conf"]
    assert replace_file(with_it, added.path, None) == unit


def test_the_units_own_file_is_changed_in_its_place() -> None:
    unit = [TextFile.of("/usr/u.service", "a"), TextFile.of("/etc/u.d/10-a.conf", "")]
    changed = TextFile.of("/usr/u.service", "b")
    assert replace_file(unit, changed.path, changed.version) == [changed, unit[1]]


_TEXT = st.text(st.characters(blacklist_categories=("Cs", "Cc", "Zl", "Zp"), blacklist_characters="\x85"), min_size=1)


@given(st.lists(_TEXT))
@example(["kubelet"])
def test_whatever_is_quoted_is_read_back(arguments: list[str]) -> None:
    value = " ".join(quote_argument(argument) for argument in arguments)
    text = f"Environment={quote_assignment('A', value)}\nExecStart=/kubelet $A"
    assert command(text) == ["/kubelet", *arguments]
