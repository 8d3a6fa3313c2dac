# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""A cache of transformers that has room: a token is written behind the others, where DynamicCache
copies all keys and values to join it to them."""

from __future__ import annotations

from transformers import cache_utils

from ._torch_plans import rounded

LEAST_ROOM = 256


class Rows:
    """Memory [B][H][room][d], of which a tensor is the rows that are in use."""

    def __init__(self):
        self.memory = None

    def first_row(self, rows):
        """The row of the memory at which a tensor begins, or None where it is no part of it."""
        memory = self.memory
        if memory is None or rows.stride() != memory.stride() or \
                rows.shape[:2] != memory.shape[:2] or \
                rows.untyped_storage().data_ptr() != memory.untyped_storage().data_ptr():
            return None
        return rows.storage_offset() // memory.stride(2)

    def join(self, rows, more):
        """`rows` and behind them `more`, as one tensor in the memory; rows that are there already
        stay where they are while there is room."""
        count = rows.shape[2] if rows.numel() else 0
        first, total = self.first_row(rows) if count else None, count + more.shape[2]
        if first is None or first + total > self.memory.shape[2]:
            if first is None or first < count or total > self.memory.shape[2]:
                room = rounded(total + max(total // 2, LEAST_ROOM))
                self.memory = more.new_empty((*more.shape[:2], room, more.shape[3]))
            if count:       # into new memory, or to the front of the old, which is free
                self.memory[:, :, :count] = rows
            first = 0
        self.memory[:, :, first + count:first + total] = more
        return self.memory[:, :, first:first + total]


class GrowingLayer(cache_utils.DynamicLayer):
    """DynamicLayer with room."""

    def __init__(self, **given):
        super().__init__(**given)
        self.rows = Rows(), Rows()

    def update(self, key_states, value_states, *args, **kwargs):
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        self.keys = self.rows[0].join(self.keys, key_states)
        self.values = self.rows[1].join(self.values, value_states)
        return self.keys, self.values


class GrowingWindowLayer(cache_utils.DynamicSlidingWindowLayer):
    """DynamicSlidingWindowLayer with room: the window moves on in the memory, and is copied to its
    front when it has reached the end."""

    def __init__(self, sliding_window, **given):
        super().__init__(sliding_window, **given)
        self.rows = Rows(), Rows()

    def update(self, key_states, value_states, *args, **kwargs):
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        self.cumulative_length += key_states.shape[2]
        keys = self.rows[0].join(self.keys, key_states)
        values = self.rows[1].join(self.values, value_states)
        kept = slice(1 - self.sliding_window, None)
        if self.record_past:    # crop() cuts them
            shown = slice(1 - self.sliding_window - key_states.shape[2], None)
            self.keys, self.values = keys, values
            return keys[:, :, shown], values[:, :, shown]
        self.keys, self.values = keys[:, :, kept], values[:, :, kept]
        return keys, values


class GrowingCache(cache_utils.DynamicCache):
    """DynamicCache of a configuration whose layers have room for more tokens, up to half as many
    again as there are. It serves every implementation of attention. Rows of a cache that was cut
    are written over."""

    def __init__(self, config):
        super().__init__(config=config)
        self.layers = [self.grown(layer) for layer in self.layers]

    @staticmethod
    def grown(layer):
        """A layer with room in place of one that copies; others stay."""
        if type(layer) is cache_utils.DynamicLayer:
            return GrowingLayer()
        if type(layer) is cache_utils.DynamicSlidingWindowLayer:
            return GrowingWindowLayer(layer.sliding_window)
        return layer
