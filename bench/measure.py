"""Time and memory of a whole process."""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import threading
import time
from dataclasses import dataclass


@dataclass
class Sample:
    seconds: float
    peak_mib: float       # largest resident set, mapped files included
    anonymous_mib: float  # largest seen without them (sampled every 5 ms)
    status: int


def anonymous_kib(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as stream:
            match = re.search(r"^Anonymous:\s+(\d+)", stream.read(), re.MULTILINE)
            return int(match.group(1)) if match else 0
    except OSError:
        return 0


def once(command: list[str], watch_memory: bool) -> Sample:
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    largest, done = 0, threading.Event()

    def watch() -> None:
        nonlocal largest
        while not done.wait(0.005):
            largest = max(largest, anonymous_kib(process.pid))

    watcher = threading.Thread(target=watch)
    if watch_memory:
        watcher.start()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    done.set()
    if watch_memory:
        watcher.join()
    return Sample(seconds, usage.ru_maxrss / 1024, largest / 1024, process.returncode)


def median(command: list[str], runs: int = 5) -> Sample:
    """The median time of `runs` after one warm-up; memory of one more run."""
    once(command, False)
    samples = [once(command, False) for _ in range(runs)]
    memory = once(command, True)
    return Sample(statistics.median(s.seconds for s in samples), memory.peak_mib,
                  memory.anonymous_mib, memory.status)
