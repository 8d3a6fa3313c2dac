# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""The library, its functions as _abi.py has them, and its failures as exceptions."""

import ctypes
import ctypes.util
import os
import pathlib

from ._abi import CONSTANTS, FUNCTIONS, STRUCTS
from ._structs import PARAMETERS, SCALARS, STRUCT


class Error(RuntimeError):
    """A call of heed that failed.

    status: its number; name: such as "HEED_E_SHAPE"; field: the path in the descriptor that the
    report names; wanted, got: two numbers whose meaning depends on the status; message: one line.
    """

    def __init__(self, status, field="", message="", wanted=0, got=0, native_code=0):
        self.status, self.name = status, status_name(status)
        self.field, self.message = field, message
        self.wanted, self.got, self.native_code = wanted, got, native_code
        super().__init__(f"{self.name}: {message or 'no report'}")


class ArgumentError(Error, ValueError):
    """A mistake in the call: -1 to -31."""


class UnsupportedError(Error, NotImplementedError):
    """A legal wish that this build or device cannot meet: -32 to -47."""


class ResourceError(Error, MemoryError):
    """What may succeed later or with less: -48 to -63."""


class DeviceError(Error):
    """The device or its vendor's code failed: -64 to -79."""


class InternalError(Error):
    """A mistake in heed."""


GROUPS = [(-31, ArgumentError), (-47, UnsupportedError), (-63, ResourceError),
          (-79, DeviceError)]


def library_path(name, variable, folder="", beside=None):
    """What the environment variable names; else a library in the package; else that in this folder
    of the build which the package lies in, as build/bindings/python/heed; else that beside another
    library; else what the loader finds."""
    named = os.environ.get(variable)
    if named:
        return named
    here = pathlib.Path(__file__).parent
    own = sorted(here.glob(f"lib{name}.*")) + sorted(here.glob(f"lib*/**/lib{name}.*"))
    if here.parts[-3:-1] == ("bindings", "python"):
        own += sorted(here.parents[2].glob(f"{folder}lib{name}.so"))
    if beside and os.path.dirname(beside):
        own += sorted(pathlib.Path(beside).parent.glob(f"lib{name}.so*"))
    if own:
        return str(own[0])
    return ctypes.util.find_library(name) or f"lib{name}.so.{CONSTANTS['HEED_VERSION_MAJOR']}"


def functions_declare(library, path, functions, kinds):
    """Tells ctypes what the functions of a library take and return."""
    lacking = [name for name in functions if not hasattr(library, name)]
    if lacking:
        raise ImportError(f"{path} is no library of heed that this binding can use: it lacks "
                          f"{len(lacking)} functions, the first being {lacking[0]}")
    for name, (result, parameters) in functions.items():
        function = getattr(library, name)
        function.restype = STRUCT.get(result) or SCALARS[result]
        function.argtypes = [kinds[kind] for kind in parameters]


def _load():
    path = library_path("heed", "HEED_LIBRARY")
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"heed's library could not be loaded: {error}. Install it, or name it "
                          "in the environment variable HEED_LIBRARY.") from None
    functions_declare(library, path, FUNCTIONS, PARAMETERS)
    wanted = CONSTANTS["HEED_VERSION_MAJOR"] << 16 | CONSTANTS["HEED_VERSION_MINOR"] << 8
    if library.heed_version() < wanted or library.heed_version() >> 16 != wanted >> 16:
        raise ImportError(f"{path} is version {library.heed_version():#x} of heed; the binding "
                          f"is of {wanted:#x}")
    return library


library = _load()


def status_name(status):
    return library.heed_status_name(status).decode()


def new(name, **fields):
    """A struct of zeros with its size, where it has one, and these fields."""
    made = STRUCT[name](**fields)
    if STRUCTS[name][0][0] == "size":
        made.size = ctypes.sizeof(made)
    return made


def fail(status, report=None):
    """Raises what a status below 0 stands for."""
    kind = next((made for least, made in GROUPS if status >= least), InternalError)
    if report is None:
        raise kind(status)
    raise kind(status, report.field.decode(), report.message.decode(), report.wanted, report.got,
               report.native_code)


def call(name, *arguments, of=library):
    """A function whose last parameter is a report; its status, unless it failed."""
    report = new("heed_report")
    status = getattr(of, name)(*arguments, ctypes.byref(report))
    if status < 0:
        fail(status, report)
    return status
