# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Attention over sources, with terms and biases as objects whose arrays need no slot numbers."""

from __future__ import annotations

import ctypes
import dataclasses
from typing import Any, Sequence

import numpy

from ._abi import CONSTANTS
from ._native import STRUCT, call, new
from ._types import ArrayLike, AuxArray, DeviceLike, DType
from .arrays import Constant, argument, as_array, dtype_name
from .descriptors import enum_value
from .operations import made_like, operation
from .runtime import Plan, device_of, place

FAR = CONSTANTS["HEED_FAR"]


@dataclasses.dataclass
class Term:
    """One term of a source: heed_term. slot: an array, or constant(array)."""
    kind: int
    left: int = 0
    right: int = 0
    step: int = 0
    block: int = 0
    phase: int = 0
    flags: int = 0
    slot: Any = None


@dataclasses.dataclass
class Bias:
    """One bias of a source: heed_bias. t, u, map and coordinates: arrays, or constant(array)."""
    kind: int
    t: Any = None
    u: Any = None
    map: Any = None
    zero: int = 0
    q_coord: Any = None
    k_coord: Any = None


def _phases(head, query):
    return (CONSTANTS["HEED_TERM_PHASE_HEAD"] if head else 0) | \
        (CONSTANTS["HEED_TERM_PHASE_QUERY"] if query else 0)


def everything(step: int = 0, phase: int = 0, by_head: bool = False,
               by_query: bool = False) -> Term:
    """Every key, or every step-th: HEED_TERM_ALL."""
    return Term(CONSTANTS["HEED_TERM_ALL"], step=step, phase=phase,
                flags=_phases(by_head, by_query))


def window(left: int, right: int | None = None, *, block: int = 0, step: int = 0, phase: int = 0,
           by_head: bool = False, by_query: bool = False) -> Term:
    """Keys near the query, as many on the right as on the left unless said: HEED_TERM_WINDOW."""
    return Term(CONSTANTS["HEED_TERM_WINDOW"], left=left, right=left if right is None else right,
                block=block, step=step, phase=phase, flags=_phases(by_head, by_query))


def global_tokens(tokens: int | AuxArray, *, keys: bool = True, rows: bool = False) -> Term:
    """Tokens every row sees, and with rows also rows that see every key: HEED_TERM_GLOBAL. tokens:
    how many of the first ones, or a list [B][entries]."""
    flags = (CONSTANTS["HEED_TERM_KEYS"] if keys else 0) | \
        (CONSTANTS["HEED_TERM_ROWS"] if rows else 0)
    if isinstance(tokens, int):
        return Term(CONSTANTS["HEED_TERM_GLOBAL"], block=tokens, flags=flags)
    return Term(CONSTANTS["HEED_TERM_GLOBAL"], flags=flags, slot=tokens)


def segments(ranges: AuxArray, block: int = 0) -> Term:
    """[begin, end) of keys for every `block` rows: HEED_TERM_SEGMENT."""
    return Term(CONSTANTS["HEED_TERM_SEGMENT"], block=block, slot=ranges)


def dense(t: AuxArray, u: AuxArray | None = None) -> Bias:
    """A number for every pair, times u[h] where u is given: HEED_BIAS_DENSE."""
    return Bias(CONSTANTS["HEED_BIAS_DENSE"], t=t, u=u)


def alibi(slopes: AuxArray, *, q_coord: AuxArray | None = None,
          k_coord: AuxArray | None = None) -> Bias:
    """-slope * |distance|: HEED_BIAS_ALIBI."""
    return Bias(CONSTANTS["HEED_BIAS_ALIBI"], t=slopes, q_coord=q_coord, k_coord=k_coord)


def table(t: AuxArray, *, zero: int = 0, map: AuxArray | None = None,
          q_coord: AuxArray | None = None, k_coord: AuxArray | None = None) -> Bias:
    """A number by distance, [1 or H][len]: HEED_BIAS_TABLE."""
    return Bias(CONSTANTS["HEED_BIAS_TABLE"], t=t, zero=zero, map=map, q_coord=q_coord,
                k_coord=k_coord)


