# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The safeguards, each with what takes it out and the test that must fail then."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from ansible_collections.nodecraft.kubeadm.tests.faults.processes import INSIDE


@dataclasses.dataclass(frozen=True)
class Mutation:
    """One safeguard taken out.

    safeguard: what it is, for people. edits: texts, and their replacements. test: selects the tests of which one
    must fail, as pytest's -k takes it.
    """

    safeguard: str
    edits: tuple[tuple[str, str], ...]
    test: str

    def remove_safeguard(self, tree: Path) -> None:
        """Write the code without it. Raises AssertionError when the safeguard is not found any more, or not where it is."""
        for text, replacement in self.edits:
            path = self._file_with(text, tree / INSIDE)
            path.write_text(path.read_text(encoding="utf-8").replace(text, replacement), encoding="utf-8")

    def files(self, code: Path) -> list[Path]:
        """The files of module_utils that it stands in."""
        return sorted({self._file_with(text, code).relative_to(code) for text, dummy in self.edits})

    def _file_with(self, text: str, code: Path) -> Path:
        """The one file that has a text, once."""
        counts = {path: path.read_text(encoding="utf-8").count(text) for path in sorted(code.rglob("*.py"))}
        found = {path: count for path, count in counts.items() if count}
        places = ", ".join(f"{path.relative_to(code)} ({count})" for path, count in found.items())
        assert sum(found.values()) == 1, f"{self.safeguard}: {text!r} must stand in one place, and does in: {places}"
        return next(iter(found))


DURABLE = "each_step_is_on_the_disk"


def _edit(safeguard: str, text: str, replacement: str, test: str) -> Mutation:
    return Mutation(safeguard, ((text, replacement),), test)


# What a power loss, a kill or a full disk could break.
_FILES = {
    "sync-file": _edit(
        "a file is synced before its rename",
        "                os.fchmod(descriptor, mode)\n                os.fsync(descriptor)\n",
        "                os.fchmod(descriptor, mode)\n",
        DURABLE,
    ),
    "sync-directory": _edit(
        "a directory is synced after a rename in it",
        "            raise\n        sync_directory(directory)\n",
        "            raise\n",
        DURABLE,
    ),
    "sync-new-directory": _edit(
        "a new directory is synced, and the one it is in",
        "    sync_directory(path)\n    sync_directory(parent)\n",
        "",
        DURABLE,
    ),
    "sync-removal": _edit(
        "a directory is synced after a removal",
        "        os.unlink(path)\n        sync_directory(os.path.dirname(path))\n",
        "        os.unlink(path)\n",
        DURABLE,
    ),
    "sync-history": _edit(
        "a journal's way into the history is synced",
        "        sync_directory(os.path.dirname(target))\n        sync_directory(os.path.dirname(source))\n",
        "",
        DURABLE,
    ),
    "sync-boot-link": _edit(
        "the link for the boot is synced", "    sync_directory(os.path.dirname(link))\n", "", DURABLE
    ),
    "dot-name": _edit(
        "a temporary file's name begins with a dot",
        'f".{name}.nodecraft-kubeadm"',
        'f"{name}.nodecraft-kubeadm"',
        "kubelet_never_sees",
    ),
    "atomic": _edit(
        "a manifest is replaced by a rename",
        "            os.rename(temporary, real)\n",
        "            import shutil; shutil.copyfile(temporary, real); os.unlink(temporary)\n",
        "kubelet_never_sees",
    ),
    "exclusive-open": _edit(
        "a temporary file is always a new one, never a link",
        "os.O_EXCL | os.O_NOFOLLOW",
        "os.O_TRUNC",
        "kubelet_never_sees",
    ),
    "old-temporary": _edit(
        "the temporary file of a killed run is removed first",
        "            os.unlink(temporary)  # of a run that was killed\n",
        "            pass\n",
        "engine_killed_at_any_call and fsync",
    ),
    "no-leftovers": _edit(
        "the temporary file of a write that failed is removed",
        "            with contextlib.suppress(OSError):\n                os.unlink(temporary)\n            raise\n",
        "            raise\n",
        "error_at_any_call_of_the_engine and fsync",
    ),
    "link-kept": _edit(
        "a link stays, its target is replaced",
        "    real = safe_file(path)\n",
        "    real = path\n",
        "f30_a_link_stays",
    ),
    "mode": _edit("the mode is kept", "                os.fchmod(descriptor, mode)\n", "", "f33_f34"),
    "owner": _edit("the owner is kept", "                os.fchown(descriptor, uid, gid)\n", "", "f33_f34"),
    "attributes": _edit(
        "extended attributes are kept", "                _copy_attributes(real, descriptor)\n", "", "f33_f34"
    ),
    "files-first": _edit(
        "files stand before the manifest that names them",
        '            if entry["switch"]:\n                return 1\n',
        '            if entry["switch"]:\n                return -1\n',
        "files_stand_before_the_manifest",
    ),
}

