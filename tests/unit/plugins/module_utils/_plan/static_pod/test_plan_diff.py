# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is shown of a plan: every difference, and no secret."""

from __future__ import annotations

import json

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.file_values import FileVersion
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.plan import build_diff
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples
from ansible_collections.nodecraft.kubeadm.tests.unit.support.static_pods import POLICY, following, planned, state

HIDDEN = "Sup3r: 'secret' #1"
STYLES = {
    "double quotes": f'"{HIDDEN}"',
    "single quotes": "'" + HIDDEN.replace("'", "''") + "'",
    "literal block": f"|-\n        {HIDDEN}",
    "folded block": f">-\n        {HIDDEN}",
    "double quotes over two lines": "\"Sup3r: 'secret'\n        #1\"",
}


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
@pytest.mark.parametrize("kind", ["containers", "initContainers"])
def test_the_diff_hides_values_of_the_environment_in_every_style(style: str, kind: str) -> None:
    env = f"    env:\n    - name: TOKEN\n      value: {style}\n"
    if kind == "containers":
        text = samples.API_SERVER.replace("    image:", f"{env}    image:")
    else:
        text = samples.API_SERVER.replace("  containers:", f"  initContainers:\n  - name: x\n{env}  containers:")
    before = state(text)
    assert HIDDEN in json.dumps(before.manifest.pod, ensure_ascii=False)
    (diff,) = build_diff(planned(before, args={"v": 4}))
    assert "Sup3r" not in diff["before"] + diff["after"]
    assert "(hidden)" in diff["before"]
    assert "--v=4" in diff["after"]


def test_the_diff_hides_values_in_flow_style() -> None:
    text = samples.API_SERVER.replace(
        "    image:", '    env: [{name: TOKEN, value: "Sup3r"}, {name: B, value: b1}]\n    image:'
    )
    (diff,) = build_diff(planned(state(text), args={"v": 4}))
    assert "Sup3r" not in diff["before"] + diff["after"]
    assert "b1" not in diff["before"] + diff["after"]


def test_a_changed_value_is_seen_to_differ_and_not_shown() -> None:
    text = samples.API_SERVER.replace("    image:", "    env:\n    - name: TOKEN\n      value: old-secret\n    image:")
    done = planned(state(text), env={"TOKEN": "new-secret", "OTHER": "third-secret"})
    (diff,) = build_diff(done)
    assert diff["before"] != diff["after"]
    assert "secret" not in json.dumps(build_diff(done))
    assert "secret" not in repr(done.operations)
    assert [(change.key, change.before is None, change.after is None) for change in done.operations] == [
        ("TOKEN", False, False),
        ("OTHER", True, False),
    ]


def test_the_diff_of_files_hides_the_sensitive_ones() -> None:
    before = state(
        files={"/etc/a": FileVersion(b"old-a\n", 0o600), "/etc/b": FileVersion(b"old-secret\n", 0o600), "/etc/c": None}
    )
    done = planned(
        before,
        files=[
            samples.file("/etc/a", "new-a\n"),
            samples.file("/etc/b", "new-secret\n", sensitive=True),
            samples.file("/etc/c", "third-secret\n", sensitive=True),
        ],
    )
    diff = {entry["before_header"]: (entry["before"], entry["after"]) for entry in build_diff(done)}
    assert list(diff) == [samples.SOURCE, "/etc/a", "/etc/b", "/etc/c"]
    assert diff["/etc/a"] == ("old-a\n", "new-a\n")
    assert diff["/etc/b"][0] != diff["/etc/b"][1]
    assert diff["/etc/c"][0] == ""
    assert "secret" not in json.dumps(build_diff(done))
    digests = [
        FileVersion(text, 0o600).digest["sha256"] for text in (b"old-secret\n", b"new-secret\n", b"third-secret\n")
    ]
    assert not any(digest in repr(done.operations) for digest in digests)


def test_a_file_that_goes_unnamed_is_not_shown_because_it_may_be_sensitive() -> None:
    first = planned(files=[samples.file(POLICY, "secret", sensitive=True)])
    back = planned(following(first), purge=True)
    assert "secret" not in json.dumps(build_diff(back))
    assert FileVersion(b"secret", 0o600).digest["sha256"] not in repr(back.operations)


def test_a_file_that_is_no_text_can_be_shown() -> None:
    before = state(files={POLICY: FileVersion(b"\xff\xfe", 0o600)})
    diff = build_diff(planned(before, files=[samples.file(POLICY, "text")]))
    assert diff[1]["after"] == "text"
