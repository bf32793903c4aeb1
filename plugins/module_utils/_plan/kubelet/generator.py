# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The systemd generator for a unit that takes no variable of ours: at every boot and daemon-reload it derives the command
line from the unit as it stands then, and has ours behind it.

A copy of the command in a file would win over the next version of the unit. What a generator writes is gone with the boot.
It is a shell script, because it runs before anything else does and must not depend on a Python that may be removed.
"""

from __future__ import annotations

import dataclasses
import posixpath
import typing as t

from ..common.errors import Refusal
from ..common.file_values import FileVersion, TextFile
from ..documents.systemd_service import Service, exec_start, read_service, replace_file
from . import layout as kubelet_layout

GENERATOR = "/etc/systemd/system-generators/nodecraft-kubeadm-kubelet"
# What it writes. systemd reads drop-ins by name, and the last ExecStart counts.
DERIVED = "/run/systemd/generator/kubelet.service.d/zzzz-nodecraft-kubeadm-derived.conf"
# The variable that only our own drop-in sets.
VARIABLE = "NODECRAFT_KUBEADM_ARGS"
MODE = 0o755
_GENERATED = "/run/systemd/generator"

TEXT = r"""#!/bin/sh
# Written by the Ansible collection nodecraft.kubeadm, which also removes it. Manual changes are lost.
#
# systemd starts this at every boot and at every daemon-reload, before it loads its units. The command of kubelet.service
# takes no variable that could bring our arguments, so this has it followed by one: the command as the unit's files say it
# now, whatever changed them. When that is not certain nothing is written, the kernel's log says why, and the kubelet starts
# as its unit has it.

PATH=/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export PATH LC_ALL

root=""
unit=kubelet.service
variable=NODECRAFT_KUBEADM_ARGS
ours=/etc/systemd/system/kubelet.service.d/20-nodecraft-kubeadm.conf
derived=zzzz-nodecraft-kubeadm-derived.conf
# Where units are, the first place before the next. What generators write is not there yet.
places="/etc/systemd/system.control /run/systemd/system.control /run/systemd/transient /etc/systemd/system
/etc/systemd/system.attached /run/systemd/system /run/systemd/system.attached /usr/local/lib/systemd/system
/lib/systemd/system /usr/lib/systemd/system"
tab=$(printf '\t')
cr=$(printf '\r')
mark=$(printf '\357\273\277')
newline='
'

give_up() {
    message="nodecraft-kubeadm: $1, so the kubelet starts without the arguments of $ours"
    { printf '<4>%s\n' "$message" >/dev/kmsg; } 2>/dev/null || printf '%s\n' "$message" >&2
    exit 0
}

# The drop-ins by name: of two that are called alike the first counts. Ours stands among them without a file.
drop_ins() {
    printf '%s\t\n' "$derived"
    for directory in "$unit.d" service.d; do
        for place in $places; do
            for file in "$root$place/$directory"/*.conf; do
                if [ -e "$file" ] || [ -L "$file" ]; then printf '%s\t%s\n' "${file##*/}" "$file"; fi
            done
        done
    done
}

# One line of a unit, with its continuations.
take() {
    case $1 in
        '['*) section=${1%"${1##*[![:space:]]}"} && return ;;
        *=*) ;;
        *) return ;;
    esac
    name=${1%%=*}
    name=${name%"${name##*[![:space:]]}"}
    if [ "$section" != '[Service]' ] || [ "$name" != ExecStart ]; then return; fi
    value=${1#*=}
    value=${value#"${value%%[![:space:]]*}"}
    value=${value%"${value##*[![:space:]]}"}
    if [ -n "$late" ]; then give_up "$file sets ExecStart behind $derived"; fi
    if [ -z "$value" ]; then count=0; else count=$((count + 1)) command=$value; fi
}

# Whether a line ends with a backslash that another one does not take the meaning of.
goes_on() {
    rest=$1
    while case $rest in *'\\') true ;; *) false ;; esac; do rest=${rest%'\\'}; done
    case $rest in *'\') true ;; *) false ;; esac
}