def dot(t: AuxArray | None = None, u: AuxArray | None = None, *, zero: int = 0,
        map: AuxArray | None = None, q_coord: AuxArray | None = None,
        k_coord: AuxArray | None = None) -> Bias:
    """q . t[index] + k . u[index]: HEED_BIAS_DOT."""
    return Bias(CONSTANTS["HEED_BIAS_DOT"], t=t, u=u, zero=zero, map=map, q_coord=q_coord,
                k_coord=k_coord)


@dataclasses.dataclass
class Source:
    """One set of keys and values: heed_source, its slots being arrays, or constant(array).

    layout: "dense", "ragged", "paged", "ring", "listed"; slot: what the layout takes. row_mask: the
    keys that each query row keeps, of bytes or booleans [1 or H][n_q][n_k], or of bits, int32
    [1 or H][n_q][ceil(n_k / 32)]. k_groups, v_groups: the scales have an axis more, of groups of
    channels; k_minima, v_minima: and there scale and minimum of each group.
    """
    k: Any
    v: Any
    terms: Sequence[Term] = ()
    biases: Sequence[Bias] = ()
    causal: bool = False
    layout: str = "dense"
    slot: Any = None
    len: Any = None
    mask: Any = None
    k_scale: Any = None
    v_scale: Any = None
    pos0: int = 0
    pos_step: int = 0
    pos_span: int = 0
    at_end: bool = False
    run: int = 0
    rows: int = 0
    row_mask: Any = None
    k_groups: bool = False
    v_groups: bool = False
    k_minima: bool = False
    v_minima: bool = False


def all_of(kind, given, name):
    """A list of Terms, Biases or Sources, and of nothing else."""
    if isinstance(given, kind) or isinstance(given, str):
        raise TypeError(f"{name} wants a list")
    found = list(given or ())
    for i, one in enumerate(found):
        if not isinstance(one, kind):
            raise TypeError(f"{name}[{i}] is no {kind.__name__}, but {type(one).__name__}")
    return found


class Slots:
    """Arrays by number; one array that is given twice is one slot."""

    def __init__(self):
        self.structs, self.numbers, self.keeps, self.paths, self.arrays = [], {}, [], {}, {}

    def add(self, value, path, kind="int32"):
        if value is None:
            return 0
        if id(value) in self.numbers:
            self.paths.setdefault(path, []).extend(self.paths_of(self.numbers[id(value)]))
            return self.numbers[id(value)]
        array = argument(value.array if isinstance(value, Constant) else value, kind, path)
        number = len(self.structs) + 1
        self.structs.append(STRUCT["heed_slot"](
            array.tensor(), (array.address or None) if isinstance(value, Constant) else None))
        self.numbers[id(value)] = number
        self.keeps += [value, array]
        if not isinstance(value, Constant):
            self.arrays[f"slots[{number - 1}]"] = array
            self.paths[path] = self.paths_of(number)
        return number

    def paths_of(self, number):
        path = f"slots[{number - 1}]"
        return [path] if path in self.arrays else []


