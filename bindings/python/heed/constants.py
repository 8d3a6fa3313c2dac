# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""The constants of the headers, without their prefix: HEED_LSG_CAUSAL is LSG_CAUSAL."""

from ._abi import CONSTANTS

__all__ = [_name[len("HEED_"):] for _name in CONSTANTS]
globals().update(zip(__all__, CONSTANTS.values()))
