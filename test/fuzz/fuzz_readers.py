#!/usr/bin/env python3
"""Mutated files for every reader: each run ends in time, within its memory, and with one line where it fails.

    test/fuzz/fuzz_readers.py [--count 10000] [--seed 0] [--readers NAME ...] [--keep FOLDER]

MPOPT_BUILD names the build (default: build of the checkout). A run deviates if it takes more than --seconds of
the processor, or is not done after twice that time, more than --memory megabytes, ends by a signal or another status than 0, 1 and 2, or
if what it says with status 2 is no line of error, or more than one where it reads one file, or with another status any. Files that deviate go to
--keep. The same seed makes the same files."""

from __future__ import annotations

import argparse
import collections
import os
import random
import re
import resource
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.setdefault("MPOPT_BUILD", str(ROOT / "build"))).resolve()
TOOL = BUILD / "bin" / "mpopt"
sys.path[:0] = [str(ROOT / "python"), *(str(ROOT / "test" / "python" / part) for part in ("support", "page"))]

import mutations  # noqa: E402
import readers  # noqa: E402
from readers import READERS, Reader  # noqa: E402


@dataclass(frozen=True)
class Limits:
    seconds: int
    memory: int  # bytes


@dataclass(frozen=True)
class Run:
    status: int  # negative: a signal
    seconds: float
    memory: int
    error: str


def _become(reader: Reader, words: list[str], limits: Limits, folder: Path, errors: int) -> None:
    """Of the child: the reader, with limits. Does not return."""
    status = 1
    try:
        os.chdir(folder)
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor, target in ((null, 0), (null, 1), (errors, 2)):
            os.dup2(descriptor, target)
        sys.stdin, sys.stdout, sys.stderr = (open(target, mode, closefd=False) for target, mode in ((0, "r"), (1, "w"), (2, "w")))
        resource.setrlimit(resource.RLIMIT_CPU, (limits.seconds, limits.seconds + 1))
        space = limits.memory + reader.reserved
        resource.setrlimit(resource.RLIMIT_AS, (space, space))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if reader.main is None:
            os.execv(TOOL, [str(TOOL), *words])
        status = reader.main(words)
        sys.stderr.flush()
    except BaseException:  # noqa: BLE001: as Python's own end of a program, which a fork has not.
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


def _wait(child: int, limits: Limits) -> tuple[int, resource.struct_rusage]:
    end, pause = time.monotonic() + 2 * limits.seconds, .001
    while True:
        done, status, used = os.wait4(child, os.WNOHANG)
        if done:
            return status, used
        if time.monotonic() > end:
            os.kill(child, 9)
            _, status, used = os.wait4(child, 0)
            return status, used
        time.sleep(pause)
        pause = min(pause * 1.5, .02)


def run(reader: Reader, file: Path, seeds: Path, limits: Limits) -> Run:
    places = {readers.FILE: str(file), readers.BESIDE: f"{file}.beside"}
    if reader.beside is not None:
        seed, make = reader.beside
        Path(places[readers.BESIDE]).write_bytes(make((seeds / seed).read_bytes(), file.read_bytes()))
    words = [re.sub("FILE|BESIDE", lambda match: places[match[0]], word) for word in reader.command]
    with tempfile.TemporaryFile() as errors:
        child = os.fork()
        if not child:
            _become(reader, words, limits, seeds, errors.fileno())
        status, used = _wait(child, limits)
        errors.seek(0)
        text = errors.read(1 << 20).decode("utf-8", "replace")
    return Run(os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss << 10, text)


def find_deviation(reader: Reader, done: Run, limits: Limits) -> str:
    """Empty if the run ended as it should."""
    lines = [line for line in done.error.splitlines() if not line.startswith(("mpopt: warning: ", "mpopt: note: "))]
    told = [line for line in lines if line.startswith(reader.prefix)]
    if done.status < 0:
        return f"signal {-done.status} after {done.seconds:.1f} s of the processor"
    if done.seconds > limits.seconds:
        return f"{done.seconds:.1f} s"
    if done.memory > limits.memory:
        return f"{done.memory >> 20} MB"
    if "internal error" in done.error or "Traceback" in done.error:
        return lines[-1][:300]
    if done.status not in (0, 1, 2):
        return f"status {done.status}"
    if done.status == 2 and (lines != told or not told or len(told) > 1 and not reader.many):
        return f"status 2 and {len(lines)} lines: {lines[:2]}"
    if done.status != 2 and told:
        return f"status {done.status}: {told[0][:300]}"
    return f"a line of {max(map(len, lines))} characters" if any(len(line) > 2000 for line in lines) else ""


