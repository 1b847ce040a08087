"""The files behind the pages: what each is, and what changed."""

import contextlib
import hashlib
import json
import pathlib
import re
import tempfile
import threading
from collections.abc import Sequence

from mpopt import _command, _input_files, _json_files, _output_files, _page, _run_page
from mpopt._command import Error, PathLike
from mpopt._version import __version__
from mpopt.monitor import fp8, history
from mpopt.view import report_form

#: Files that cannot be shown, of which the page says why.
MOST_PASSED = 20
#: A folder's files beyond these are left out: a page is for people.
MOST_FILES = 200
_REPORTS = ("mpopt-report/1", "mpopt-reports/1")


def _run_name(path: pathlib.Path) -> str:
    """The name that the ranks of a run share: `run` for `run-0.history.jsonl`."""
    return re.sub(r"[-_.]?\d+$", "", path.name.removesuffix(history.SUFFIX).removesuffix(".mprec"))


class Sources:
    """Reports (`*.json`), records (`*.mprec`) and folders of both.

    Records are shown by their histories (`mpopt.monitor.history`), those of an instrumented model
    as `mpopt --confirm --format html` shows them; those of a run's ranks together. Raises `mpopt.Error` for a path that is none of these. Folders are looked through
    again in each call, for what came since; nothing outside of them is read, whatever a link in
    them leads to."""

    def __init__(self, paths: Sequence[PathLike]):
        self.paths = [pathlib.Path(path) for path in paths]
        if not self.paths:
            raise Error("nothing to show: name a record, a report or a folder")
        for path in self.paths:
            if path.is_dir():
                continue
            _input_files.check(path)
            if not _is_history(path) and path.suffix not in (".mprec", ".json"):
                raise Error(f"{path}: is no record (.mprec), report (.json) or folder")
        self._followers: dict[pathlib.Path, history.Follower] = {}
        self._reports: dict[pathlib.Path, tuple[tuple, list[dict]]] = {}
        #: What the reports foresee of FP8, by file.
        self._foreseen: dict[pathlib.Path, fp8.Foreseen | None] = {}
        self._confirmed: dict[tuple[pathlib.Path, ...], tuple[list, dict]] = {}
        self.passed: list[str] = []
        # Requests come from several threads, and histories are followed from where they were read to.
        self._lock = threading.Lock()
        self.document()

    def _files(self) -> list[pathlib.Path]:
        found: dict[pathlib.Path, None] = {}
        for path in self.paths:
            if path.is_dir():
                root = path.resolve()
                inside = sorted([*path.glob(f"*{history.SUFFIX}"), *path.glob("*.json"),
                                 *(each for each in path.glob("*.mprec") if not history.path_of(each).exists())])
                for each in inside[:MOST_FILES]:
                    if _lies_in(each, root):
                        found[each] = None
            else:
                found[_shown_by(path)] = None
        return list(found)

    def version(self) -> str:
        """A word that changes when a file does."""
        digest = hashlib.sha256()
        for file in self._files():
            try:
                status = file.stat()
                digest.update(f"{file}\0{status.st_size}\0{status.st_mtime_ns}\0".encode(errors="replace"))
            except OSError:
                continue
        return digest.hexdigest()[:16]

    def inputs(self) -> list[pathlib.Path]:
        """The files that a page is made of."""
        return [*self._files(), *(path for path in self.paths if not path.is_dir())]

    def document(self) -> dict:
        """The pages' document (`mpopt-page/1`). `mpopt.Error` if a file that was named cannot be
        shown; those of folders are passed over, and `passed` says which and why."""
        with self._lock:
            return self._document()

    def _document(self) -> dict:
        live = self.version()
        self.passed = []
        reports = [*self._reports_shown(), *self._runs_shown(), *self._confirmed_shown()]
        with self._passing_over(*map(_shown_by, self.paths)):
            reports += self._compared_runs()
        if not reports:
            raise Error("; ".join(self.passed[:1]) or f"{', '.join(map(str, self.paths))}: neither a report nor a record's "
                        "history is there yet")
        return {"schema": "mpopt-page/1", "kind": "view", "version": __version__, "live": live,
                "reports": reports, "passed": self.passed[:MOST_PASSED], "rules": _rules()}

    @contextlib.contextmanager
    def _passing_over(self, *files: pathlib.Path):
        """An error inside is the fault of these files: the others are shown all the same."""
        named = {_shown_by(path) for path in self.paths}
        try:
            yield
        except Exception as error:  # noqa: BLE001: one file takes no page down, whatever is in it.
            text = str(error) if isinstance(error, (Error, OSError)) else f"{files[0]}: cannot be shown ({type(error).__name__})"
            if named.intersection(files):
                raise Error(text) from error
            self.passed.append(text)

    def _reports_shown(self) -> list[dict]:
        reports: list[dict] = []
        files = [file for file in self._files() if not _is_history(file) and file.suffix == ".json"]
        for file in files:
            with self._passing_over(file):
                reports += self._read_report(file)
        if len(reports) == 2:
            # The changes between them are in the second.
            with self._passing_over(*files):
                return [reports[0], {**reports[1], "compare": compare_reports(*reports)}]
        return reports

    def _runs_shown(self) -> list[dict]:
        runs: dict[tuple[pathlib.Path, str], list[history.Follower]] = {}
        for file in filter(_is_history, self._files()):
            # One that fails half-way is read anew from its start.
            follower = self._followers.pop(file, None) or history.Follower(file)
            with self._passing_over(file):
                follower.read()
                self._followers[file] = follower
                if follower.header:
                    runs.setdefault((file.parent, _run_name(file)), []).append(follower)
        # Neither of two reports is the run's for sure.
        foreseen = [each for each in map(self._foreseen.get, self._files()) if each]
        shown = []
        for (_, name), followers in runs.items():
            with self._passing_over(*(follower.path for follower in followers)):
                shown.append(_run_page.describe(history.join(followers), name, foreseen[0] if len(foreseen) == 1 else None))
        return shown

    def _confirmed_shown(self) -> list[dict]:
        records: dict[tuple[pathlib.Path, str], list[pathlib.Path]] = {}
        for file in self._files():
            if file.suffix == ".mprec":
                records.setdefault((file.parent, _run_name(file)), []).append(file)
        shown = []
        for (_, name), files in records.items():
            with self._passing_over(*files):
                shown.append({"title": name, **self._confirm(tuple(files))})
        return shown

    def _compared_runs(self) -> list[dict]:
        """The differences of two runs whose records were named, where both saw the same batches."""
        runs: dict[tuple[pathlib.Path, str], list[pathlib.Path]] = {}
        for path in self.paths:
            if path.suffix == ".mprec":
                runs.setdefault((path.parent, _run_name(history.path_of(path))), []).append(path)
        if len(runs) != 2:
            return []
        from mpopt.monitor import comparing, verdict

        (_, first), (_, second) = runs
        titles = first, second
        page = _run_page.describe_comparison(comparing.compare(*runs.values()), titles)
        with contextlib.suppress(Error):
            # Without histories, or a loss in common, there is no verdict.
            histories = [history.read(paths) for paths in runs.values()]
            page["courses"] = _run_page.describe_courses(histories, titles, verdict.judge_run(*histories))
        return [page]

    def _confirm(self, files: tuple[pathlib.Path, ...]) -> dict:
        """The findings of an instrumented model beside what a run shows, with its map."""
        from mpopt.monitor import reading

        status = [(file.stat().st_size, file.stat().st_mtime_ns) for file in files]
        known = self._confirmed.get(files)
        if known and known[0] == status:
            return known[1]
        ledger = reading.find_ledger(files[0], reading.RunFile(files[0]).ledger)
        page = _command.run(["--confirm", *map(str, files), "--ledger", str(ledger), "--format", "html", "--fail-on", "never"])
        report = _page.read(page)["reports"][0]
        self._confirmed[files] = status, report
        return report

    def _read_report(self, file: pathlib.Path) -> list[dict]:
        """The reports in a file; none in JSON of a folder that is something else."""
        status = _input_files.check(file)
        key = status.st_size, status.st_mtime_ns
        known = self._reports.get(file)
        if known and known[0] == key:
            return known[1]
        raw = _json_files.read(file)
        schema = raw.get("schema") if isinstance(raw, dict) else None
        if schema not in _REPORTS:
            if file in self.paths:
                raise Error(f"{file}: is no report of mpopt (--format json)")
            return []
        reports = raw.get("reports") if schema == _REPORTS[1] else [raw]
        if not isinstance(reports, list):
            raise Error(f"{file}: is not a complete report of mpopt: it has no list of reports")
        try:
            made = [report_form.read(report) for report in reports]
        except ValueError as error:
            raise Error(f"{file}: {error}") from error
        self._reports[file] = key, made
        self._foreseen[file] = fp8.foresee(reports[0]) if len(reports) == 1 else None
        return made


