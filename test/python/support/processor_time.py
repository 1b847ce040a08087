"""Processor time and peak memory of many runs of mpopt.

Time is user and system time of the process, so that load does not matter. Models share
a process: a batch within the limit holds only models within it, and of a batch that is
not, every model is run alone."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tool import MPOPT

# A process counts the memory that its parent had when it was forked: a small one,
# without NumPy, starts the tool.
MEASURE = """import json, os, sys
for line in sys.stdin:
    arguments = json.loads(line)
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(os.open(os.devnull, os.O_RDWR), 1)
        os.dup2(write, 2)
        os.close(read)
        os.close(write)
        os.execv(arguments[0], arguments)
    os.close(write)
    with open(read, errors="replace") as pipe:
        error = pipe.read()
    _, status, used = os.wait4(child, 0)
    print(json.dumps([os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime,
                      used.ru_maxrss * 1024, error]), flush=True)
"""


@dataclass
class Run:
    status: int
    seconds: float
    # Peak of the resident memory in bytes.
    memory: int
    error: str


class Runner:
    """A process that runs mpopt, one run after another."""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-I", "-S", "-c", MEASURE], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self, arguments) -> Run:
        self.process.stdin.write(json.dumps([str(MPOPT), *map(str, arguments)]) + "\n")
        self.process.stdin.flush()
        return Run(*json.loads(self.process.stdout.readline()))

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


@dataclass
class Limits:
    """A model's limits: seconds with the start of the process, and bytes."""

    seconds: float
    memory: int

    def problem(self, run: Run) -> str:
        if run.status < 0:
            return f"signal {-run.status}"
        if run.status not in (0, 1, 2):
            return f"status {run.status}: {run.error[:200]}"
        if "internal error" in run.error:
            return run.error[:200]
        if run.seconds > self.seconds:
            return f"{run.seconds:.2f} s of processor time"
        if run.memory > self.memory:
            return f"{run.memory >> 20} MiB"
        return ""


class Pool:
    """Runs batches of models on all cores."""

    def __init__(self, batch: int = 40):
        self.batch = batch
        count = len(os.sched_getaffinity(0))
        self.free = [Runner() for _ in range(count)]
        self.runners = list(self.free)
        self.threads = ThreadPoolExecutor(count)

    def close(self):
        self.threads.shutdown()
        for runner in self.runners:
            runner.close()

    def run(self, arguments) -> Run:
        runner = self.free.pop()
        try:
            return runner.run(arguments)
        finally:
            self.free.append(runner)

    def starting_seconds(self, model, *options) -> float:
        """Processor time that a model takes which asks for nothing."""
        return min(self.run([*options, model]).seconds for _ in range(5))

    def check(self, models: list, limits: Limits, *options) -> tuple[dict, dict]:
        """The problems in the run of each model, and the error line of each that was
        refused."""
        problems, refused = {}, {}

        def look(batch):
            run = self.run(["--check", *options, *batch])
            problem = limits.problem(run)
            if problem and len(batch) > 1:
                # A slow one among quick ones: halves find it in fewer runs.
                for half in (batch[:len(batch) // 2], batch[len(batch) // 2:]):
                    look(half)
            elif problem:
                problems[batch[0]] = problem
            else:
                refused.update(read_errors(run.error))
                if (run.status == 2) != any(str(model) in refused for model in batch):
                    problems[batch[0]] = f"status {run.status}: {run.error[:300]}"

        batches = [models[at:at + self.batch] for at in range(0, len(models), self.batch)]
        list(self.threads.map(look, batches))
        return problems, refused


def read_errors(text: str) -> dict[str, str]:
    """The first error of each model."""
    errors = {}
    for match in re.finditer(r"^mpopt: error: (/[^:]*): (.*)$", text, re.M):
        errors.setdefault(match[1], match[2])
    return errors
