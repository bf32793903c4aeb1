# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""The one way of every state module: read, plan, rehearse, apply, report. Check mode ends here before *apply*."""

from __future__ import annotations

import os
import typing as t

from .._plan.common.errors import KubeadmError, Refusal, several
from .._plan.common.verdict import NOT_NEEDED, REFUSED, SKIPPED, Verdict

if t.TYPE_CHECKING:  # pragma: no cover
    from ansible.module_utils.basic import AnsibleModule


class Plan(t.Protocol):
    """What a planner returns: empty operations mean that there is nothing to do."""

    @property
    def operations(self) -> t.Sequence[t.Any]:
        """What will be done, in order."""

    @property
    def warnings(self) -> t.Sequence[str]:
        """What the user should know."""


class Steps(t.Protocol):
    """What a module hands to the runner. Each step may raise KubeadmError."""

    def session(self) -> t.ContextManager[None]:
        """Whatever has to be held from reading to applying, such as a lock."""

    def read(self) -> None:
        """Read what is there."""

    def notes(self) -> t.Sequence[str]:
        """What the user should know of what was read."""

    def plan(self) -> Plan:
        """Work out the change; pure."""

    def settle(self) -> None:
        """Nothing is to be changed: see that what is there works, so that no task is green over something dead, and note
        what is known of it now."""

    def rehearse(self) -> Verdict:
        """Try the change where it can do no harm."""

    def apply(self) -> None:
        """Make the change, or start what makes it."""

    def report(self) -> dict[str, t.Any]:
        """The result. Must work after any step, and have the same keys after each."""


class Plans(t.Protocol):
    """What a module hands to the runner that plans several changes and makes none."""

    def read(self) -> None:
        """Read what all of them have in common. May raise KubeadmError."""

    def members(self) -> t.Mapping[str, Steps]:
        """The steps of each, by name; asked for after it was read."""

    def report(self, plans: t.Mapping[str, dict[str, t.Any]]) -> dict[str, t.Any]:
        """The result. Must work after any step, and have the same keys after each.

        plans: by name the result of each as the module of one gives it in check mode, always with C(failed) and C(msg).
        """


def run(module: AnsibleModule, steps: Steps, *, rehearse: bool) -> t.NoReturn:
    """Take a module through its steps and end it."""
    result, failure = _go(module, steps, rehearse=rehearse, dry=module.check_mode)
    if failure is not None:
        module.fail_json(msg=failure, **result)
    module.exit_json(**result)


def run_plans(module: AnsibleModule, plans: Plans, *, rehearse: bool) -> t.NoReturn:
    """Take several plans through their steps, one after the other and whatever becomes of the others, and end the module."""
    results: dict[str, dict[str, t.Any]] = {}
    try:
        plans.read()
    except (KubeadmError, OSError) as exc:
        module.fail_json(msg=_told(exc), changed=False, **plans.report(results))
    for name, steps in plans.members().items():
        result, failure = _go(module, steps, rehearse=rehearse, dry=True)
        results[name] = {**result, "failed": failure is not None, "msg": failure}
    failures = {name: result["msg"] for name, result in results.items() if result["failed"]}
    if failures:
        module.fail_json(msg=several(failures), changed=False, **plans.report(results))
    module.exit_json(changed=False, **plans.report(results))


def _go(module: AnsibleModule, steps: Steps, *, rehearse: bool, dry: bool) -> tuple[dict[str, t.Any], str | None]:
    """Read, plan, rehearse, apply, report: (the result, why it failed or None)."""
    verdict, changed, failure = Verdict(SKIPPED, "the run ended before"), False, None
    try:
        with steps.session():
            steps.read()
            warn_all(module, steps.notes())
            plan = steps.plan()
            warn_all(module, plan.warnings)
            if not plan.operations:
                verdict = Verdict(NOT_NEEDED, "nothing changes")
                steps.settle()
            else:
                verdict = steps.rehearse() if rehearse else Verdict(SKIPPED, "rehearse is off")
                if rehearse and verdict.verdict == SKIPPED:
                    module.warn(f"not rehearsed: {verdict.message}")
                if verdict.verdict == REFUSED:
                    raise Refusal(f"refused in the rehearsal, nothing was changed: {verdict.message}")
                if not dry:
                    steps.apply()
            changed = bool(plan.operations)
    except (KubeadmError, OSError) as exc:
        changed, failure = getattr(exc, "changed", False), _told(exc, " Nothing was changed.")
    return {"changed": changed, "rehearsal": _shown(verdict), **steps.report()}, failure


def warn_all(module: AnsibleModule, messages: t.Sequence[str]) -> None:
    """Show each message as a warning."""
    for message in messages:
        module.warn(message)


def run_info(module: AnsibleModule, read: t.Callable[[], dict[str, t.Any]], **always: t.Any) -> t.NoReturn:
    """Run a module that only reads. always: keys of its result that are also there when it fails."""
    try:
        found = read()
    except (KubeadmError, OSError) as exc:
        module.fail_json(msg=_told(exc), **always)
    module.exit_json(changed=False, **always, **found)


def _told(exc: Exception, reassurance: str = "") -> str:
    if isinstance(exc, OSError):
        return f"{os.uname().nodename}: {exc.filename or 'a file'}: {exc.strerror or exc}.{reassurance}"
    return str(exc)


def _shown(verdict: Verdict) -> dict[str, t.Any]:
    return {
        "verdict": verdict.verdict,
        "message": verdict.message,
        "seconds": verdict.seconds,
        "command": list(verdict.command),
    }
