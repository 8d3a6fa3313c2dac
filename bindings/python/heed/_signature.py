# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""The parameters of a mechanism's function, from the fields of its descriptor: for mechanisms.py,
and for headers.py, which writes them down with their types."""

HIDDEN = ("size", "reserved", "o", "list_room")
COMMON = ("flags", "numerics")
OF_ATTENTION = ("scale", "softcap", "sinks", "lse")
WITHOUT_TEXT = ("heed_retrieval_desc",)     # the text may be absent


def parameters(struct, fields, more):
    """What is required, what is optional, and what goes by name alone. fields: name, type and
    extent, as in _abi.STRUCTS; more: OF_ATTENTION, or nothing."""
    names = [name for name, kind, _ in fields if name not in HIDDEN + COMMON and kind != "pointer"]
    needed = [name for name in names if name in ("q", "pages", "w")] or names[:1]
    needed += [name for name in names if name in ("text", "top") and struct not in WITHOUT_TEXT]
    return (needed, [name for name in names if name not in needed],
            ["o", *COMMON, *more, "dtype", "device", "threads"])
