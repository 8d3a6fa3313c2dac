# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Masks of transformers as patterns: what a mask function says, in heed's terms.

transformers describes a mask by a function of (item, head, query, key), built from a few functions
of its masking_utils. Those are read by name, and what was read is held against the function on a
grid of positions that has both sides of every border. Any other function is evaluated, and becomes
a dense mask.
"""

from __future__ import annotations

import dataclasses
import sys
from typing import Any, NamedTuple

import torch
from transformers import masking_utils

from ._torch_plans import FAR, lie, rounded

NAME = "heed"
PLACE = masking_utils.__name__
IN_PLACE = ("transformers.models.falcon.modeling_falcon", "transformers.models.gptj.modeling_gptj")
MOST_BOOLEANS = 1 << 26
PASSED = ("causal_mask_function", "bidirectional_mask_function",
          "sliding_window_overlay.<locals>.inner_mask",
          "sliding_window_bidirectional_overlay.<locals>.inner_mask",
          "chunked_overlay.<locals>.inner_mask")


class Refused(NotImplementedError):
    """What transformers asks for and heed does not do."""

    def __init__(self, what):
        super().__init__(f"attn_implementation={NAME!r} {what}")


def refuse_traces():
    """Raises where torch.jit records operations: of heed's it would see none."""
    if torch.jit.is_tracing():
        raise Refused("is no part of a trace: torch.jit.trace wants another implementation, and "
                      "torch.compile and torch.export take this one")


