# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line: what it checks and shows, and its exit status."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest
from nodecraft_device_plugin import cli, logs
from running_plugin import SCAN

FAKE = "resources: [{name: example.com/x, discover: [{fake: {count: 2, numaNodes: [0]}}, {path: {glob: /dev/none*}}]}]"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.yaml"


def test_a_valid_configuration(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(FAKE, encoding="utf-8")
    assert cli.main(["--config", str(file), "--validate"]) == 0
    assert capsys.readouterr().out == f"{file} is valid: 1 resources\n"


@pytest.mark.parametrize("option", ["--validate", "--explain", "--drain"])
def test_an_invalid_configuration_ends_with_2_and_names_line_and_key(
    file: Path, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(f"{SCAN}\nresources: [{{name: dongle, discover: [{{fake: {{count: x}}}}]}}]", encoding="utf-8")
    assert cli.main(["--config", str(file), option]) == 2
    assert sorted(capsys.readouterr().err.splitlines()) == [
        f"{file}: line 2: resources[0].discover[0].fake.count: invalid value 'x': must be an integer, 0 or more",
        f"{file}: line 2: resources[0].name: invalid resource name 'dongle': must be an extended resource such as example.com/dongle",
    ]


@pytest.mark.parametrize(
    ("text", "status", "output"),
    [
        (FAKE, 0, "/dev/stdin is valid: 1 resources"),
        (
            "resources: [{name: example.com/x, discover: [{fake: {count: 2}}],\n  preference: best}]",
            2,
            "/dev/stdin: line 2: resources[0].preference: invalid value 'best': must be one of packed, spread",
        ),
    ],
)
def test_a_controller_validates_with_pyyaml_alone(text: str, status: int, output: str) -> None:
    # The other packages that the plugin needs to serve cannot be imported here.
    program = f"""
import runpy, sys
sys.modules.update(dict.fromkeys(["grpc", "google", "prometheus_client"]))
sys.path.insert(0, {str(Path(cli.__file__).parents[1])!r})
sys.argv[1:] = ["/dev/stdin"]
runpy.run_module("nodecraft_device_plugin.validate", run_name="__main__")
"""
    done = subprocess.run([sys.executable, "-c", program], input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, (done.stdout + done.stderr).strip()) == (status, output)


def test_a_missing_configuration(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--config", str(file)]) == 2
    assert "cannot read the file: [Errno 2]" in capsys.readouterr().err


def test_an_unknown_option_ends_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(["--colour"])
    assert "--colour" in capsys.readouterr().err


def test_explain_shows_advertised_devices_and_skipped_candidates(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/none0").write_text("text", encoding="utf-8")
    file.write_text(FAKE, encoding="utf-8")
    assert cli.main(["--config", str(file), "--explain", "--root", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "example.com/x: 2 advertised, 1 skipped",
        "  + fake-0 (no device node, NUMA node 0): healthy",
        "  + fake-1 (no device node, NUMA node 0): healthy",
        "  - /dev/none0: /dev/none0 is a regular file, not a character device or block device",
    ]
    assert cli.main(["--config", str(file), "--explain", "--root", str(tmp_path), "--output", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["example.com/x"]["advertised"] == 2


def test_a_log_line_is_json() -> None:
    record = logging.LogRecord("x", logging.WARNING, "", 0, "device %s", ("a",), None)
    record.fields = {"resource": "example.com/x"}
    entry = json.loads(logs.JsonFormatter().format(record))
    assert (entry["level"], entry["message"], entry["resource"]) == ("warning", "device a", "example.com/x")
