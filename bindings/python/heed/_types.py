# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""What parameters take, for type checkers and readers; nothing of it is looked at in a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence, Tuple, Union

if TYPE_CHECKING:
    from .arrays import Constant
    from .descriptors import Keys
    from .runtime import Device

# An array of NumPy, a tensor of torch, what speaks DLPack, or numbers in lists.
ArrayLike = Any
# The same, or constant(array).
AuxArray = Union[Any, "Constant"]
# A set of keys: (k, v), (k, v, len, mask), or Keys.
KeysLike = Union["Keys", Tuple[ArrayLike, ...], Sequence[ArrayLike]]
# "float32", "f32", or a dtype of NumPy or torch.
DType = Any
DeviceLike = Union["Device", str, None]
