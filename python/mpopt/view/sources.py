"""The files behind the pages: what each is, and what changed."""

import hashlib
import json
import pathlib
import re
import tempfile
from collections.abc import Sequence

from mpopt import _command, _page, _run_page
from mpopt._command import Error, PathLike
from mpopt._version import __version__
from mpopt.monitor import history

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
            if not path.exists():
                raise Error(f"{path}: no such file or folder")
            if path.is_file() and not _is_history(path) and path.suffix not in (".mprec", ".json"):
                raise Error(f"{path}: is no record (.mprec), report (.json) or folder")
        self._followers: dict[pathlib.Path, history.Follower] = {}
        self._reports: dict[pathlib.Path, tuple[tuple, list[dict]]] = {}
        self._confirmed: dict[tuple[pathlib.Path, ...], tuple[list, dict]] = {}
        self.document()

    def _files(self) -> list[pathlib.Path]:
        found: dict[pathlib.Path, None] = {}
        for path in self.paths:
            if path.is_dir():
                root = path.resolve()
                inside = sorted([*path.glob(f"*{history.SUFFIX}"), *path.glob("*.json"),
                                 *(each for each in path.glob("*.mprec") if not history.path_of(each).exists())])
                for each in inside[:MOST_FILES]:
                    if each.resolve().is_relative_to(root) and each.is_file():
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

    def document(self) -> dict:
        """The pages' document (`mpopt-page/1`). `mpopt.Error` if a file that was named cannot be
        read; those of folders are passed over."""
        live = self.version()
        named = {_shown_by(path) for path in self.paths}
        records: dict[tuple[pathlib.Path, str], list[pathlib.Path]] = {}
        runs: dict[tuple[pathlib.Path, str], list[history.Follower]] = {}
        reports: list[tuple[str, dict]] = []
        for file in self._files():
            try:
                if _is_history(file):
                    follower = self._followers.setdefault(file, history.Follower(file))
                    follower.read()
                    if not follower.header:
                        continue
                    runs.setdefault((file.parent, _run_name(file)), []).append(follower)
                elif file.suffix == ".mprec":
                    records.setdefault((file.parent, _run_name(file)), []).append(file)
                else:
                    reports += [(file.name, report) for report in self._read_report(file)]
            except Error:
                self._followers.pop(file, None)
                if file in named:
                    raise
        described = [_run_page.describe(history.join(followers), name) for (_, name), followers in runs.items()]
        confirmed = []
        for (_, name), files in records.items():
            try:
                confirmed.append({"title": name, **self._confirm(tuple(files))})
            except Error:
                if named.intersection(files):
                    raise
        shown = [*_compared([report for _, report in reports]), *described, *confirmed, *self._compared_runs()]
        if not shown:
            raise Error(f"{', '.join(map(str, self.paths))}: neither a report nor a record's history is there yet")
        return {"schema": "mpopt-page/1", "kind": "view", "version": __version__, "live": live,
                "reports": shown, "rules": _rules()}

    def _compared_runs(self) -> list[dict]:
        """What differs between two runs whose records were named, where both saw the same batches."""
        runs: dict[tuple[pathlib.Path, str], list[pathlib.Path]] = {}
        for path in self.paths:
            if path.suffix == ".mprec":
                runs.setdefault((path.parent, _run_name(history.path_of(path))), []).append(path)
        if len(runs) != 2:
            return []
        from mpopt.monitor import comparing

        compared = comparing.compare(*runs.values())
        return [_run_page.describe_comparison(compared, tuple(name for _, name in runs))]

    def _confirm(self, files: tuple[pathlib.Path, ...]) -> dict:
        """What became of the findings of an instrumented model in a run, with its map."""
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
        try:
            status = file.stat()
            key = status.st_size, status.st_mtime_ns
            known = self._reports.get(file)
            if known and known[0] == key:
                return known[1]
            raw = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            text = error.strerror if isinstance(error, OSError) else "is no JSON"
            raise Error(f"{file}: {text}") from error
        if not isinstance(raw, dict) or raw.get("schema") not in _REPORTS:
            raise Error(f"{file}: is no report of mpopt (--format json)")
        reports = raw["reports"] if raw["schema"] == _REPORTS[1] else [raw]
        for report in reports:
            if not isinstance(report, dict) or not all(isinstance(report.get(key), dict) for key in ("summary", "model", "coverage")) \
                    or not isinstance(report.get("findings"), list):
                raise Error(f"{file}: is not a whole report of mpopt")
        self._reports[file] = key, reports
        return reports


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


def _compared(reports: list[dict]) -> list[dict]:
    """The reports, with what changed between them in the second, if they are two."""
    if len(reports) != 2:
        return reports
    one, other = reports
    return [one, {**other, "compare": compare_reports(one, other)}]


def compare_reports(one: dict, other: dict) -> dict:
    """What changed from one report (`mpopt-report/1`) to the other: `mpopt-diff/1`, of `mpopt --diff`."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for side, report in (("a", one), ("b", other)):
            files.append(pathlib.Path(folder) / f"{side}.json")
            files[-1].write_text(json.dumps(report), encoding="utf-8")
        return json.loads(_command.run(["--diff", *map(str, files), "--format", "json", "--fail-on", "never"]))
