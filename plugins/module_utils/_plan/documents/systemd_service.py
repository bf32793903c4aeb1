# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A systemd service as its files make it: the command line that it starts, and where each argument comes from.

Only what decides a command line is read: C(ExecStart), C(Environment), C(EnvironmentFile), C(UnsetEnvironment) and
C(PassEnvironment) of the section [Service], by the rules of systemd.service(5) and systemd.exec(5): later assignments win, an
empty one starts again, a variable out of an environment file wins over one of the unit, C($NAME) is split into words and
C(${NAME}) is not. Of the specifiers those of the unit's and the host's name are known; a C(%) before anything but a letter begins none.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import posixpath
import re
import typing as t

from ..common.errors import Refusal
from ..common.file_values import FileVersion, TextFile
from .command_line import Argument, Source, find_program

# What may stand before the path of a command without changing what the process gets.
_PREFIXES = "-+!"
KUBELET = "kubelet"
_ESCAPES = {"n": "\n", "t": "\t", "s": " ", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_VARIABLE = re.compile(r"\$(?:\$|\{(?P<name>[^:}]*)\})")
_SPECIFIER = re.compile("%([%A-Za-z])")
_BLANKS = " \t\r\n"
_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNMENT = re.compile(rf"[ \t]*(?P<name>{_NAME.pattern})[ \t]*=(?P<value>.*)", re.DOTALL)
# Python ends a line at more characters than systemd.
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


@dataclasses.dataclass(frozen=True)
class Variable:
    """An environment variable of the service. from_file: out of an environment file, which the unit cannot override."""

    name: str
    value: str
    source: Source
    from_file: bool


@dataclasses.dataclass(frozen=True)
class Service:
    """What systemd starts. words: the kubelet's words of C(ExecStart) before variables are put in. unset: the variables that
    C(UnsetEnvironment) removes, whoever sets them. wrapper: what stands before the kubelet, such as nice and its flags."""

    words: tuple[str, ...]
    variables: t.Mapping[str, Variable]
    arguments: tuple[Argument, ...]
    unset: frozenset[str] = frozenset()
    wrapper: tuple[str, ...] = ()

    @property
    def command(self) -> list[str]:
        """The command line."""
        return [argument.text for argument in self.arguments]


@dataclasses.dataclass(frozen=True)
class _Setting:
    name: str
    value: str
    source: Source


# ---- unit files ------------------------------------------------------------------------------------------------------


def replace_file(files: t.Sequence[TextFile], path: str, version: FileVersion | None) -> list[TextFile]:
    """The files of a unit with one of them changed, or a drop-in added or removed. systemd reads drop-ins by name, whatever
    their directory."""
    own, *drop_ins = files
    if own.path == path and version is not None:
        return [TextFile(path, version), *drop_ins]
    others = [file for file in drop_ins if file.path != path]
    added = [] if version is None else [TextFile(path, version)]
    return [own, *sorted([*others, *added], key=lambda file: posixpath.basename(file.path))]


def environment_files(files: t.Sequence[TextFile], host: str) -> list[str]:
    """The environment files that a unit names, in the order in which they are read, with their wildcards. host: the name of the host."""
    specifiers = _specifiers(files, host)
    found = _effective_settings(_read_settings(files), "EnvironmentFile")
    paths = [_expand_specifiers(re.sub("^-", "", setting.value), setting.source, specifiers) for setting in found]
    return [path for path in paths if path.startswith("/")]  # systemd passes over the others


def match_files(pattern: str, paths: t.Iterable[str]) -> list[str]:
    """Those of these files that a unit names by a path, which may have wildcards, in the order in which systemd reads them."""
    parts = pattern.split("/")
    return sorted(path for path in paths if path == pattern or _match_path(path.split("/"), parts))


def _match_path(names: t.Sequence[str], patterns: t.Sequence[str]) -> bool:
    return len(names) == len(patterns) and all(
        fnmatch.fnmatchcase(name, pattern) and (pattern.startswith(".") or not name.startswith("."))
        for name, pattern in zip(names, patterns)
    )


def exec_start(files: t.Sequence[TextFile]) -> tuple[str, Source]:
    """The command of a unit as it is written, and where. Raises Refusal when it is not one, or of a form that no kubelet has."""
    starts = _effective_settings(_read_settings(files), "ExecStart")
    if len(starts) != 1:
        places = ", ".join(str(start.source) for start in starts) or "none"
        raise Refusal(
            f"{files[0].path} and its drop-ins give {len(starts)} commands in ExecStart ({places}), and a kubelet's unit has one."
            " A drop-in that replaces a command begins with an empty ExecStart= line."
        )
    value, source = starts[0].value, starts[0].source
    if not value.lstrip(_PREFIXES).startswith("/") or re.search(r"\s;(\s|$)", value):
        raise Refusal(
            f"{source}: ExecStart={value} is not understood here. Write one command there, with the whole path of the kubelet"
            f" in front of it and nothing before that path but {_PREFIXES}, run systemctl daemon-reload and systemctl restart"
            " kubelet, and run again."
        )
    return value, source


def read_service(files: t.Sequence[TextFile], environment: t.Mapping[str, str | None], host: str) -> Service:
    """Work out the command line of a unit.

    files: the unit's own file, then its drop-ins in systemd's order. environment: the text of each environment file,
    None for one that does not exist. host: the name of the host. Raises Refusal for what this reader does not understand.
    """
    specifiers = _specifiers(files, host)
    variables = _unit_environment(_read_settings(files), specifiers)
    for pattern in environment_files(files, host):
        for path in match_files(pattern, environment):
            variables.update(file_variables(path, environment[path]))
    unset = _read_words(_read_settings(files), "UnsetEnvironment", specifiers)
    value, source = exec_start(files)
    words = split_words(value, source, specifiers)
    _refuse_passed_variables(files, specifiers, words, {*variables, *unset})
    variables = {name: each for name, each in variables.items() if not {name, f"{name}={each.value}"} & unset.keys()}
    arguments = [(0, Argument(words[0].lstrip(_PREFIXES), source, None))]
    for number, word in enumerate(words[1:], start=1):
        arguments.extend((number, argument) for argument in _expand_word(word, source, variables))
    program = find_program([argument.text for dummy, argument in arguments], is_kubelet)
    found = tuple(argument for dummy, argument in arguments)
    if not found[program].text.startswith("/"):
        raise Refusal(
            f"{source}: ExecStart={value} is not understood here. Write the whole path of the kubelet behind {found[0].text}, run"
            " systemctl daemon-reload and systemctl restart kubelet, and run again."
        )
    return Service(
        words=tuple(words[arguments[program][0] :]),
        variables=variables,
        arguments=found[program:],
        unset=frozenset(name.partition("=")[0] for name in unset),
        wrapper=tuple(argument.text for argument in found[:program]),
    )


def is_kubelet(word: str) -> bool:
    """Whether a word of a command line names a kubelet."""
    name = posixpath.basename(word)
    return name == KUBELET or (word.startswith("/") and name.startswith((f"{KUBELET}-", f"{KUBELET}_", f"{KUBELET}.")))


def _read_words(settings: t.Sequence[_Setting], option: str, specifiers: t.Mapping[str, str]) -> dict[str, Source]:
    """The words of a setting that is a list, and where each stands."""
    found = _effective_settings(settings, option)
    return {word: each.source for each in found for word in split_words(each.value, each.source, specifiers)}


def _refuse_passed_variables(
    files: t.Sequence[TextFile], specifiers: t.Mapping[str, str], words: t.Sequence[str], known: t.Container[str]
) -> None:
    """Refuse a variable of the command that only the manager's own environment has, which no file sets."""
    used = {found.group("name") for word in words for found in _VARIABLE.finditer(word)} | {
        _bare_variable(word) for word in words
    }
    for name, source in _read_words(_read_settings(files), "PassEnvironment", specifiers).items():
        if name in used and name not in known:
            raise Refusal(
                f"{source}: PassEnvironment={name} takes a part of the kubelet's command line out of systemd's own environment, which is"
                f" not read here. Write Environment={name}=VALUE there, run systemctl daemon-reload and systemctl restart kubelet, and"
                " run again."
            )


def unit_variables(file: TextFile, unit: str, host: str) -> dict[str, Variable]:
    """The variables that one file of a unit sets. unit, host: their names."""
    return _unit_environment(_read_settings([file]), _known_specifiers(unit, host))


def _specifiers(files: t.Sequence[TextFile], host: str) -> dict[str, str]:
    return _known_specifiers(posixpath.basename(files[0].path), host)


def _known_specifiers(unit: str, host: str) -> dict[str, str]:
    name = unit.rpartition(".")[0]
    return {"%": "%", "H": host, "l": host.partition(".")[0], "n": unit, "N": name, "p": name}


def _read_settings(files: t.Sequence[TextFile]) -> list[_Setting]:
    return [setting for file in files for setting in _settings_of(file)]


def _settings_of(file: TextFile) -> t.Iterator[_Setting]:
    section = ""
    for number, line in _logical_lines(file.text):
        if line.startswith("["):
            section = line
        elif section == "[Service]" and "=" in line:
            name, dummy, value = line.partition("=")
            yield _Setting(name.strip(_BLANKS), value.strip(_BLANKS), Source(file.path, number))


def _logical_lines(text: str) -> t.Iterator[tuple[int, str]]:
    """The lines of a unit file with the number of their first one: joined at a closing backslash, without comments."""
    pending, start = "", 0
    for number, raw in enumerate(lines_of(text.lstrip("\ufeff")), start=1):
        line = raw.lstrip(_BLANKS).rstrip("\r\n")
        if line.startswith(("#", ";")) or (not line and not pending):
            continue
        start = start if pending else number
        if (len(line) - len(line.rstrip("\\"))) % 2:
            pending += line[:-1] + " "
            continue
        yield start, (pending + line).strip(_BLANKS)
        pending = ""
    if pending:
        yield start, pending.strip(_BLANKS)


def lines_of(text: str) -> list[str]:
    """The lines of a unit or of an environment file, with their ends."""
    return _LINE.findall(text)


def _effective_settings(settings: t.Sequence[_Setting], name: str) -> list[_Setting]:
    """The assignments that count: an empty one clears all before it."""
    found: list[_Setting] = []
    for setting in settings:
        if setting.name == name:
            found = [*found, setting] if setting.value else []
    return found


def clears_variables(files: t.Sequence[TextFile]) -> Source | None:
    """The last place that takes away all variables that the unit's files set before it: an empty C(Environment=)."""
    found = [each.source for each in _read_settings(files) if each.name == "Environment" and not each.value]
    return found[-1] if found else None


def _unit_environment(settings: t.Sequence[_Setting], specifiers: t.Mapping[str, str]) -> dict[str, Variable]:
    variables: dict[str, Variable] = {}
    for setting in _effective_settings(settings, "Environment"):
        for word in split_words(setting.value, setting.source, specifiers):
            name, equals, value = word.partition("=")
            if equals and _NAME.fullmatch(name):  # systemd passes over the others
                variables[name] = Variable(name, value, setting.source, from_file=False)
    return variables


def _expand_word(word: str, source: Source, variables: t.Mapping[str, Variable]) -> list[Argument]:
    name = _bare_variable(word)
    if name is not None:
        variable = variables.get(name)
        if variable is None:
            return []
        texts = split_words(variable.value, variable.source)
        return [Argument(text, variable.source, variable.name) for text in texts]
    match = _VARIABLE.fullmatch(word)
    variable = variables.get(match.group("name") or "") if match else None
    text = _VARIABLE.sub(lambda found: _variable_value(found.group("name"), variables), word)
    return [Argument(text, variable.source if variable else source, None)]


def _bare_variable(word: str) -> str | None:
    """The variable that a word consists of, which is split into words; None for another word. Inside of a word C($NAME) is no variable."""
    return word[1:] if word.startswith("$") and word[1:2] not in ("$", "{") else None


def _variable_value(name: str | None, variables: t.Mapping[str, Variable]) -> str:
    if name is None:
        return "$"
    return variables[name].value if name in variables else ""


# ---- words -----------------------------------------------------------------------------------------------------------


def split_words(text: str, source: Source, specifiers: t.Mapping[str, str] | None = None) -> list[str]:
    """The words of a value, without their quotes.

    specifiers: of a text in a unit file, where C(%) begins one of them and a backslash a C escape. None: of the value of a
    variable, in which neither is so, and a backslash only takes the next character's meaning away.
    """
    words: list[str] = []
    word: str | None = None
    quote = ""
    position = 0
    while position < len(text):
        char = text[position]
        if char == "\\" and position + 1 < len(text):
            char = text[position + 1]
            word = (word or "") + (char if specifiers is None else _unescape(char, source))
            position += 1
        elif char == "%" and specifiers is not None:
            found = _SPECIFIER.match(text, position)
            word = (word or "") + (_specifier_value(found, source, specifiers) if found else char)
            position += 1 if found else 0
        elif quote:
            quote, word = ("", word) if char == quote else (quote, (word or "") + char)
        elif char in "\"'":
            quote, word = char, word or ""
        elif char in _BLANKS:
            if word is not None:
                words.append(word)
            word = None
        else:
            word = (word or "") + char
        position += 1
    if quote:
        raise Refusal(
            f"{source}: a quotation mark is not closed. Close it there, run systemctl daemon-reload, and run again."
        )
    return words if word is None else [*words, word]


def _expand_specifiers(text: str, source: Source, specifiers: t.Mapping[str, str]) -> str:
    return _SPECIFIER.sub(lambda found: _specifier_value(found, source, specifiers), text)


def _specifier_value(found: re.Match[str], source: Source, specifiers: t.Mapping[str, str]) -> str:
    letter = found.group(1)
    if letter not in specifiers:
        known = ", ".join(f"%{each}" for each in specifiers)
        raise Refusal(
            f"{source}: the specifier %{letter} is not understood here ({known} are). Write there what it stands for, run systemctl"
            " daemon-reload, and run again."
        )
    return specifiers[letter]


def _unescape(char: str, source: Source) -> str:
    if char in "\\\"'":
        return char
    if char not in _ESCAPES:
        raise Refusal(
            f"{source}: the escape \\{char} is not understood here. Write the character itself there, in quotes if it is one of"
            " white space, run systemctl daemon-reload, and run again."
        )
    return _ESCAPES[char]


def quote_argument(argument: str) -> str:
    """An argument as it stands in the value of a variable that C(ExecStart) splits into words."""
    return re.sub(r"([\\\s\"'])", r"\\\1", argument)


def quote_assignment(name: str, value: str) -> str:
    """A variable as it stands behind C(Environment=)."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{name}={escaped}"'


# ---- environment files -----------------------------------------------------------------------------------------------


def file_variables(path: str, text: str | None) -> dict[str, Variable]:
    """The variables that an environment file with this text sets; None: it does not exist."""
    found: dict[str, Variable] = {}
    for number, line in _environment_lines(path, text or ""):
        match = _ASSIGNMENT.match(line)
        if match:
            name = match.group("name")
            value = _environment_value(match.group("value"), Source(path, number))
            found[name] = Variable(name, value, Source(path, number), from_file=True)
    return found


def _environment_lines(path: str, text: str) -> t.Iterator[tuple[int, str]]:
    """The lines of an environment file: joined at a closing backslash, without comments."""
    pending, start, continued = "", 0, 0
    for number, raw in enumerate(lines_of(text), start=1):
        line, is_windows = raw.rstrip("\r\n"), raw.endswith("\r\n")
        if not pending and line.lstrip(_BLANKS).startswith(("#", ";")):
            continued = number if _is_continued(line) and not is_windows else 0
            continue
        if continued and line.strip(_BLANKS):
            raise Refusal(
                f"{Source(path, continued)}: a comment ends with a backslash, so systemd before 254 takes the next line for a part of it."
                " Remove that backslash, run systemctl restart kubelet, and run again."
            )
        start, continued = start if pending else number, 0
        if _is_continued(line) and is_windows:
            raise Refusal(
                f"{Source(path, number)}: behind this backslash is a carriage return, so the next line is no part of the value. Have the lines"
                " of that file end with line feeds alone, run systemctl restart kubelet, and run again."
            )
        if _is_continued(line):
            pending += line[:-1]
            continue
        yield start, pending + line
        pending = ""
    if pending:
        yield start, pending


def _is_continued(line: str) -> bool:
    """Whether a line ends with a backslash that another one does not take the meaning of."""
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _environment_value(text: str, source: Source) -> str:
    """A value as systemd reads it: quotes go where a value begins or another quoted part ended, and stay in the middle of a plain one. In
    double quotes a backslash keeps its meaning before few characters only. Blanks at the end go, unless a backslash is before them."""
    value, quote, is_plain, position, length = "", "", False, 0, 0
    while position < len(text):
        char = text[position]
        following = text[position + 1 : position + 2]
        if char == "\\" and quote != "'" and following:
            value += following if not quote or following in '"\\`$' else char + following
            is_plain = not quote
            position += 1
        elif quote:
            quote, value = ("", value) if char == quote else (quote, value + char)
        elif char in "\"'" and not is_plain:
            quote = char
        elif is_plain or char not in _BLANKS:
            is_plain, value = True, value + char
        length = length if is_plain and char in _BLANKS else len(value)
        position += 1
    if quote:
        raise Refusal(
            f"{source}: a value over several lines is not understood here. Write it in one line there, or end each line but the last"
            " with a backslash."
        )
    return value[:length]
