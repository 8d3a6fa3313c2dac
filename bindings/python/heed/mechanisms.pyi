# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Types of mechanisms.py. Made by headers.py."""

from typing import Sequence

from ._types import ArrayLike, AuxArray, DeviceLike, DType, KeysLike
from .descriptors import Relative
from .operations import operation
from .runtime import Plan

@operation
def longformer(
    q: ArrayLike,
    text: KeysLike,
    globals: AuxArray | None = ...,
    n_globals: int | None = ...,
    window: int | None = ...,
    dilation: int | None = ...,
    *,
    o: ArrayLike | None = ...,
    flags: int | str | None = ...,
    numerics: int | str | None = ...,
    scale: float | None = ...,
    softcap: float | None = ...,
    sinks: ArrayLike | None = ...,
    lse: ArrayLike | bool | None = ...,
    dtype: DType | None = ...,
    device: DeviceLike | None = ...,
    threads: int | None = ...,
) -> Plan: ...

@operation
def global_rows(
    q: ArrayLike,
    text: KeysLike,
    globals: KeysLike | None = ...,
    *,
    o: ArrayLike | None = ...,
    flags: int | str | None = ...,
    numerics: int | str | None = ...,
    scale: float | None = ...,
    softcap: float | None = ...,
    sinks: ArrayLike | None = ...,
    lse: ArrayLike | bool | None = ...,
    dtype: DType | None = ...,
    device: DeviceLike | None = ...,
    threads: int | None = ...,
) -> Plan: ...

@operation
def bigbird(
    q: ArrayLike,
    text: KeysLike,
    random: AuxArray | None = ...,
    block: int | None = ...,
    *,
    o: ArrayLike | None = ...,
    flags: int | str | None = ...,
    numerics: int | str | None = ...,
    scale: float | None = ...,
    softcap: float | None = ...,
    sinks: ArrayLike | None = ...,
    lse: ArrayLike | bool | None = ...,
    dtype: DType | None = ...,
    device: DeviceLike | None = ...,
    threads: int | None = ...,
) -> Plan: ...

@operation
def longt5(
    q: ArrayLike,
    text: KeysLike,
    side: KeysLike | None = ...,
    table: AuxArray | None = ...,
    side_table: AuxArray | None = ...,
    map: AuxArray | None = ...,
    block_ids: AuxArray | None = ...,
    radius: int | None = ...,
    zero: int | None = ...,
    *,
    o: ArrayLike | None = ...,
    flags: int | str | None = ...,
    numerics: int | str | None = ...,
    scale: float | None = ...,
    softcap: float | None = ...,
    sinks: ArrayLike | None = ...,
    lse: ArrayLike | bool | None = ...,
    dtype: DType | None = ...,
    device: DeviceLike | None = ...,
    threads: int | None = ...,
) -> Plan: ...

@operation
def lsg(
    q: ArrayLike,
    text: KeysLike,
    globals: KeysLike | None = ...,
    sparsity: int | str | None = ...,
    block: int | None = ...,
    factor: int | None = ...,
    sparse_block: int | None = ...,
    *,
    o: ArrayLike | None = ...,
    flags: int | str | None = ...,
    numerics: int | str | None = ...,
    scale: float | None = ...,
    softcap: float | None = ...,
    sinks: ArrayLike | None = ...,
    lse: ArrayLike | bool | None = ...,
    dtype: DType | None = ...,
    device: DeviceLike | None = ...,
    threads: int | None = ...,
) -> Plan: ...

@operation
def hepos(
    q: ArrayLike,
    text: KeysLike,
    stride: int | None = ...,
    *,
    o: ArrayLike | None = ...,
    flags: int | str | None = ...,
    numerics: int | str | None = ...,
    scale: float | None = ...,
    softcap: float | None = ...,
    sinks: ArrayLike | None = ...,
    lse: ArrayLike | bool | None = ...,
    dtype: DType | None = ...,
    device: DeviceLike | None = ...,
    threads: int | None = ...,
) -> Plan: ...