def make_file(reader: Reader, seeds: Path, rng: random.Random) -> bytes:
    data = (seeds / rng.choice(reader.seeds)).read_bytes()
    if rng.random() < .05:
        data = mutations.splice(data, (seeds / rng.choice(reader.seeds)).read_bytes(), rng)
    return rng.choice(reader.mutate)(data, rng)


def reads_seeds(reader: Reader, seeds: Path, limits: Limits) -> bool:
    """Whether a build has the reader, and the packages that make its seeds. A seed that is refused for another
    reason is an error of the table: the mutations would test nothing behind that refusal."""
    for seed in reader.seeds:
        if not (seeds / seed).exists():
            print(f"{reader.name}: left out: there is no {seed}", flush=True)
            return False
        file = seeds / f"file{reader.suffix}"
        shutil.copy(seeds / seed, file)
        done = run(reader, file, seeds, limits)
        file.unlink()
        if "without PyTorch" in done.error:
            print(f"{reader.name}: left out: {done.error.strip()[:200]}", flush=True)
            return False
        if done.status not in (0, 1):
            raise SystemExit(f"{reader.name}: the seed {seed} is refused: {done.error.strip()[:200]}")
    return True


def share_out(chosen: list[Reader], count: int) -> dict[str, int]:
    whole = sum(reader.share for reader in chosen)
    return {reader.name: max(1, round(count * reader.share / whole)) for reader in chosen}


def fuzz(chosen: list[Reader], count: int, seed: int, limits: Limits, keep: Path | None) -> int:
    """The number of deviations, of which each is a line."""
    deviations = 0
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        seeds, mutated = Path(name, "seeds"), Path(name, "mutated")
        seeds.mkdir()
        mutated.mkdir()
        readers.make_seeds(seeds, TOOL)
        chosen = [reader for reader in chosen if reads_seeds(reader, seeds, limits)]
        counts = share_out(chosen, count)
        for reader in chosen:
            seen: collections.Counter[int] = collections.Counter()
            slowest, largest = 0.0, 0
            for index in range(counts[reader.name]):
                file = mutated / f"file{reader.suffix}"
                file.write_bytes(make_file(reader, seeds, random.Random(f"{seed} {reader.name} {index}")))
                done = run(reader, file, seeds, limits)
                seen[done.status] += 1
                slowest, largest = max(slowest, done.seconds), max(largest, done.memory)
                if why := find_deviation(reader, done, limits):
                    deviations += 1
                    print(f"{reader.name} {index}: {why}", flush=True)
                    if keep is not None:
                        keep.mkdir(parents=True, exist_ok=True)
                        shutil.copy(file, keep / f"{reader.name.replace(' ', '-')}-{index}{reader.suffix}")
            print(f"{reader.name:22} {sum(seen.values()):6} runs: {dict(sorted(seen.items()))}, at most {slowest:.2f} s, {largest >> 20} MB", flush=True)
    return deviations


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000, help="of all readers together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--readers", nargs="*", default=[reader.name for reader in READERS])
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--memory", type=int, default=1024, help="megabytes")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args(arguments)
    known = {reader.name: reader for reader in READERS}
    if unknown := set(options.readers) - set(known):
        parser.error(f"no reader '{sorted(unknown)[0]}': {', '.join(known)}")
    chosen = [known[name] for name in options.readers]
    deviations = fuzz(chosen, options.count, options.seed, Limits(options.seconds, options.memory << 20), options.keep)
    print(f"{deviations} deviations")
    return int(deviations > 0)


if __name__ == "__main__":
    sys.exit(main())