def write(shown: Sources, what: str, output: PathLike) -> None:
    """The page as a file, which takes the place of none that it shows. `what` names the option."""
    _output_files.check([(what, output)], [("the file", path) for path in shown.inputs()])
    _output_files.write(output, _page.fill(shown.document()))


def _lies_in(path: pathlib.Path, root: pathlib.Path) -> bool:
    """True if it is a file in a folder, and no link out of it or to itself."""
    try:
        return path.resolve().is_relative_to(root) and path.is_file()
    except (OSError, RuntimeError):
        return False


def _is_history(path: pathlib.Path) -> bool:
    return path.name.endswith(history.SUFFIX)


def _shown_by(path: pathlib.Path) -> pathlib.Path:
    """The file that a path is shown by: of a monitored run its history."""
    beside = history.path_of(path)
    return beside if path.suffix == ".mprec" and beside.exists() else path


_known_rules: list[dict] | None = None


def _rules() -> list[dict]:
    """The pages of all rules, from the tool; none where the tool is not there."""
    global _known_rules
    if _known_rules is None:
        try:
            listed = json.loads(_command.run(["--list-rules", "--format", "json"]))["rules"]
            _known_rules = [json.loads(_command.run(["--explain", rule["id"], "--format", "json"])) for rule in listed]
        except (Error, OSError, ValueError):
            _known_rules = []
    return _known_rules


# -- Comparisons ------------------------------------------------------------------------------


def compare_reports(one: dict, other: dict) -> dict:
    """The changes from one report (`mpopt-report/1`) to the other: `mpopt-diff/1`, of `mpopt --diff`."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for side, report in (("a", one), ("b", other)):
            files.append(pathlib.Path(folder) / f"{side}.json")
            files[-1].write_text(json.dumps(report), encoding="utf-8")
        return json.loads(_command.run(["--diff", *map(str, files), "--format", "json", "--fail-on", "never"]))