@operation
def pagesum(
    pages: ArrayLike,
    w: ArrayLike,
    mask: AuxArray | None = ...,
    *,
    o: ArrayLike | None = ...,
    flags: int | str | None = ...,
    numerics: int | str | None = ...,
    scale: float | None = ...,
    softcap: float | None = ...,
    sinks: ArrayLike | None = ...,
    lse: ArrayLike | bool | None = ...,
    dtype: DType | None = ...,
    device: DeviceLike | None = ...,
    threads: int | None = ...,
) -> Plan: ...

@operation
def pegasus_x(
    q: ArrayLike,
    text: KeysLike,
    globals: KeysLike | None = ...,
    block: int | None = ...,
    *,
    o: ArrayLike | None = ...,
    flags: int | str | None = ...,
    numerics: int | str | None = ...,
    scale: float | None = ...,
    softcap: float | None = ...,
    sinks: ArrayLike | None = ...,
    lse: ArrayLike | bool | None = ...,
    dtype: DType | None = ...,
    device: DeviceLike | None = ...,
    threads: int | None = ...,
) -> Plan: ...

@operation
def salient(
    q: ArrayLike,
    text: KeysLike,
    prefix: KeysLike | None = ...,
    *,
    o: ArrayLike | None = ...,
    flags: int | str | None = ...,
    numerics: int | str | None = ...,
    scale: float | None = ...,
    softcap: float | None = ...,
    sinks: ArrayLike | None = ...,
    lse: ArrayLike | bool | None = ...,
    dtype: DType | None = ...,
    device: DeviceLike | None = ...,
    threads: int | None = ...,
) -> Plan: ...

@operation
def poolingformer_level1(
    q: ArrayLike,
    text: KeysLike,
    globals: AuxArray | None = ...,
    n_globals: int | None = ...,
    window: int | None = ...,
    *,
    o: ArrayLike | None = ...,
    flags: int | str | None = ...,
    numerics: int | str | None = ...,
    scale: float | None = ...,
    softcap: float | None = ...,
    sinks: ArrayLike | None = ...,
    lse: ArrayLike | bool | None = ...,
    dtype: DType | None = ...,
    device: DeviceLike | None = ...,
    threads: int | None = ...,
) -> Plan: ...

@operation
def transformer_xl(
    q: ArrayLike,
    text: KeysLike,
    memory: KeysLike | None = ...,
    relative: Relative | None = ...,
    *,
    o: ArrayLike | None = ...,
    flags: int | str | None = ...,
    numerics: int | str | None = ...,
    scale: float | None = ...,
    softcap: float | None = ...,
    sinks: ArrayLike | None = ...,
    lse: ArrayLike | bool | None = ...,
    dtype: DType | None = ...,
    device: DeviceLike | None = ...,
    threads: int | None = ...,
) -> Plan: ...

@operation
def compressive(
    q: ArrayLike,
    text: KeysLike,
    memory: KeysLike | None = ...,
    compressed: KeysLike | None = ...,
    relative: Relative | None = ...,
    *,
    o: ArrayLike | None = ...,
    flags: int | str | None = ...,
    numerics: int | str | None = ...,
    scale: float | None = ...,
    softcap: float | None = ...,
    sinks: ArrayLike | None = ...,
    lse: ArrayLike | bool | None = ...,
    dtype: DType | None = ...,
    device: DeviceLike | None = ...,
    threads: int | None = ...,
) -> Plan: ...

@operation
def deberta(
    q: ArrayLike,
    text: KeysLike,
    kr: AuxArray | None = ...,
    qr: AuxArray | None = ...,
    map: AuxArray | None = ...,
    zero: int | None = ...,
    window: int | None = ...,
    *,
    o: ArrayLike | None = ...,
    flags: int | str | None = ...,
    numerics: int | str | None = ...,
    scale: float | None = ...,
    softcap: float | None = ...,
    sinks: ArrayLike | None = ...,
    lse: ArrayLike | bool | None = ...,
    dtype: DType | None = ...,
    device: DeviceLike | None = ...,
    threads: int | None = ...,
) -> Plan: ...

