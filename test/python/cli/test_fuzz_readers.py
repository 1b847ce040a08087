"""A short run of test/fuzz/fuzz_readers.py, and what it takes for a deviation."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
from tool import BUILD, ROOT

FUZZ = ROOT / "test" / "fuzz"
COUNT = 200


def test_mutated_files(tmp_path):
    done = subprocess.run([sys.executable, FUZZ / "fuzz_readers.py", "--count", str(COUNT), "--seed", "29", "--keep", tmp_path / "kept"],
                          capture_output=True, text=True, timeout=240, env={**os.environ, "MPOPT_BUILD": str(BUILD)})
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("0 deviations\n")
    counts = [int(line.split(" runs:")[0].split()[-1]) for line in done.stdout.splitlines() if " runs:" in line]
    # Some readers are not in every build.
    assert len(counts) >= 20 and sum(counts) >= COUNT * .7


@pytest.fixture(scope="module")
def fuzzer():
    sys.path.insert(0, str(FUZZ))
    try:
        import fuzz_readers
    finally:
        sys.path.remove(str(FUZZ))
    return fuzz_readers


def say(text, status):
    def main(_):
        print(text, file=sys.stderr)
        return status
    return main


def spin(_):
    while True:
        pass


@pytest.mark.parametrize("main, why", [
    (lambda _: 0, ""), (lambda _: 1, ""), (say("mpopt: error: x: is no file", 2), ""), (say("mpopt: warning: x", 0), ""),
    (lambda _: 1 // 0, "ZeroDivisionError"), (lambda _: 3, "status 3"), (lambda _: 2, "status 2 and 0 lines"),
    (say("mpopt: error: a\nmpopt: error: b", 2), "status 2 and 2 lines"), (say("mpopt: error: a\nb", 2), "status 2 and 2 lines"),
    (say("other: error: a", 2), "status 2 and 1 lines"), (say("mpopt: error: a", 0), "status 0: mpopt: error: a"),
    (say("mpopt: error: " + "x" * 3000, 2), "a line of 3014 characters"), (say("mpopt: error: internal error", 2), "internal error"),
    (lambda _: os.kill(os.getpid(), 9), "signal 9"), (spin, "signal"), (lambda _: time.sleep(60) or 0, "signal 9"),
    (lambda _: len(bytearray(1 << 30)), "MemoryError")])
def test_deviations(main, why, fuzzer, tmp_path):
    reader = fuzzer.Reader("made up", (fuzzer.readers.FILE,), (), (), main=main)
    limits = fuzzer.Limits(1, 1 << 29)
    found = fuzzer.find_deviation(reader, fuzzer.run(reader, tmp_path / "file", tmp_path, limits), limits)
    assert why in found if why else not found, found


def test_same_seed_same_files(fuzzer, tmp_path):
    import random

    (tmp_path / "a.json").write_text('{"a": [1, 2, {"b": "c"}]}')
    for reader in fuzzer.READERS:
        with_seed = fuzzer.Reader(reader.name, reader.command, ("a.json",), reader.mutate)
        files = [[fuzzer.make_file(with_seed, tmp_path, random.Random(f"{seed}")) for seed in range(50)] for _ in range(2)]
        # Two of three mutations of records leave what is no record as it is.
        assert files[0] == files[1] and len(set(files[0])) > 10