# What keeps others out, and their edits safe.
_OTHERS = {
    "recheck": _edit(
        "a file is looked at again right before the rename",
        "            recheck()\n            os.rename(temporary, real)\n",
        "            os.rename(temporary, real)\n",
        "f27_a_foreign_edit_at_any_moment",
    ),
    "restore-foreign": Mutation(
        "nothing is restored over foreign bytes",
        (
            ("        foreign = self.files.find_foreign_edits()\n", "        foreign = []\n"),
            ("            if read_bytes(path) not in old:\n", "            if False:\n"),
        ),
        "f27_a_foreign_edit_at_any_moment",
    ),
    "watched-edits": _edit(
        "nothing is committed over a foreign edit",
        '            if not _has_any(entry["path"], [entry["before"]] if is_former else new_versions(entry))\n',
        "            if False\n",
        "f27_a_foreign_edit_in_the_watched_seconds",
    ),
    "lock": _edit("one works at a time", "fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)", "pass", "f24"),
    "busy-status": _edit(
        "an engine that met another is started again",
        '    except LockBusy as exc:  # systemd tries again\n        sys.stderr.write(f"{arguments[1]}: {exc}\\n")\n        return 1\n',
        "",
        "f24_two_engines",
    ),
    "strays": Mutation(
        "copies beside the manifest are refused",
        (("    strays = stray_files(path, others, pod.manifest.pod)\n", "    strays = []\n"),),
        "f31_a_stray_copy",
    ),
    "backups-named": _edit(
        "a copy that appears beside the manifest is named",
        'for path in backups_of(entry["path"])]',
        "for path in ()]",
        "f31_a_copy_that_appears",
    ),
}

# What is taken for healthy, and what follows when it is not.
_PROOF = {
    "soak": _edit(
        "a healthy component is watched for a while",
        'left = ready_since + self.journal["min_ready_seconds"] - now',
        "left = 0",
        "does_not_hold and watched",
    ),
    "restore": _edit(
        "what is not healthy is restored",
        'if self.journal["rollback"] or self.files.find_foreign_edits():',
        "if False:",
        "does_not_hold and never",
    ),
    "prove-restore": _edit(
        "what was restored is verified, too",
        "if edited is None and not losses and (failure is None or not self._is_worse(observation)):",
        "if True:",
        "restore_that_does_not_come_up",
    ),
    "uid": _edit(
        "the new process is one of the new pod",
        'return uid not in self.journal["before"]["uids"]',
        "return True",
        "process_of_the_former_pod",
    ),
    "arguments": _edit(
        "the new process runs exactly the new arguments",
        "return (before == 0 or (of_image and before > 0)) and all(",
        "return True or all(",
        "other_arguments",
    ),
    "former-gone": _edit(
        "the former process is gone",
        "self.process is not None and not self.others and self.probes_ok",
        "self.process is not None and self.probes_ok",
        "former_process_that_lingers",
    ),
    "probes": _edit(
        "the manifest's probes pass",
        "        probes_ok=all(ok is not False for ok, dummy in results),\n        probes=tuple(text for",
        "        probes_ok=True,\n        probes=tuple(text for",
        "does_not_hold and never",
    ),
    "deadline": _edit(
        "a change has a time limit, also over a restart of the engine",
        'if self.journal.get("deadline") is None:',
        "if True:",
        "limit_holds",
    ),
    "trigger": _edit(
        "a kubelet that starts nothing is restarted, once",
        "            self.watcher.retrigger()\n",
        "            pass\n",
        "kubelet_that_does_not_start",
    ),
    "state-file-policy": _edit(
        "a kubelet's state file names the new policy",
        '            if policy != entry["policy"]:\n',
        "            if False:\n",
        "policy_that_is_not_used",
    ),
    "etcd-proof": _edit(
        "a member of etcd is verified by a write, its alarms and the others' revision",
        "self.etcd.verify() or ",
        "",
        "etcd_that_does_less",
    ),
    "confirmation": _edit(
        "a change that asks for a confirmation waits for it",
        "and self.open_journal.is_confirmed():",
        "and True:",
        "is_not_confirmed",
    ),
}