@operation
def poolingformer_deberta(
    q: ArrayLike,
    text: KeysLike,
    globals: KeysLike | None = ...,
    kr: AuxArray | None = ...,
    qr: AuxArray | None = ...,
    map: AuxArray | None = ...,
    global_kr: AuxArray | None = ...,
    global_qr: AuxArray | None = ...,
    global_map: AuxArray | None = ...,
    zero: int | None = ...,
    global_zero: int | None = ...,
    window: int | None = ...,
    *,
    o: ArrayLike | None = ...,
    flags: int | str | None = ...,
    numerics: int | str | None = ...,
    scale: float | None = ...,
    softcap: float | None = ...,
    sinks: ArrayLike | None = ...,
    lse: ArrayLike | bool | None = ...,
    dtype: DType | None = ...,
    device: DeviceLike | None = ...,
    threads: int | None = ...,
) -> Plan: ...

@operation
def top_down(
    q: ArrayLike,
    top: KeysLike,
    rows: AuxArray | None = ...,
    *,
    o: ArrayLike | None = ...,
    flags: int | str | None = ...,
    numerics: int | str | None = ...,
    scale: float | None = ...,
    softcap: float | None = ...,
    sinks: ArrayLike | None = ...,
    lse: ArrayLike | bool | None = ...,
    dtype: DType | None = ...,
    device: DeviceLike | None = ...,
    threads: int | None = ...,
) -> Plan: ...

@operation
def awesome(
    q: ArrayLike,
    text: KeysLike,
    memory: KeysLike | None = ...,
    compressed: KeysLike | None = ...,
    memory_head: AuxArray | None = ...,
    compressed_head: AuxArray | None = ...,
    *,
    o: ArrayLike | None = ...,
    flags: int | str | None = ...,
    numerics: int | str | None = ...,
    scale: float | None = ...,
    softcap: float | None = ...,
    sinks: ArrayLike | None = ...,
    lse: ArrayLike | bool | None = ...,
    dtype: DType | None = ...,
    device: DeviceLike | None = ...,
    threads: int | None = ...,
) -> Plan: ...

@operation
def retrieval(
    q: ArrayLike,
    text: KeysLike | None = ...,
    memory: KeysLike | None = ...,
    list: AuxArray | None = ...,
    window: int | None = ...,
    *,
    o: ArrayLike | None = ...,
    flags: int | str | None = ...,
    numerics: int | str | None = ...,
    scale: float | None = ...,
    softcap: float | None = ...,
    sinks: ArrayLike | None = ...,
    lse: ArrayLike | bool | None = ...,
    dtype: DType | None = ...,
    device: DeviceLike | None = ...,
    threads: int | None = ...,
) -> Plan: ...

@operation
def lsg_program(
    q: ArrayLike,
    text: KeysLike,
    sparsity: int | str | None = ...,
    globals: KeysLike | None = ...,
    block: int | None = ...,
    factor: int | None = ...,
    sparse_block: int | None = ...,
    rounds: Sequence[ArrayLike] | None = ...,
    *,
    o: ArrayLike | None = ...,
    flags: int | str | None = ...,
    numerics: int | str | None = ...,
    dtype: DType | None = ...,
    device: DeviceLike | None = ...,
    threads: int | None = ...,
) -> Plan: ...

@operation
def poolingformer_level2(
    q: ArrayLike,
    text: KeysLike,
    pooling: int | str | None = ...,
    taps_k: ArrayLike | None = ...,
    taps_v: ArrayLike | None = ...,
    window: int | None = ...,
    kernel: int | None = ...,
    stride: int | None = ...,
    *,
    o: ArrayLike | None = ...,
    flags: int | str | None = ...,
    numerics: int | str | None = ...,
    dtype: DType | None = ...,
    device: DeviceLike | None = ...,
    threads: int | None = ...,
) -> Plan: ...

__all__ = ['longformer', 'global_rows', 'bigbird', 'longt5', 'lsg', 'hepos', 'pagesum', 'pegasus_x',
 'salient', 'poolingformer_level1', 'transformer_xl', 'compressive', 'deberta',
 'poolingformer_deberta', 'top_down', 'awesome', 'retrieval', 'lsg_program',
 'poolingformer_level2']
