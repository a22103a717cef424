"""The machine and its caches."""

import platform
import re
from functools import cache
from pathlib import Path

DEFAULT = {"L1": 32 << 10, "L2": 1 << 20, "L3": 32 << 20}
"""Used where the system does not say."""


@cache
def caches() -> dict[str, int]:
    """Bytes of the data caches that one CPU reaches, from sysfs."""
    sizes = dict(DEFAULT)
    for index in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        if (index / "type").read_text().strip() != "Instruction":
            number, unit = re.fullmatch(r"(\d+)([KM]?)", (index / "size").read_text().strip()).groups()  # type: ignore[union-attr]
            level = "L" + (index / "level").read_text().strip()
            sizes[level] = int(number) << {"": 0, "K": 10, "M": 20}[unit]
    return sizes


def cpu() -> str:
    """Name, family and model."""
    info = Path("/proc/cpuinfo")
    text = info.read_text() if info.exists() else ""
    facts = dict(re.findall(r"^(model name|cpu family|model)\s*:\s*(.*)$", text, re.MULTILINE))
    if "model name" not in facts:
        return platform.machine()
    return f"{facts['model name']} (family {facts.get('cpu family')}, model {facts.get('model')})"
