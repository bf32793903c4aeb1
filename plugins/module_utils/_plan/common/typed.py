# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mappings from outside as frozen dataclasses: parsed once where they come in, and turned back into mappings where they go out.

A key that is missing, or None, leaves the default of its field. Other keys are dropped, except from
C(Parsed).raw.
"""

from __future__ import annotations

import dataclasses
import functools
import typing as t

Mapped = t.Mapping[str, t.Any]
C = t.TypeVar("C")
R = t.TypeVar("R", bound="ModuleResult")

_PARSE = "parse"


@dataclasses.dataclass(frozen=True)
class Parsed:
    """A mapping that is handed on as it came. raw: that, with keys that its class does not name."""

    raw: Mapped = dataclasses.field(default_factory=dict, repr=False)


def field_of(kind: t.Callable[..., C], default: C | None = None) -> t.Any:
    """A field that has one value of a class, or of what a function makes of it."""
    return _field(_parser(kind), default=default)


def tuple_of(kind: t.Callable[..., C], default: tuple[C, ...] | None = ()) -> t.Any:
    """A field that has a tuple of values of a class, or of what a function makes of each."""
    make = _parser(kind)
    return _field(lambda values: tuple(make(each) for each in values), default=default)


def mapping_of(kind: type[C], *, is_optional: bool = False) -> t.Any:
    """A field that has values of a class by their names. is_optional: whether it is None where there are none, else empty."""
    default: dict[str, t.Any] = {"default": None} if is_optional else {"default_factory": dict}
    return _field(lambda values: {name: parse(kind, each) for name, each in values.items()}, **default)


def _field(parser: t.Callable[[t.Any], t.Any], **default: t.Any) -> t.Any:
    # It is used within dataclasses, by the functions above.
    return dataclasses.field(metadata={_PARSE: parser}, **default)  # pylint: disable=invalid-field-call


def _parser(kind: t.Callable[..., C]) -> t.Callable[[t.Any], C]:
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        of_class: t.Any = kind
        return lambda value: parse(of_class, value)
    return kind


@functools.cache
def _fields(kind: t.Any) -> tuple[tuple[str, t.Callable[[t.Any], t.Any] | None, bool], ...]:
    """Name, parser and whether there is no default, of the fields of a class."""
    missing = dataclasses.MISSING
    return tuple(
        (field.name, field.metadata.get(_PARSE), field.default is missing and field.default_factory is missing)
        for field in dataclasses.fields(kind)
        if field.name != "raw"
    )


def parse(kind: type[C], value: Mapped) -> C:
    """A value of a dataclass."""
    values: dict[str, t.Any] = {}
    hashable: t.Any = kind
    for name, convert, is_required in _fields(hashable):
        given = value.get(name)
        if given is not None or is_required:
            values[name] = given if given is None or convert is None else convert(given)
    if issubclass(kind, Parsed):
        values["raw"] = value
    return kind(**values)


def as_mapping(value: t.Any) -> t.Any:
    """The same in mappings and lists. Fields that are None are dropped; what was parsed is as it came."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        if isinstance(value, Parsed):
            return dict(value.raw)
        fields = ((name, getattr(value, name)) for name, *_others in _fields(type(value)))
        return {name: as_mapping(each) for name, each in fields if each is not None}
    if isinstance(value, t.Mapping):
        return {name: as_mapping(each) for name, each in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return as_mapping(value._asdict())
    if isinstance(value, (list, tuple)):
        return [as_mapping(each) for each in value]
    return value


def as_one_line(text: str) -> str:
    """Text without CR LF."""
    return text.replace("\r\n", " ").strip()


@dataclasses.dataclass(frozen=True)
class ModuleResult(Parsed):
    """The keys that results of all modules have. msg: why it failed, and with some why nothing was done."""

    changed: bool = False
    failed: bool = False
    unreachable: bool = False
    msg: str = field_of(as_one_line, "")
    busy: bool = False

    @property
    def has_failed(self) -> bool:
        """Whether there is no result, because the module failed or its host could not be reached."""
        return self.failed or self.unreachable

    @property
    def reason(self) -> str:
        """Why there is none, without the full stop."""
        return (self.msg or "no answer").rstrip(".")

    def with_values(self: R, **values: t.Any) -> R:
        """The same with other values, also in what is handed on."""
        return parse(type(self), {**self.raw, **values})
