# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The systemd generator: run as systemd runs it, against what the plan says that it writes."""

from __future__ import annotations

import os
import shutil
import subprocess
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.file_values import TextFile
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.documents.systemd_service import (
    exec_start,
    read_service,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet.generator import (
    DERIVED,
    TEXT,
    VARIABLE,
    as_loaded,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet.layout import DROP_IN
from ansible_collections.nodecraft.kubeadm.tests.unit.support.kubelet_layouts import ALL, ETC_UNIT

SHELLS = [[path] for path in map(shutil.which, ("dash", "bash")) if path]
OURS = f'[Service]\nEnvironment="{VARIABLE}=--v=4"\n'
LIB_UNIT = "/usr/lib/systemd/system/kubelet.service"
MINE = f"{ETC_UNIT}.d/30-mine.conf"


class Generator:
    """The script with the whole file system below one directory."""

    def __init__(self, root: Path, shell: t.Sequence[str]) -> None:
        self.root = root
        self.shell = shell
        self.out = root / "run/systemd/generator"
        self.script = root / "generator"
        self.script.write_text(TEXT.replace('root=""', f'root="{root}"'), encoding="utf-8")
        self.write(DROP_IN, OURS)

    def write(self, path: str, text: str) -> None:
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())

    def run(self) -> tuple[str | None, str]:
        """What it writes, None for nothing, and what it prints."""
        directories = [str(self.out), f"{self.out}.early", f"{self.out}.late"]
        result = subprocess.run(
            [*self.shell, str(self.script), *directories],
            check=True,
            capture_output=True,
            text=True,
            env={"PATH": "/nowhere"},
        )
        derived = self.root / DERIVED.lstrip("/")
        left = [name for dummy, dummy_directories, names in os.walk(self.out) for name in names]
        assert left == ([derived.name] if derived.exists() else [])
        assert result.stdout == ""
        return (derived.read_text(encoding="utf-8") if derived.exists() else None), result.stderr


@pytest.fixture(name="generator", params=SHELLS, ids=[Path(shell[0]).name for shell in SHELLS])
def fixture_generator(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Generator:
    generator = Generator(tmp_path, request.param)
    # No kernel gets messages of tests.
    text = generator.script.read_text(encoding="utf-8")
    generator.script.write_text(text.replace("/dev/kmsg", "/nowhere/kmsg"), encoding="utf-8")
    return generator


def words(text: str) -> tuple[str, ...]:
    unit = [TextFile.of(ETC_UNIT, "[Service]\n"), TextFile.of(DERIVED, text)]
    return read_service(unit, {}, "w1").words


@pytest.mark.parametrize("name", sorted(ALL))
def test_the_plan_knows_what_it_writes(generator: Generator, name: str) -> None:
    unit = [*ALL[name].state().unit, TextFile.of(DROP_IN, OURS)]
    for file in unit:
        generator.write(file.path, file.text)
    written, output = generator.run()
    planned = as_loaded(unit, installed=True)
    assert output == ""
    assert written is not None
    assert words(written) == words(planned[-1].text)
    assert (planned[-1].path, words(written)[-1]) == (DERIVED, f"${VARIABLE}")
    assert ALL[name].command.split()[0] in words(written)[0]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({LIB_UNIT: "[Service]\nExecStart=/a\n", ETC_UNIT: "[Service]\nExecStart=/b x"}, "/b x"),
        ({LIB_UNIT: "[Service]\n ExecStart = -/a \\\n# no\n  'b  c' \\\n$D\n"}, "-/a  'b  c'  $D"),
        ({LIB_UNIT: "[Service]\nExecStart=/a b\\\\\\\\\nExecStart\n"}, "/a b\\\\\\\\"),
        ({LIB_UNIT: "[Service]\r\nExecStart=/a \\\r\n# no\r\n  -b \\\r\n\r\n[Install]\r\n"}, "/a  -b"),
        ({LIB_UNIT: "\ufeff[Service]\nExecStart=/a\n"}, "/a"),
        (
            {LIB_UNIT: "[Service]\nExecStart=/a\n", MINE: "\ufeff[Service]\nExecStart=\nExecStart=/c -b\n"},
            "/c -b",
        ),
        ({LIB_UNIT: "[Service]\rExecStart=/a \\\r # no\r\r\n -b\nUser=u\r[Install]\rExecStart=/x"}, "/a"),
        ({LIB_UNIT: "[Service]\nExecStart=/a \\\r  -b\r\nExecStart=\rExecStart=/c \\\r\n-d\r"}, "/c  -d"),
        ({LIB_UNIT: "[Unit]\nExecStart=/x\n[Service]\nExecStart=/a\n[Install]\nExecStart=/y\n"}, "/a"),
        ({LIB_UNIT: '[Service]\nExecStart=/a\nExecStart=\nExecStart=/b %% "\\t"\n'}, '/b %% "\\t"'),
        ({LIB_UNIT: "[Service]\nExecStart=/a\n", MINE: "[Service]\nExecStart=\nExecStart=/c \\\n"}, "/c"),
        (
            {
                LIB_UNIT: "[Service]\nExecStart=/a\n",
                MINE: "[Service]\n# nothing\n",
                f"{LIB_UNIT}.d/30-mine.conf": "[Service]\nExecStart=\nExecStart=/no\n",
                "/usr/lib/systemd/system/service.d/10-all.conf": "[Service]\nTimeoutStopFailureMode=abort\n",
                f"{LIB_UNIT}.d/40 with space.conf": "[Service]\nExecStart=\nExecStart=/d\n",
            },
            "/d",
        ),
        ({LIB_UNIT: "[Service]\nExecStart=/a\n", f"{ETC_UNIT}.d/zzzzz.conf": "[Service]\nCPUWeight=5\n"}, "/a"),
    ],
)
def test_units_as_systemd_reads_them(generator: Generator, files: dict[str, str], expected: str) -> None:
    for path, text in files.items():
        generator.write(path, text)
    written, output = generator.run()
    assert output == ""
    assert written is not None
    assert written.splitlines()[1:] == ["[Service]", "ExecStart=", f"ExecStart={expected} ${VARIABLE}"]
    shadowed = {f"{LIB_UNIT}.d/30-mine.conf"} & {f"{LIB_UNIT}.d/30-mine.conf" for path in files if path == MINE}
    unit = [TextFile.of(path, files[path]) for path in (ETC_UNIT, LIB_UNIT) if path in files][:1]
    drop_ins = {path: text for path, text in files.items() if ".d/" in path and path not in shadowed}
    ordered = [TextFile.of(path, drop_ins[path]) for path in sorted(drop_ins, key=os.path.basename)]
    assert read_service([*unit, *ordered], {}, "w1").words == words(written)[:-1]
    assert exec_start([*unit, *ordered])[0].split() == expected.split()


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({}, "there is no kubelet.service"),
        ({LIB_UNIT: "[Service]\n"}, "kubelet.service has 0 commands"),
        ({LIB_UNIT: "[Service]\nExecStart=/a\nExecStart=/b\n"}, "kubelet.service has 2 commands"),
        ({LIB_UNIT: "[Service]\nExecStart=/a ; /b\n"}, "several commands in one ExecStart"),
        (
            {LIB_UNIT: "[Service]\nExecStart=:/a $B\n"},
            "the command of kubelet.service does not begin with a plain path",
        ),
        ({LIB_UNIT: "[Service]\nExecStart=@/a b\n"}, "does not begin with a plain path"),
        ({LIB_UNIT: "[Service]\nExecStart=a b\n"}, "does not begin with a plain path"),
        (
            {
                LIB_UNIT: "[Service]\nExecStart=/a\n",
                f"{ETC_UNIT}.d/zzzzz.conf": "[Service]\nExecStart=\nExecStart=/b\n",
            },
            "zzzzz.conf sets ExecStart behind",
        ),
    ],
)
def test_what_is_not_certain_is_left_as_it_is_and_reported(
    generator: Generator, files: dict[str, str], why: str
) -> None:
    for path, text in files.items():
        generator.write(path, text)
    written, output = generator.run()
    assert written is None
    assert why in output
    assert f"the kubelet starts without the arguments of {DROP_IN}" in output
    unit = [TextFile.of(path, text) for path, text in files.items()]
    if unit:
        with pytest.raises(Refusal):
            as_loaded([*unit[:1], TextFile.of(DROP_IN, OURS), *unit[1:]], installed=True)


