# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""GPUs as the planner and predictions see them, from their vendors' data sheets.

units: multiprocessors, compute units or Xe cores; lanes: multiply-adds of f32 that one issues in a
cycle, without packed or dual issue; gigahertz: of the boost clock; bandwidth: GB/s of memory; rows,
sums: traits of heed's devices.
"""

import collections

# Of a unit, each of which issues for the waves that lie on it.
SCHEDULERS = {"sm_80": 4, "sm_90": 4, "sm_100": 4, "gfx90a": 4, "gfx942": 4, "gfx1030": 2,
              "gfx1100": 2, "gfx1201": 2, "dg2": 16, "pvc": 8, "tgllp": 16}


class Device(collections.namedtuple("Device", "name target units lanes gigahertz bandwidth rows sums")):
    @property
    def schedulers(self):
        return SCHEDULERS[self.target]


DEVICES = [
    Device("RTX 3060", "sm_80", 28, 128, 1.78, 360, 64, 64),
    Device("A100", "sm_80", 108, 64, 1.41, 1555, 64, 64),
    Device("H100", "sm_90", 132, 128, 1.98, 3350, 64, 64),
    Device("RX 6800", "gfx1030", 60, 64, 2.10, 512, 64, 32),
    Device("MI210", "gfx90a", 104, 64, 1.70, 1638, 64, 32),
    Device("MI300X", "gfx942", 304, 64, 2.10, 5300, 64, 32),
    Device("Arc A770", "dg2", 32, 128, 2.10, 560, 64, 16),
    Device("Max 1550", "pvc", 128, 128, 1.60, 3277, 64, 32),
]


def peak(device):
    """TFLOP/s of multiply-adds in f32."""
    return device.units * device.lanes * device.gigahertz * 2e-3