# A carriage return alone ends a line, too.
read_file() {
    if [ ! -r "$file" ]; then give_up "$file cannot be read"; fi
    section='' pending='' first=$mark
    while IFS= read -r lines || [ -n "$lines" ]; do
        lines=${lines#"$first"} first=''
        lines=${lines%"$cr"}$cr
        while [ -n "$lines" ]; do
            line=${lines%%"$cr"*} lines=${lines#*"$cr"}
            line=${line#"${line%%[![:space:]]*}"}
            case $line in '#'* | ';'*) continue ;; esac
            line=$pending$line
            if goes_on "$line"; then
                pending="${line%?} "
            else
                pending=''
                take "$line"
            fi
        done
    done <"$file"
    if [ -n "$pending" ]; then take "$pending"; fi
}

if [ $# -ne 3 ] || [ ! -e "$root$ours" ]; then exit 0; fi
directory=$1/$unit.d

file=''
for place in $places; do
    if [ -e "$root$place/$unit" ] || [ -L "$root$place/$unit" ]; then file=$root$place/$unit && break; fi
done
if [ -z "$file" ]; then give_up "there is no $unit"; fi
target=$(readlink -f "$file")
if [ "${target##*/}" != "$unit" ]; then give_up "$file is a link to $target"; fi

list=$(drop_ins | sort -s -u -t "$tab" -k 1,1) || give_up "the drop-ins of $unit cannot be sorted"
count=0 command='' late=''
read_file
set -f
IFS=$newline
for entry in $list; do
    file=${entry#*"$tab"}
    if [ -n "$file" ]; then read_file; else late=yes; fi
done
unset IFS

if [ "$count" -ne 1 ]; then give_up "$unit has $count commands in ExecStart"; fi
case $command in *"\$$variable"*) exit 0 ;; esac
case " $command " in *[[:space:]]';'[[:space:]]*) give_up "$unit has several commands in one ExecStart" ;; esac
program=$command
while case $program in [-+!]*) true ;; *) false ;; esac; do program=${program#?}; done
case $program in /*) ;; *) give_up "the command of $unit does not begin with a plain path" ;; esac

text="# Made by $0 out of $unit and its drop-ins, at every boot and daemon-reload. Do not copy it.
[Service]
ExecStart=
ExecStart=$command \$$variable"
# Renamed when it is whole: half of it would leave the kubelet without a command.
if mkdir -p "$directory" && printf '%s\n' "$text" >"$directory/$derived.new" && [ "$(cat "$directory/$derived.new")" = "$text" ]; then
    mv "$directory/$derived.new" "$directory/$derived" && exit 0
fi
rm -f "$directory/$derived.new"
give_up "$directory/$derived cannot be written"
"""


def as_loaded(unit: t.Sequence[TextFile], *, installed: bool) -> list[TextFile]:
    """The files of a unit as systemd loads them. installed: whether the generator is there.

    Raises Refusal when it is, and would write nothing.
    """
    others = replace_file(unit, DERIVED, None)
    if not installed or all(file.path != kubelet_layout.DROP_IN for file in others):
        return others
    value, source = exec_start(others)
    _refuse_underivable(source.path, str(source))
    text = f"[Service]\nExecStart=\nExecStart={value} ${VARIABLE}\n"
    return replace_file(others, DERIVED, FileVersion(text.encode("utf-8"), 0o644))


def read_derived(unit: t.Sequence[TextFile], environment: t.Mapping[str, str | None], host: str) -> Service:
    """The service that these files make. What our generator derived is said to stand where it was derived from."""
    service = read_service(unit, environment, host)
    others = replace_file(unit, DERIVED, None)
    if len(others) == len(unit):
        return service
    origin = exec_start(others)[1]
    arguments = [
        dataclasses.replace(each, source=origin) if each.source.path == DERIVED else each for each in service.arguments
    ]
    return dataclasses.replace(service, arguments=tuple(arguments))


def _refuse_underivable(path: str, where: str) -> None:
    name, derived = posixpath.basename(path), posixpath.basename(DERIVED)
    if path.startswith(_GENERATED):
        raise Refusal(
            f"{where}: the kubelet's command comes from a file that another systemd generator wrote, and it has no variable"
            f" that a drop-in could set. Have that generator write one as a separate word in ExecStart, such as ${VARIABLE}."
        )
    if path.endswith(".conf") and name > derived:
        raise Refusal(
            f"{where} sets ExecStart in a drop-in that is read after {derived}, which would bring in the arguments of this module."
            f" Rename that drop-in so that it sorts before, run systemctl daemon-reload, and run again."
        )