def test_a_masked_unit_stays_masked(generator: Generator) -> None:
    generator.write(LIB_UNIT, "[Service]\nExecStart=/a\n")
    (generator.root / ETC_UNIT.lstrip("/")).symlink_to("/dev/null")
    written, output = generator.run()
    assert written is None
    assert "is a link to /dev/null" in output


def test_it_does_nothing_without_our_drop_in_or_where_the_unit_takes_the_variable(generator: Generator) -> None:
    generator.write(LIB_UNIT, f"[Service]\nExecStart=/a ${VARIABLE}\n")
    assert generator.run() == (None, "")
    generator.write(LIB_UNIT, "[Service]\nExecStart=/a\n")
    (generator.root / DROP_IN.lstrip("/")).unlink()
    assert generator.run() == (None, "")


def test_what_cannot_be_written_is_not_left_half(generator: Generator) -> None:
    generator.write(LIB_UNIT, "[Service]\nExecStart=/a\n")
    generator.out.parent.mkdir(parents=True)
    generator.out.write_text("", encoding="utf-8")
    directories = [str(generator.out)] * 3
    result = subprocess.run(
        [*generator.shell, str(generator.script), *directories], check=True, capture_output=True, text=True
    )
    assert "cannot be written" in result.stderr


def test_a_command_of_another_generator_is_refused() -> None:
    unit = [
        TextFile.of(LIB_UNIT, "[Service]\nExecStart=/a\n"),
        TextFile.of(DROP_IN, OURS),
        TextFile.of("/run/systemd/generator/kubelet.service.d/x.conf", "[Service]\nExecStart=\nExecStart=/b\n"),
    ]
    with pytest.raises(Refusal, match=r"kubelet.service.d/x.conf:3: the kubelet's command comes from a file"):
        as_loaded(unit, installed=True)
    assert as_loaded(unit, installed=False) == unit
