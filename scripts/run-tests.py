#!/usr/bin/env python3
"""Run every test suite of a build and sum up.

    run-tests.py BUILD_DIR

lit (test/), the GoogleTest programs (BUILD_DIR/test/unit) and pytest
(test/python) each write a JUnit file; the last line printed is
`N passed, N failed` over all of them (`, N skipped` if there were any). The exit
status is 1 if anything failed or a suite ran no test.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __iadd__(self, other: Count) -> Count:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        return self


def read_junit(file: Path) -> Count:
    """The counts of one JUnit file, by its test cases: the totals that the three
    writers put into attributes do not mean the same."""
    count = Count()
    for case in ElementTree.parse(file).iter("testcase"):
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"}:
            count.failed += 1
        elif "skipped" in kinds or case.get("status") == "notrun":
            count.skipped += 1
        else:
            count.passed += 1
    return count


def run(name: str, command: list[str], junit: Path) -> Count:
    print(f"== {name}", flush=True)
    status = subprocess.run(command, cwd=ROOT).returncode
    count = read_junit(junit) if junit.exists() else Count()
    if status != 0 and count.failed == 0:
        print(f"{name}: exit status {status} without a failed test")
        count.failed += 1
    if count.passed + count.failed == 0:
        print(f"{name}: no test ran")
        count.failed += 1
    print(f"{name}: {count.passed} passed, {count.failed} failed, {count.skipped} skipped",
          flush=True)
    return count


def main() -> int:
    build = Path(sys.argv[1]).resolve()
    jobs = str(os.cpu_count() or 1)
    total = Count()
    with tempfile.TemporaryDirectory() as folder:
        junit = Path(folder, "lit.xml")
        total += run("lit", ["lit", "-q", "-j", jobs, f"--xunit-xml-output={junit}",
                             str(build / "test")], junit)
        programs = sorted(p for p in (build / "test" / "unit").iterdir()
                          if p.is_file() and os.access(p, os.X_OK))
        for program in programs:
            junit = Path(folder, f"{program.name}.xml")
            total += run(program.name, [str(program), "--gtest_brief=1",
                                        f"--gtest_output=xml:{junit}"], junit)
        junit = Path(folder, "pytest.xml")
        os.environ["MPOPT_BUILD"] = str(build)
        total += run("pytest", [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                                f"--junitxml={junit}", "test/python"], junit)
    skipped = f", {total.skipped} skipped" if total.skipped else ""
    print(f"{total.passed} passed, {total.failed} failed{skipped}")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
