"""Time and memory of a whole process."""

from __future__ import annotations

import os
import re
import signal
import statistics
import subprocess
import threading
import time
from dataclasses import dataclass, replace

LONG = 10       # seconds
EXCEEDED = 124  # the status of a process that was ended at its limit, as of timeout(1)


@dataclass
class Sample:
    seconds: float        # wall-clock time
    processor: float      # seconds of user and system time, of all threads and waited children
    peak_mib: float       # largest resident set, mapped files included (sampled every 5 ms)
    anonymous_mib: float  # largest seen without them (the same)
    status: int
    first: float = 0      # wall-clock seconds of the warm-up


def kib_in(status: str, field: str) -> int:
    """A field of the text of /proc/PID/status, 0 once the process has no memory."""
    match = re.search(rf"^{field}:\s+(\d+)", status, re.MULTILINE)
    return int(match.group(1)) if match else 0


def once(command: list[str], watch_memory: bool, limit: float | None = None) -> Sample:
    """One run, which is ended after `limit` seconds of wall-clock time."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    handle = os.pidfd_open(process.pid)
    anonymous, peak, exceeded, done = 0, 0, False, threading.Event()

    # VmHWM rather than wait4's ru_maxrss, which starts at the resident set of
    # the process that forked: this one, with the models that it generated.
    # RssAnon rather than the sum in smaps_rollup, for which the kernel walks all
    # that is mapped while the process waits.
    def watch() -> None:
        nonlocal anonymous, peak, exceeded
        while not done.wait(0.005 if watch_memory else 0.05):
            if limit is not None and not exceeded and time.perf_counter() - started > limit:
                exceeded = True
                # By its handle: the number may be another's once it is waited for.
                signal.pidfd_send_signal(handle, signal.SIGKILL)
            if not watch_memory:
                continue
            try:
                with open(f"/proc/{process.pid}/status", encoding="ascii") as stream:
                    status = stream.read()
            except OSError:
                continue
            anonymous = max(anonymous, kib_in(status, "RssAnon"))
            peak = max(peak, kib_in(status, "VmHWM"))

    watcher = threading.Thread(target=watch)
    if watch_memory or limit is not None:
        watcher.start()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    done.set()
    if watcher.ident is not None:
        watcher.join()
    os.close(handle)
    return Sample(seconds, usage.ru_utime + usage.ru_stime, peak / 1024, anonymous / 1024,
                  EXCEEDED if exceeded else process.returncode)


def median(command: list[str], runs: int = 5, limit: float | None = None) -> Sample:
    """The median times of `runs` after one warm-up; memory of one more run. What takes
    more than `LONG` seconds is timed once, under a limit by the warm-up itself."""
    warm_up = once(command, limit is not None, limit)
    if limit is not None and (warm_up.status != 0 or warm_up.seconds > LONG):
        return replace(warm_up, first=warm_up.seconds)
    runs = 1 if warm_up.seconds > LONG else runs
    samples = [once(command, False) for _ in range(runs)]
    memory = once(command, True)
    return Sample(statistics.median(s.seconds for s in samples),
                  statistics.median(s.processor for s in samples), memory.peak_mib,
                  memory.anonymous_mib, memory.status, warm_up.seconds)
