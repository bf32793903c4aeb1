# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter as a template uses it."""

from __future__ import annotations

from ansible_collections.nodecraft.kubeadm.plugins.filter.run_coverage import FilterModule


def test_it_returns_what_a_template_can_read() -> None:
    judge = FilterModule().filters()["run_coverage"]
    assert judge({}, []) == {"warning": "", "refusal": "", "missing": [], "told": ""}
    assert judge({"w1": {"labels": {}}}, [])["told"] == "not in this run: w1"