class Attention:
    """The descriptor of one attention, the paths of its arrays, and the arguments of its runs."""

    run_name = "heed_attn_run"

    def __init__(self):
        self.struct, self.slots = new("heed_attn_desc"), Slots()
        self.arrays, self.paths, self.keeps = {}, {}, []
        self.n_sources = 0

    def array(self, value, name, path):
        """The heed_tensor of an array that runs bring, under a name of its own."""
        self.arrays[path] = argument(value, "float32", name)
        self.paths.setdefault(name, []).append(path)
        return self.arrays[path].tensor()

    def add_sources(self, sources):
        sources = all_of(Source, sources, "sources")
        made = (STRUCT["heed_source"] * max(len(sources), 1))()
        for i, source in enumerate(sources):
            self.fill_source(made[i], source, i)
        self.keeps.append(made)
        self.n_sources = len(sources)
        desc = self.struct
        desc.sources, desc.n_sources = ctypes.addressof(made), len(sources)
        desc.source_size = ctypes.sizeof(STRUCT["heed_source"])

    def fill_source(self, made, source, i):
        name, path = f"sources[{i}].", f"kv[{i}]."
        made.k = self.array(source.k, name + "k", path + "k")
        made.v = self.array(source.v, name + "v", path + "v")
        made.layout = enum_value(["HEED_LAYOUT_"], source.layout)
        for field in ("pos0", "pos_step", "pos_span", "run", "rows"):
            setattr(made, field, getattr(source, field))
        flags = {"CAUSAL": source.causal, "END": source.at_end, "K_GROUPS": source.k_groups,
                 "V_GROUPS": source.v_groups, "K_MINIMA": source.k_minima,
                 "V_MINIMA": source.v_minima}
        made.flags = sum(CONSTANTS["HEED_SOURCE_" + name] for name, on in flags.items() if on)
        made.slot = self.slots.add(source.slot, name + "slot")
        made.len_slot = self.slots.add(source.len, name + "len")
        made.mask_slot = self.slots.add(source.mask, name + "mask", "uint8")
        made.row_mask_slot = self.slots.add(source.row_mask, name + "row_mask", "uint8")
        made.k_scale_slot = self.slots.add(source.k_scale, name + "k_scale", "float32")
        made.v_scale_slot = self.slots.add(source.v_scale, name + "v_scale", "float32")
        self.fill_terms(made, source.terms, name)
        self.fill_biases(made, source.biases, name)

    def fill_terms(self, made, terms, name):
        terms = all_of(Term, terms, name + "terms")
        array = (STRUCT["heed_term"] * max(len(terms), 1))()
        for i, term in enumerate(terms):
            for field in ("kind", "left", "right", "step", "block", "phase", "flags"):
                setattr(array[i], field, getattr(term, field))
            array[i].slot = self.slots.add(term.slot, f"{name}terms[{i}].slot")
        made.terms, made.n_terms = ctypes.addressof(array), len(terms)
        made.term_size = ctypes.sizeof(STRUCT["heed_term"])
        self.keeps.append(array)

    def fill_biases(self, made, biases, name):
        biases = all_of(Bias, biases, name + "biases")
        array = (STRUCT["heed_bias"] * max(len(biases), 1))()
        for i, bias in enumerate(biases):
            array[i].kind, array[i].zero = bias.kind, bias.zero
            for field, kind in (("t", "float32"), ("u", "float32"), ("map", "int32"),
                                ("q_coord", "int32"), ("k_coord", "int32")):
                setattr(array[i], field,
                        self.slots.add(getattr(bias, field), f"{name}biases[{i}].{field}", kind))
        made.biases, made.n_biases = ctypes.addressof(array), len(biases)
        made.bias_size = ctypes.sizeof(STRUCT["heed_bias"])
        self.keeps.append(array)

    def finish(self):
        """Puts the slots into the descriptor."""
        slots = self.slots
        array = (STRUCT["heed_slot"] * max(len(slots.structs), 1))(*slots.structs)
        self.keeps += [array, slots.keeps]
        self.struct.slots, self.struct.n_slots = ctypes.addressof(array), len(slots.structs)
        self.struct.slot_size = ctypes.sizeof(STRUCT["heed_slot"])
        self.arrays.update(slots.arrays)
        self.paths.update(slots.paths)
        for name in ("k", "v", "len", "mask", "row_mask"):
            if self.n_sources == 1 and f"sources[0].{name}" in self.paths:
                self.paths[name] = self.paths[f"sources[0].{name}"]

    def flatten(self, given):
        return {name: value for name, value in given.items() if value is not None}

    def args(self, arrays):
        made = new("heed_attn_args")
        kv = (STRUCT["heed_kv_bufs"] * max(self.n_sources, 1))()
        bufs = (STRUCT["heed_buf"] * max(self.struct.n_slots, 1))()
        made.kv, made.slots = ctypes.addressof(kv), ctypes.addressof(bufs)
        made.kv_size, made.n_slots = ctypes.sizeof(kv[0]), self.struct.n_slots
        made.places = Places(made, kv, bufs)
        for path, array in arrays.items():
            place(made.places, path, array.address)
        return made