# What carries a change over the death of the engine.
_JOURNAL = {
    "begun": _edit(
        "the journal says that the change begins, before it does",
        '        self.open_journal.save({"phase": APPLYING, "before": before})\n',
        '        self.journal.update({"phase": APPLYING, "before": before})\n',
        "restarted_goes_on",
    ),
    "state-file-stopped": _edit(
        "a kubelet's state file is moved while the kubelet is stopped",
        "        self.unit.stop()\n",
        "",
        "started_meanwhile",
    ),
    "state-file-place": _edit(
        "a kubelet that another program started over the wrong state file is stopped again",
        " and self.state_files.are_moved(is_applying):\n",
        ":\n",
        "started_meanwhile",
    ),
    "second-copy": _edit(
        "a journal has a second copy",
        "    for path in copies_of(directory, identifier):\n",
        "    for path in copies_of(directory, identifier)[:1]:\n",
        "f44",
    ),
    "checksum": _edit(
        "a journal has a checksum",
        "    if checksum != hashlib.sha256(to_json(journal)).hexdigest():\n",
        "    if False:\n",
        "f44",
    ),
    "copy-checksum": Mutation(
        "the bytes of each file have a checksum",
        (
            ("    if checksum != hashlib.sha256(to_json(journal)).hexdigest():\n", "    if False:\n"),
            ('    if hashlib.sha256(content).hexdigest() != version["sha256"]:\n', "    if False:\n"),
        ),
        "f44 and change_a_copy",
    ),
    "format": _edit("a journal of another version is refused", "    if version != FORMAT:\n", "    if False:\n", "f52"),
    "attempts": _edit(
        "an engine that always dies is not started for ever",
        'if self.journal["attempts"] > MAX_ATTEMPTS and',
        "if False and",
        "engine_that_always_dies",
    ),
    "restore-retry": Mutation(
        "a restore waits for a disk to get well",
        (
            (
                "if open_journal.clock() >= start + _WRITE_TIMEOUTS.get(exc.errno or 0, RESTORE_TIMEOUT):",
                "if open_journal.clock() >= start:",
            ),
            (
                "limit = self.clock() + seconds\n        while True:\n            try:\n                save_journal(",
                "limit = self.clock()\n        while True:\n            try:\n                save_journal(",
            ),
        ),
        "restore_waits_for_space",
    ),
    "keep-good": _edit("the last known good is never pruned", "if identifier != good and not", "if not", "f50"),
    "prune": _edit("the history is bounded", "[:-KEEP_HISTORY]", "[:0]", "f50"),
    "private": _edit(
        "a journal is for root only",
        "write_atomically(path, to_json(data), mode=0o600",
        "write_atomically(path, to_json(data), mode=0o644",
        "f49",
    ),
    "umask": _edit("all that the service writes is for root only", "UMask=0077\n", "", "f49"),
    "signals": _edit(
        "signals do not end the engine for good",
        "RestartForceExitStatus=SIGHUP SIGINT SIGPIPE SIGTERM\n",
        "",
        "whatever_signal",
    ),
    "restart": _edit(
        "an engine that died is started again",
        "Restart=on-failure\n",
        "Restart=no\n",
        "engine_killed_at_any_call and rename",
    ),
    "boot": _edit(
        "a boot takes up what is open", "        os.symlink(_UNIT_FILE, link)\n", "        pass\n", "restarted_goes_on"
    ),
    "stale": _edit(
        "a change that was never begun is dropped",
        '        if journal["phase"] == PREPARED:\n            remove_journal(state_directory(name))\n            return None\n',
        "",
        "prepared_and_never_begun",
    ),
    "taken-up": _edit(
        "the next run takes up what is open",
        '    _start_unit(name, run)\n    return str(journal["id"])\n',
        "    return None\n",
        "whose_engine_was_stopped",
    ),
}

MUTATIONS: dict[str, Mutation] = {**_FILES, **_OTHERS, **_PROOF, **_JOURNAL}
