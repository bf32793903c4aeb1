# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The source text of our own programs, which run on a node without the collection."""

from __future__ import annotations

import io
import os
import pkgutil
import sys
import typing as t
import zipfile
from importlib.machinery import ExtensionFileLoader
from importlib.util import find_spec

from ..._plan.common.errors import KubeadmError

_MAIN = """\
# Written by the Ansible collection nodecraft.kubeadm.
import sys
import zipimport


class Importer(zipimport.zipimporter):
    # The base class compiles each file twice: to run it, and before that for its file name.
    def get_filename(self, fullname):
        path = f"{{self.archive}}/{{self.prefix}}{{fullname.rpartition('.')[2]}}"
        return f"{{path}}/__init__.py" if self.is_package(fullname) else f"{{path}}.py"


sys.path_hooks.insert(0, Importer)
sys.path_importer_cache.clear()

from {package}.{module} import main

raise SystemExit(main(sys.argv))
"""


def source_of(module: t.Any) -> str:
    """The text of one of our files, also out of the archive in which Ansible ships modules."""
    package, dummy, name = module.__name__.rpartition(".")
    return _read_source(package, f"{name}.py").decode("utf-8")


def _read_source(package: str, file: str) -> bytes:
    data = pkgutil.get_data(package, file)
    if data is None:
        raise _missing_source(f"{package}.{file[: -len('.py')]}")
    return data


def _missing_source(name: str) -> KubeadmError:
    return KubeadmError(
        f"{os.uname().nodename}: the source of {name} is not in this module's archive. The strategies of Mitogen do not send it: use one"
        " of Ansible's own, such as strategy: ansible.builtin.linear. Nothing was changed."
    )


def zipapp_of(module: t.Any, library: t.Any) -> bytes:
    """The whole package of one of our files as one file that Python starts (PEP 441) with that file's C(main).

    library: a package of this Python that it imports. What of it is compiled for one Python only is skipped.
    Identical sources give identical bytes, and they are only stored, so that a reader of the file finds the source in it.
    """
    package, dummy, name = module.__name__.rpartition(".")
    own = package.rpartition(".")[2]
    # Older Pythons find nothing in a directory of an archive that has no __init__.py.
    files = {"__main__.py": _MAIN.format(package=own, module=name).encode("ascii"), f"{own}/__init__.py": b""}
    packed = {entry.name for entry in pkgutil.iter_modules(sys.modules[package].__path__)}
    if name not in packed:
        raise _missing_source(module.__name__)
    for file in sorted(packed):
        files[f"{own}/{file}.py"] = _read_source(package, f"{file}.py")
    return _zip_files({**files, **_sources_of(library)})


def _sources_of(library: t.Any) -> dict[str, bytes]:
    """The source files of a package, by their paths in an archive. Raises KubeadmError where it was installed without them."""
    name = library.__name__
    parts = [part.name for part in pkgutil.iter_modules(library.__path__)]
    plain = [part for part in parts if not _is_compiled(f"{name}.{part}")]
    try:
        return {f"{name}/{part}.py": _read_source(name, f"{part}.py") for part in ("__init__", *plain)}
    except OSError as exc:
        raise KubeadmError(
            f"{os.uname().nodename}: {exc.filename} is missing, a source of the Python package {name} of {sys.executable}, which a change needs"
            " on its node: install the package with its sources. Nothing was changed."
        ) from exc


def _is_compiled(name: str) -> bool:
    spec = find_spec(name)
    return spec is not None and isinstance(spec.loader, ExtensionFileLoader)


def _zip_files(files: t.Mapping[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for path in sorted(files):
            # Its time is the earliest that the format knows, whenever it is packed.
            entry = zipfile.ZipInfo(path)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, files[path])
    return stream.getvalue()
