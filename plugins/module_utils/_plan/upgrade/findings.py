# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is told of one setting, or of one condition, before an upgrade, and what was not checked."""

from __future__ import annotations

import dataclasses
import typing as t

from ..common.errors import KubeadmError
from ..common.verdict import SKIPPED, Verdict
from . import checks

Json = dict[str, t.Any]

# Fates. A setting stays; vanishes and site brings it back; vanishes and nothing brings it back; or breaks the component. What changes nothing
# and has to be known all the same is worth a warning.
STAYS, RETURNS, VANISHES, BREAKS, WARNS = "stays", "returns", "vanishes", "breaks", "warns"
FATES = (BREAKS, VANISHES, RETURNS, WARNS, STAYS)  # the worst first

# Who set it.
COLLECTION, KUBEADM, CONFIG_MAP, PATCHES, INVENTORY, OTHER = (
    "collection",
    "kubeadm",
    "kubeadm-config",
    "patches",
    "inventory",
    "other",
)


@dataclasses.dataclass(frozen=True)
class Finding:
    """What an upgrade does to one setting.

    component: a static pod, C(kubelet), or C(node) for what belongs to none. field, key: as in the modules; empty for what is no single setting.
    fate: one of FATES. message: the component's own words where it breaks. set_by: who set it; empty where that is no question. file, line:
    where it is set; empty and None when unknown. variable: the one to change; empty when there is none.
    """

    component: str
    fate: str
    message: str
    field: str = ""
    key: str = ""
    set_by: str = ""
    file: str = ""
    line: int | None = None
    variable: str = ""

    @property
    def place(self) -> tuple[str, str, str]:
        """What tells a setting from others on its node."""
        return self.component, self.field, self.key


@dataclasses.dataclass
class UpgradeFindings:
    """Findings, gathered over the parts of a node or of the cluster; what was rehearsed; which checks were made; and what was not."""

    findings: list[Finding] = dataclasses.field(default_factory=list)
    rehearsed: list[Json] = dataclasses.field(default_factory=list)
    checks: list[str] = dataclasses.field(default_factory=list)
    not_rehearsed: list[Json] = dataclasses.field(default_factory=list)

    def add(self, other: UpgradeFindings, findings: t.Iterable[Finding]) -> None:
        """Take in what was and was not rehearsed of another part, with these findings."""
        self.findings += findings
        self.rehearsed += other.rehearsed
        self.not_rehearsed += other.not_rehearsed

    def check(self, name: str, findings: t.Iterable[Finding]) -> None:
        """Make a check: add what it finds. One that ends with a KubeadmError was not made, whatever it found until then."""
        try:
            for finding in findings:
                self.findings.append(finding)
        except KubeadmError as exc:
            self.skip(name, str(exc))
        else:
            self.checks.append(name)

    def skip(self, name: str, reason: str, remedy: str | None = None) -> None:
        """Note what was not rehearsed, once for each reason. The arguments are those of C(checks.unrehearsed)."""
        entry = checks.unrehearsed(name, reason, remedy)
        if entry not in self.not_rehearsed:
            self.not_rehearsed.append(entry)

    def note(self, component: str, what: str, verdict: Verdict) -> None:
        """Note a rehearsal, and as findings what it warns of. what: C(generated), C(today) or C(desired)."""
        if verdict.verdict == SKIPPED:
            self.skip(component, verdict.message, "")  # whatever is there to start, its start is not rehearsed
            return
        told = (Finding(component, WARNS, text) for text in verdict.warnings)
        self.findings += [finding for finding in told if finding not in self.findings]
        self.rehearsed.append(
            {
                "component": component,
                "what": what,
                "verdict": verdict.verdict,
                "message": verdict.message,
                "seconds": verdict.seconds,
            }
        )

    def report(self) -> Json:
        """The part of a result that is about this."""
        return {
            "findings": [dataclasses.asdict(finding) for finding in self.findings],
            "rehearsed": self.rehearsed,
            "checks": self.checks,
            "not_rehearsed": self.not_rehearsed,
        }
