#!/usr/bin/env python3
"""Run every test suite of a build and sum up.

    run-tests.py BUILD_DIR [--only SUITE,...] [--quick]
    run-tests.py BUILD_DIR --slow-list

lit (test/), the GoogleTest programs (BUILD_DIR/test/unit) and pytest (test/python)
each write a JUnit file, kept in BUILD_DIR/junit. The slowest tests are listed, then
those that failed with the end of their messages; one that takes longer than
MPOPT_TEST_SECONDS (240) has failed. The last line printed is `N passed, N failed`
over all of them (`, N skipped` if there were any). The exit status is 1 if anything
failed or a suite ran no test. SUITE is lit, unit or pytest.

--quick leaves out the tests with the markers `slow` and `torch`, adds the table of bench/accept,
and runs pytest beside the other suites.

--slow-list runs nothing: it writes test/python/slow.txt, the tests with the marker `slow`,
from the pytest run that BUILD_DIR/junit holds.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUITES = ("lit", "unit", "pytest")
LISTED = 20
MESSAGE = 12  # lines of a failed test's message that are shown again at the end
TESTS = ROOT / "test" / "python"
# A test that takes longer has the marker `slow`: the 2,285 others without PyTorch take 23 s on one core, which is
# what `make quick` has beside lit, unit tests and the acceptance table.
SLOW_SECONDS = 0.1
SLOW_HEAD = f"# Tests that take over {SLOW_SECONDS} s, as scripts/run-tests.py BUILD --slow-list measured.\n"


@dataclass
class Count:
    """Results of tests, the seconds that each took, and why some failed."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: list[tuple[float, str]] = field(default_factory=list)
    failures: list[tuple[str, str]] = field(default_factory=list)

    def fail(self, name: str, message: str) -> None:
        """Counts one failed test."""
        self.failed += 1
        self.failures.append((name, message))

    def __iadd__(self, other: Count) -> Count:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.seconds += other.seconds
        self.failures += other.failures
        return self


def read_junit(file: Path, most: float) -> Count:
    """The counts of one JUnit file, by its test cases: the totals that the three
    writers put into attributes do not mean the same."""
    count = Count()
    for case in ElementTree.parse(file).iter("testcase"):
        kinds = {child.tag for child in case}
        messages = [child.text or child.get("message") or "" for child in case
                    if child.tag in ("failure", "error")]
        name = f"{file.stem}: {case.get('classname', '')}.{case.get('name')}"
        taken = float(case.get("time") or 0)
        count.seconds.append((taken, name))
        if messages:
            count.fail(name, "\n".join(messages))
        elif "skipped" in kinds or case.get("status") == "notrun":
            count.skipped += 1
        elif taken > most:
            count.fail(name, f"took {taken:.0f} s, {most:.0f} s at most")
        else:
            count.passed += 1
    return count


def slow_tests(file: Path) -> list[str]:
    """`FOLDER/MODULE.py::TEST` of the slow tests of a JUnit file; one slow parameter is enough."""
    found = set()
    for case in ElementTree.parse(file).iter("testcase"):
        # The test's module, and behind it its class, if it has one.
        path = Path(*case.get("classname", "").split("."))
        module = next((p.with_suffix(".py") for p in (path, path.parent) if (ROOT / p).with_suffix(".py").exists()), None)
        if module and float(case.get("time") or 0) > SLOW_SECONDS:
            found.add(f"{(ROOT / module).relative_to(TESTS).as_posix()}::{case.get('name', '').partition('[')[0]}")
    return sorted(found)


def write_slow_list(build: Path) -> int:
    file = build / "junit" / "pytest.xml"
    if not file.exists():
        print(f"run-tests.py: error: no {file}: run the suites first", file=sys.stderr)
        return 2
    (TESTS / "slow.txt").write_text(SLOW_HEAD + "".join(f"{test}\n" for test in slow_tests(file)), encoding="utf-8")
    return 0


def run(name: str, command: list[str], junit: Path, most: float) -> Count:
    print(f"== {name}", flush=True)
    status = subprocess.run(command, cwd=ROOT).returncode
    count = read_junit(junit, most) if junit.exists() else Count()
    if status != 0 and count.failed == 0:
        count.fail(name, f"exit status {status} without a failed test")
    if count.passed + count.failed == 0:
        count.fail(name, "no test ran")
    print(f"{name}: {count.passed} passed, {count.failed} failed, {count.skipped} skipped",
          flush=True)
    return count


def run_table() -> Count:
    """The acceptance table counts as one test."""
    print("== acceptance table", flush=True)
    done = subprocess.run([ROOT / "bench" / "accept" / "run"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        return Count(failed=1, failures=[("bench/accept/run", done.stdout + done.stderr)])
    return Count(passed=1)


def commands(build: Path, suites: list[str], junit: Path, quick: bool):
    """Each suite's command and the file that it writes."""
    if "lit" in suites:
        file = junit / "lit.xml"
        yield "lit", ["lit", "-q", "-j", str(os.cpu_count() or 1),
                      f"--xunit-xml-output={file}", str(build / "test")], file
    if "unit" in suites:
        for program in sorted((build / "test" / "unit").iterdir()):
            if program.is_file() and os.access(program, os.X_OK):
                file = junit / f"{program.name}.xml"
                yield program.name, [str(program), "--gtest_brief=1",
                                     f"--gtest_output=xml:{file}"], file
    if "pytest" in suites:
        file = junit / "pytest.xml"
        yield "pytest", [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                         f"--junitxml={file}", *(["-m", "not slow and not torch"] if quick else []), "test/python"], file


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--only", default=",".join(SUITES), help="suites, comma separated")
    parser.add_argument("--quick", action="store_true", help="fast tests and the acceptance table only")
    parser.add_argument("--slow-list", action="store_true", help="write test/python/slow.txt")
    given = parser.parse_args()
    if given.slow_list:
        return write_slow_list(given.build.resolve())
    suites = given.only.split(",")
    if unknown := set(suites) - set(SUITES):
        parser.error(f"no suite is called {', '.join(sorted(unknown))}: {', '.join(SUITES)}")
    build = given.build.resolve()
    os.environ["MPOPT_BUILD"] = str(build)
    most = float(os.environ.get("MPOPT_TEST_SECONDS", "240"))
    junit = build / "junit"
    shutil.rmtree(junit, ignore_errors=True)
    junit.mkdir(parents=True)
    total = Count()
    work = list(commands(build, suites, junit, given.quick))
    with ThreadPoolExecutor(1) as beside:
        later = [beside.submit(run, *entry, most) for entry in work if given.quick and entry[0] == "pytest"]
        for entry in work[:len(work) - len(later)]:
            total += run(*entry, most)
        if given.quick:
            total += run_table()
        for future in later:
            total += future.result()
    print(f"== the {LISTED} slowest tests")
    for taken, name in sorted(total.seconds, reverse=True)[:LISTED]:
        print(f"{taken:7.1f} s  {name}")
    if total.failures:
        print("== what failed")
    for name, message in total.failures:
        print(name)
        for line in message.strip().splitlines()[-MESSAGE:]:
            print(f"    {line}")
    skipped = f", {total.skipped} skipped" if total.skipped else ""
    print(f"{total.passed} passed, {total.failed} failed{skipped}")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