class Places:
    """Where the arguments of an attention have their bufs; it keeps those behind pointers."""

    def __init__(self, made, kv, slots):
        self.q, self.o, self.lse, self.sinks = made.q, made.o, made.lse, made.sinks
        self.state_in, self.state_out = made.state_in, made.state_out
        self.kv, self.slots = kv, slots


def plan_attention(filled, device, outputs):
    """A Plan of an attention that was filled."""
    handle = ctypes.c_void_p()
    call("heed_attn_plan", device.handle, ctypes.byref(filled.struct), ctypes.byref(handle))
    return Plan(device, handle.value, filled, filled.arrays,
                [path for path in outputs if path in filled.arrays], filled)


def broadcast(*batches):
    return list(numpy.broadcast_shapes(*batches))


def output_shape(q, dense, d_v):
    """[batch...][H][n_q][d_v]: of the batch axes what q and the values of items have in common."""
    q = as_array(q).shape
    return [*broadcast(q[:-3], *(as_array(v).shape[:-3] for v in dense)), *q[-3:-1], d_v]


def give_outputs(filled, o, lse, make, made_o):
    """o and lse of a descriptor. lse: an array, or True for one that is made."""
    struct = filled.struct
    if o is None:
        o = made_o()
    struct.o = filled.array(o, "o", "o")
    if lse is not None and lse is not False:
        lse = make(o, as_array(o).shape[:-1], "float32") if lse is True else lse
        struct.lse = filled.array(lse, "lse", "lse")


def give_state(filled, state, made_state):
    """What rows end as in the place of o. state: an array, or True for one that is made."""
    state = made_state() if state is True else state
    filled.struct.state_out = filled.array(state, "state_out", "state_out")


def set_common(filled, scale, softcap, sinks, numerics, flags):
    struct = filled.struct
    if scale is not None:
        struct.scale = scale
        flags |= CONSTANTS["HEED_ATTN_SCALE_GIVEN"]
    if softcap:
        struct.softcap = softcap
    if sinks is not None:
        struct.sinks = filled.array(sinks, "sinks", "sinks")
    if numerics:
        struct.numerics = enum_value(["HEED_NUMERICS_"], numerics) \
            if isinstance(numerics, str) else numerics
    struct.flags |= flags