class Reach(NamedTuple):
    """The keys that a query at position q sees: those in [q - left, q + right], of its own block
    of positions where block is not 0."""
    left: int = FAR
    right: int = FAR
    block: int = 0

    @property
    def everything(self):
        return self == Reach()

    def sees(self, q, k):
        """Booleans, by the definition."""
        seen = torch.ones(torch.broadcast_shapes(q.shape, k.shape), dtype=torch.bool)
        if self.left != FAR:
            seen = seen & (k >= q - self.left)
        if self.right != FAR:
            seen = seen & (k <= q + self.right)
        return seen & (k // self.block == q // self.block) if self.block else seen

    def borders(self):
        """Positions on both sides of every border of some queries."""
        near = {0, 1, 2, 3}
        for reach in (self.left, self.right, self.block):
            if reach != FAR:
                near |= {max(at + step, 0) for at in (reach, 2 * reach) for step in range(-2, 3)}
        return torch.tensor(sorted(near))


def free_variables(function):
    return dict(zip(function.__code__.co_freevars,
                    (cell.cell_contents for cell in function.__closure__ or ())))


def leaves(function):
    """The functions whose intersection a mask function is."""
    if getattr(function, "__module__", "") == PLACE and \
            function.__qualname__ == "and_masks.<locals>.and_mask":
        return [leaf for part in free_variables(function)["mask_functions"]
                for leaf in leaves(part)]
    return [function]


def reach_of_leaf(function):
    """The Reach of one function of masking_utils, or None."""
    name = getattr(function, "__qualname__", "")
    if getattr(function, "__module__", "") != PLACE or name not in PASSED:
        return None
    free = free_variables(function)
    if name == "causal_mask_function":
        return Reach(right=0)
    if name == "bidirectional_mask_function":
        return Reach()
    if name.startswith("sliding_window_overlay"):
        return Reach(left=free["sliding_window"] - 1)
    if name.startswith("sliding_window_bidirectional_overlay"):
        return Reach(left=free["sliding_window"], right=free["sliding_window"])
    return None if free["left_padding"].any() else Reach(block=free["chunk_size"])


def both(one, other):
    """The intersection of two, or None where it has no Reach of its own."""
    if one.block and other.block:
        return None
    return Reach(min(one.left, other.left), min(one.right, other.right), one.block or other.block)


_held: set[Reach] = set()


def reach_of(function):
    """The Reach of a mask function, or None: then it is to be evaluated."""
    whole = Reach()
    for leaf in leaves(function):
        reach = reach_of_leaf(leaf)
        whole = both(whole, reach) if reach is not None else None
        if whole is None:
            return None
    if whole not in _held:
        at = whole.borders()
        q, k = at[:, None], at[None, :]
        none = torch.zeros((), dtype=torch.long)
        if not torch.equal(function(none, none, q, k).expand(len(at), len(at)), whole.sees(q, k)):
            return None
        _held.add(whole)
    return whole


@dataclasses.dataclass
class Pattern:
    """What is visible to n_q queries, the first at position `offset` of the keys, of n_k keys.

    reach: by positions; length: keys from here on are absent; present: None, or bytes
    [B][1][n_k, rounded up], 0 where a key is absent.
    names, lies, addresses: of the arrays of a run, which are kept in `arrays`.
    """
    items: int
    n_q: int
    n_k: int
    offset: int
    reach: Reach
    length: int
    present: Any = None

    def __post_init__(self):
        reach, last = self.reach, self.offset + self.n_q - 1
        if reach.right != FAR:      # nothing behind the last query's reach is seen by any
            self.length = max(0, min(self.length, last + reach.right + 1))
            if self.offset + reach.right >= self.length - 1:
                reach = reach._replace(right=FAR)
        if reach.left != FAR and last - reach.left <= 0:
            reach = reach._replace(left=FAR)
        if reach.block and last < reach.block:
            reach = reach._replace(block=0)
        self.reach = reach
        arrays = {"len": torch.tensor([self.length])}
        if self.present is not None:
            arrays["mask"] = self.present
        if not reach.everything:
            arrays["q_pos"] = torch.tensor([self.offset])
        self.arrays, self.names = arrays, tuple(arrays)
        self.lies = tuple(lie(one) for one in arrays.values())
        self.addresses = [one.data_ptr() for one in arrays.values()]


def pattern_of(items, n_q, n_k, offset, kv_offset, reach, present):
    """A Pattern, for queries from position `offset` of the keys on. present: None, or booleans
    [B][kv_offset + n_k or less] of keys that are there; further ones are not."""
    if present is None:
        return Pattern(items, n_q, n_k, offset, reach, n_k)
    length = max(0, min(n_k, present.shape[1] - kv_offset))     # the rest is room of a cache
    if reach.right != FAR:
        length = max(0, min(length, offset + n_q + reach.right))
    present, whole = present[:, kv_offset:kv_offset + length], None
    if not present.all():
        whole = torch.zeros((present.shape[0], 1, rounded(n_k)), dtype=torch.bool)
        whole[:, 0, :length] = present
    return Pattern(items, n_q, n_k, offset, reach, length, whole)


def booleans(given):
    """A mask as transformers makes it for sdpa, with memory."""
    return masking_utils.sdpa_mask(**given, allow_is_causal_skip=False,
                                   allow_is_bidirectional_skip=False)


@torch._dynamo.assume_constant_result
def hands_masks_on(config):
    """Whether the file of a model asks the AttentionInterface, or is one that heed has a class in
    place of: the masks of such models go to the attention as they are."""
    place = type(config).__module__.replace(".configuration_", ".modeling_")
    return place in IN_PLACE or hasattr(sys.modules.get(place), "ALL_ATTENTION_FUNCTIONS")


class Mask(torch.Tensor):
    """A boolean mask [B][1][n_q][n_k] of transformers that has a Pattern in place of memory;
    pattern is None where it has none, and dense() is to be used.

    It passes through a model to the attention as it is. Its shape may be asked for, and it may
    choose between two values. contiguous() gives booleans unless they are many: generate() calls
    it for caches of a fixed size, whose masks it makes outside of the graph that takes them. All
    else is refused: a model whose own code works on masks takes them
    for numbers that are added, or for marks of what is absent.
    """

    @staticmethod
    def __new__(cls, pattern, given, config):
        shape = (given["batch_size"], 1, given["q_length"], given["kv_length"])
        made = torch.Tensor._make_subclass(cls, torch.empty((), dtype=torch.bool).expand(shape))
        made.pattern, made.given, made.config = pattern, given, config
        return made

    def dense(self):
        """The same as a plain tensor."""
        return booleans(self.given)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name, kwargs = getattr(func, "__name__", str(func)), kwargs or {}
        if name == "__get__":
            name = func.__self__.__name__
        with torch._C.DisableTorchFunctionSubclass():
            if name in ASKED:
                return func(*args, **kwargs)
            if name == "contiguous" and args[0].numel() <= MOST_BOOLEANS and \
                    hands_masks_on(args[0].config):
                return args[0].dense()
            if name in KEPT and not any(isinstance(one, (torch.dtype, torch.Tensor))
                                        for one in [*args[1:], *kwargs.values()]):
                return args[0]
            if name == "where" and isinstance(args[0], Mask) and type(args[1]) is not Mask \
                    and type(args[2]) is not Mask:
                return func(args[0].dense(), *args[1:], **kwargs)
        if name == "is_nested":     # torch.compile looks at what enters a graph
            raise Refused("has masks that are patterns without memory, and none enters a graph: "
                          "let the graph make it, or give generate() a smaller cache")
        raise Refused(f"has masks that are patterns without memory, and this model's own code "
                      f"calls {name}() on one: it wants 'eager'")


ASKED = {"shape", "dtype", "device", "ndim", "layout", "requires_grad", "is_meta", "is_cuda",
         "size", "dim", "numel", "is_floating_point", "__len__"}
KEPT = {"contiguous", "to", "cpu", "detach"}


def mask(batch_size, q_length, kv_length, q_offset=0, kv_offset=0,
         mask_function=masking_utils.causal_mask_function, attention_mask=None, use_vmap=False,
         device="cpu", config=None, **_):
    """heed's function of the AttentionMaskInterface: a Mask; in a graph of torch.compile or
    torch.export, which has no patterns, the booleans."""
    refuse_traces()
    given = {"batch_size": batch_size, "q_length": q_length, "kv_length": kv_length,
             "q_offset": q_offset, "kv_offset": kv_offset, "use_vmap": use_vmap,
             "mask_function": mask_function, "attention_mask": attention_mask, "device": device}
    if torch.compiler.is_compiling():
        if not hands_masks_on(config):
            raise Refused("gives booleans for masks in a graph, and this model's own code may "
                          "compute with them: it wants 'eager'")
        return booleans(given)
    given.update(q_offset=int(q_offset), kv_offset=int(kv_offset))
    reach = None if use_vmap else reach_of(mask_function)
    if reach is None or attention_mask is not None and attention_mask.ndim != 2 or \
            reach.block and given["kv_offset"] % reach.block:
        return Mask(None, given, config)
    offset = given["q_offset"] - given["kv_offset"]
    return Mask(pattern_of(batch_size, q_length, kv_length, offset, given["kv_offset"], reach,
                           attention_mask), given, config)
