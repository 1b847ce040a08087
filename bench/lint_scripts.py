#!/usr/bin/env python3
"""How many findings of `mpopt lint` in published training scripts are true.

    bench/lint_scripts.py FOLDER             fetch, lint, and print the rows of the table
    bench/lint_scripts.py FOLDER --findings  the findings, to be judged by reading

The source distributions of PACKAGES go to FOLDER, through pip's own client: nothing in
them is built or run. The scripts of a package are those that train (a backward pass, a
scaler, autocast or a trainer), at most MOST of them, those in folders of examples first.
bench/lint_judged.txt says of each finding whether it is true; one that it does not name
has not been judged, and the table says so."""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
JUDGED = Path(__file__).with_name("lint_judged.txt")
PACKAGES = """accelerate allennlp audiocraft catalyst compressai dalle2-pytorch espnet fairseq flair imagen-pytorch kornia
    litgpt mmengine monai nemo_toolkit nnunetv2 open_clip_torch OpenNMT-py parlai pytorch-ignite s3prl salesforce-lavis
    sentence-transformers simpletransformers so-vits-svc-fork speechbrain stable-audio-tools timm TTS ultralytics
    yolov5 yolox""".split()
MOST = 8
# Old names are most of the findings, and easily true: they are counted by themselves.
DEPRECATED = "MP763"
TRAINS = re.compile(r"\.backward\(|GradScaler|autocast\(|Trainer\(|accelerator\.")
SHOWN = re.compile(r"(^|/)(examples?|recipes?|scripts?|train\w*|tutorials?|egs|bin|research_projects|benchmarks?)(/|\w*\.py$)")


def fetch(package: str, folder: Path) -> Path | None:
    """The newest source distribution; None if there is none."""
    known = sorted(folder.glob(f"{package}=*"))
    if known:
        return known[0]
    from pip._internal.commands import create_command

    command = create_command("download")
    options, _ = command.parse_args(["--no-deps", "--no-binary", ":all:", package])
    with command.main_context():
        session = command.get_default_session(options)
        finder = command._build_package_finder(options=options, session=session)
        best = finder.find_best_candidate(package).best_candidate
        if best is None:
            return None
        data = session.get(best.link.url_without_fragment).content
    path = folder / f"{package}={best.link.filename}"
    path.write_bytes(data)
    return path


def read_scripts(archive: Path) -> dict[str, bytes]:
    """The training scripts of a distribution by their paths, at most MOST."""
    found = {}
    if archive.name.endswith(".zip"):
        with zipfile.ZipFile(archive) as file:
            for name in file.namelist():
                if name.endswith(".py") and "test" not in name.lower():
                    found[name] = file.read(name)
    else:
        with tarfile.open(archive) as file:
            for member in file:
                if member.isfile() and member.name.endswith(".py") and "test" not in member.name.lower():
                    found[member.name] = file.extractfile(member).read()
    found = {name.partition("/")[2]: data for name, data in found.items()
             if b"torch" in data and TRAINS.search(data.decode("utf-8", "replace"))}
    order = sorted(found, key=lambda name: (not SHOWN.search(name), -len(TRAINS.findall(
        found[name].decode("utf-8", "replace"))), name))
    return {name: found[name] for name in order[:MOST]}


def read_judged() -> dict[str, bool]:
    """By `PACKAGE/PATH:LINE RULE` whether a finding is true."""
    judged = {}
    for line in JUDGED.read_text(encoding="utf-8").splitlines() if JUDGED.exists() else ():
        if line and not line.startswith("#"):
            word, _, rest = line.partition(" ")
            judged[rest.partition("  ")[0].strip()] = word == "true"
    return judged


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--findings", action="store_true")
    parser.add_argument("--packages", nargs="*", default=PACKAGES)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    scripts = given.folder / "scripts"
    counts = {}
    for package in given.packages:
        try:
            archive = fetch(package, given.folder)
        except Exception as error:  # noqa: BLE001: a package less.
            print(f"{package}: {type(error).__name__}", file=sys.stderr)
            continue
        if archive is None:
            print(f"{package}: no source distribution", file=sys.stderr)
            continue
        found = read_scripts(archive)
        shutil.rmtree(scripts / package, ignore_errors=True)
        for name, data in found.items():
            path = scripts / package / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        if found:
            counts[package] = len(found)
    done = subprocess.run([sys.executable, "-m", "mpopt.lint", "--format", "json", "--fail-on", "never",
                           *(str(scripts / package) for package in counts)],
                          capture_output=True, text=True, cwd=ROOT / "python")
    print(done.stderr, end="", file=sys.stderr)
    findings = json.loads(done.stdout)["findings"]
    judged = read_judged()
    rows = {package: [0, 0, 0, 0] for package in counts}
    for finding in findings:
        path = Path(finding["file"]).relative_to(scripts)
        key = f"{path}:{finding['line']} {finding['rule']}"
        row = rows[path.parts[0]]
        row[0] += 1
        row[1] += finding["rule"] == DEPRECATED
        row[2] += judged.get(key, False)
        row[3] += key not in judged
        if given.findings:
            print(f"{key}  {finding['message']}")
    if given.findings:
        return 0
    rows[f"all {len(rows)}"] = [sum(row[index] for row in rows.values()) for index in range(4)]
    counts[f"all {len(counts)}"] = sum(counts.values())
    for package, (count, deprecated, true, unknown) in rows.items():
        cells = [package, *map(str, (counts[package], count, deprecated, true))]
        print(f"{json.dumps(cells)}," + (f"  # {unknown} not judged" if unknown else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
