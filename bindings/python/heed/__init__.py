# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""heed for Python: attention for long documents, with the same bits on every processor.

    import heed
    o = heed.attention(q, k, v, terms=[heed.window(256), heed.global_tokens(1, rows=True)])
    o = heed.longformer(q, (k, v), window=256, n_globals=1)

Every function plans and runs; its .plan() gives a Plan, to be called often. Arrays are NumPy's,
torch's or DLPack's, on the host, and are not copied. A failed call raises heed.Error, which has the
status, the field and the numbers of the report. docs/python.md has more.
"""

try:
    from . import _abi
except ModuleNotFoundError:
    raise ImportError("the tables of heed's headers are made when it is built: install the package, or "
                      "name bindings/python of a build folder in PYTHONPATH") from None
from . import constants, mechanisms, operations
from ._native import (ArgumentError, DeviceError, Error, InternalError, ResourceError,
                      UnsupportedError, library)
from .arrays import Array, as_array, blocks, constant, empty
from .attention import (Bias, Source, Term, alibi, attention, dense, dot, everything, global_tokens,
                        segments, table, window)
from .case import Case, Refused
from .conformance import Failure, Result, cases, conform
from .constants import *
from .descriptors import Keys, Relative
from .maps import map_even, map_log, map_t5, rope_tables, window_plan
from .mechanisms import *
from .operations import *
from .programs import program
from .runtime import Device, Plan, Run, Runtime
from .view import pairs, show, visible

__version__: str = ".".join(str(library.heed_version() >> shift & 255) for shift in (16, 8, 0))
__all__ = [
    "ArgumentError", "Array", "Bias", "Case", "Device", "DeviceError", "Error", "Failure", "InternalError",
    "Keys", "Plan", "Refused", "Relative", "ResourceError", "Result", "Run", "Runtime", "Source", "Term",
    "UnsupportedError", "alibi", "as_array", "attention", "blocks", "build_text", "cases", "conform", "constant", "dense",
    "dot", "empty", "everything", "global_tokens", "map_even", "map_log", "map_t5", "pairs", "program",
    "rope_tables", "segments", "show", "table", "visible", "window", "window_plan", *operations.__all__,
    *mechanisms.__all__, *constants.__all__,
]


def build_text() -> str:
    """How the library was built, for people."""
    return library.heed_build_text().decode()