def described(make, q, k, v, o, *, sources, terms, biases, causal, align, len, mask, row_mask, scale,
              softcap, sinks, lse, lse_with_sink, q_pos0, q_pos_step, q_pos, q_len, q_begins,
              o_begins, state_in, state_out, dtype, numerics):
    """What attention() is given, filled in. make(like, shape, dtype) makes the outputs that are not
    given."""
    if sources is None:
        if k is None or v is None:
            raise TypeError("k and v are wanted, or sources")
        sources = [Source(k, v, terms, biases, causal, len=len, mask=mask, row_mask=row_mask)]
    elif terms or biases or causal or any(one is not None for one in (k, v, len, mask, row_mask)):
        raise TypeError("beside sources, what is of one source is given to its Source")
    sources = all_of(Source, sources, "sources")
    filled = Attention()
    struct, slots = filled.struct, filled.slots
    struct.q = filled.array(q, "q", "q")
    struct.q_pos0, struct.q_pos_step = q_pos0, q_pos_step
    filled.add_sources(sources)
    struct.q_pos_slot = slots.add(q_pos, "q_pos", "int64")
    struct.q_len_slot = slots.add(q_len, "q_len")
    struct.q_slot = slots.add(q_begins, "q_begins")
    struct.o_slot = slots.add(o_begins, "o_begins")
    struct.q_layout = CONSTANTS["HEED_LAYOUT_RAGGED"] if q_begins is not None else 0
    flags = CONSTANTS["HEED_ATTN_LSE_WITH_SINK"] if lse_with_sink else 0
    if align is not None:
        flags |= enum_value(["HEED_ATTN_ALIGN_"], align)
    set_common(filled, scale, softcap, sinks, numerics, flags)
    dense = [source.v for source in sources if source.layout not in ("ragged", "paged")]
    sums = CONSTANTS["HEED_STATE_SUMS"]
    d_v = as_array(sources[0].v).shape[-1] if sources else as_array(q).shape[-1]
    if state_in is not None:
        d_v = as_array(state_in).shape[-1] - sums
        struct.state_in = filled.array(state_in, "state_in", "state_in")
    if state_out is None or state_out is False:
        give_outputs(filled, o, lse, make, lambda: make(
            q, output_shape(q, dense, d_v), dtype and dtype_name(dtype)))
    elif o is not None or lse is not None or sinks is not None:
        raise TypeError("a row that ends as a state has no o, no lse and no sink")
    else:
        give_state(filled, state_out, lambda: make(
            q, output_shape(q, dense, sums + d_v), "float32"))
    filled.finish()
    return filled


@operation
def attention(q: ArrayLike, k: ArrayLike | None = None, v: ArrayLike | None = None,
              o: ArrayLike | None = None, *, sources: Sequence[Source] | None = None,
              terms: Sequence[Term] = (), biases: Sequence[Bias] = (), causal: bool = False,
              align: str | None = None, len: AuxArray | None = None, mask: AuxArray | None = None,
              row_mask: AuxArray | None = None, scale: float | None = None, softcap: float = 0.0, sinks: ArrayLike | None = None,
              lse: ArrayLike | bool | None = None, lse_with_sink: bool = False, q_pos0: int = 0,
              q_pos_step: int = 0, q_pos: AuxArray | None = None, q_len: AuxArray | None = None,
              q_begins: AuxArray | None = None, o_begins: AuxArray | None = None,
              state_in: ArrayLike | None = None, state_out: ArrayLike | bool | None = None,
              dtype: DType | None = None, numerics: int | str = 0, device: DeviceLike = None, threads: int = 0) -> Plan:
    """Softmax attention: heed_attn_desc. Returns o, or (o, lse), or with state_out the state.

    q [batch...][H][n_q][d]; k [batch...][H_k][n_k][d] and v [batch...][H_k][n_k][d_v], or
    `sources`, each with terms, biases and a layout of its own. H_k divides H. terms, biases,
    causal, len, mask and row_mask are of the one source that k and v are. Arrays are NumPy's, torch's or
    DLPack's, on the host. Strides are free.

    align: "start" or "end", where positions matter and queries are not as many as keys. scale:
    1 / sqrt(d) unless given. softcap: 0 for none. sinks: [H]. lse: True, or an array to fill.
    q_pos: int64 [B], added to every position; q_len: lengths of queries; q_begins: ragged ones,
    and o_begins where o and lse lie apart from q (o is then given).
    state_in: float32 [batch...][H][n_q][18 + d_v], what rows begin from; state_out: an array like
    it, or True: rows end as states, without o, lse and sinks. A call over sources A and B has the
    bits of one over B from the state of one over A. It may be state_in itself.
    dtype: of o, where it is made. device: a name or a Device; threads: workers of a host device.

    attention.plan(...) takes the same and returns the Plan. A failed call raises heed.Error.
    """
    given = dict(locals())
    of_device = given.pop("device"), given.pop("threads")
    filled = described(made_like, **given)
    return plan_attention(filled, device_of(*of_device), ["o", "lse", "state_out"])
