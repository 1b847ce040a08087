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
    peak_mib: float       # largest resident set, mapped files included (sampled every 5 ms)
    anonymous_mib: float  # largest seen without them (the same)
    status: int


def kib_in(pid: int, file: str, field: str) -> int:
    """A field of a /proc file of a process, 0 once it is gone."""
    try:
        with open(f"/proc/{pid}/{file}", encoding="ascii") as stream:
            match = re.search(rf"^{field}:\s+(\d+)", stream.read(), re.MULTILINE)
            return int(match.group(1)) if match else 0
    except OSError:
        return 0


def once(command: list[str], watch_memory: bool) -> Sample:
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    anonymous, peak, done = 0, 0, threading.Event()

    # VmHWM rather than wait4's ru_maxrss, which starts at the resident set of
    # the process that forked: this one, with the models that it generated.
    def watch() -> None:
        nonlocal anonymous, peak
        while not done.wait(0.005):
            anonymous = max(anonymous, kib_in(process.pid, "smaps_rollup", "Anonymous"))
            peak = max(peak, kib_in(process.pid, "status", "VmHWM"))

    watcher = threading.Thread(target=watch)
    if watch_memory:
        watcher.start()
    _, status = os.waitpid(process.pid, 0)
    seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    done.set()
    if watch_memory:
        watcher.join()
    return Sample(seconds, peak / 1024, anonymous / 1024, process.returncode)


def median(command: list[str], runs: int = 5) -> Sample:
    """The median time of `runs` after one warm-up; memory of one more run."""
    once(command, False)
    samples = [once(command, False) for _ in range(runs)]
    memory = once(command, True)
    return Sample(statistics.median(s.seconds for s in samples), memory.peak_mib,
                  memory.anonymous_mib, memory.status)
