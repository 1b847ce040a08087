"""What surrounds the code: workflows, hooks and containers run scripts that are there, and the
script of a release."""

import functools
import re
import shutil
import subprocess

import pytest
import yaml
from tool import ROOT

FILES = [*ROOT.glob(".github/workflows/*.yml"), *ROOT.glob(".github/ISSUE_TEMPLATE/*.yml"),
         ROOT / ".pre-commit-config.yaml", ROOT / ".clangd"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_yaml_is_read_and_names_scripts_that_are_there(file):
    text = file.read_text()
    assert yaml.safe_load(text)
    for script in re.findall(r"(?:scripts|\.ci)/[\w-]+(?![\w*-]*[*.])", text):
        assert (ROOT / script).exists(), script


@pytest.mark.parametrize("name", ["Dockerfile", ".devcontainer/Dockerfile", ".devcontainer/devcontainer.json"])
def test_containers_name_scripts_that_are_there(name):
    for script in re.findall(r"scripts/[\w-]+", (ROOT / name).read_text()):
        assert (ROOT / script).exists(), script


PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("bench/*.md")]


@functools.cache
def prose(page):
    """The text of a page outside of its examples."""
    return re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


@functools.cache
def headings(page):
    """The anchors of a page, as GitHub makes them."""
    words = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower() for heading in re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)]
    return {re.sub(r"[^\w -]", "", heading).replace(" ", "-") for heading in words}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_files_and_headings_that_a_page_names_are_there(page):
    text = prose(page)
    for target in re.findall(r"\]\((?!https?:|mailto:)([^)\s]+)", text):
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        assert file.exists(), target
        assert not anchor or anchor in headings(file.resolve()), target
    for file in re.findall(r"`((?:lib|include|passes|test|python|tools|bench|scripts)/[\w./-]+\.(?:cpp|h|td|inc|py|mlir|md|json|yaml))`", text):
        if not re.search(r"/[A-Z]+(/|\.)", file):  # a word in capitals is to be replaced
            assert (ROOT / file).exists(), file


@pytest.fixture
def checkout(tmp_path):
    (tmp_path / "scripts").mkdir()
    for script in ("release", "usage.sh"):
        shutil.copy(ROOT / "scripts" / script, tmp_path / "scripts")
    (tmp_path / "CMakeLists.txt").write_text("project(mpopt VERSION 1.2.3 LANGUAGES C CXX)\n")
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n\n## Unreleased\n\n- Later.\n\n## 1.2.3\n\n- New.\n\n## 1.2.2\n\n- Old.\n")
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
        git(tmp_path, *command)
    return tmp_path


def git(folder, *words):
    return subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=folder, capture_output=True, text=True,
                          check=True).stdout


def release(folder, *words):
    environment = {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b", "PATH": "/usr/bin:/bin"}
    return subprocess.run([folder / "scripts" / "release", *words], env=environment, capture_output=True, text=True, check=False)


def test_a_release_is_tagged_with_its_changes(checkout):
    assert release(checkout, "1.2.3").returncode == 0
    text = git(checkout, "tag", "-l", "--format=%(contents)", "v1.2.3")
    assert "mpopt 1.2.3" in text and "- New." in text and "Old" not in text and "Later" not in text
    again = release(checkout, "1.2.3")
    assert again.returncode == 1 and "is there already" in again.stderr


@pytest.mark.parametrize("version, change, words", [
    ("1.2.4", None, "another version"), ("1.2", None, "scripts/release VERSION"), ("1.2.3", "CMakeLists.txt", "has changes"),
    ("1.2.3", "CHANGELOG.md", "has no section")])
def test_what_is_not_ready_is_not_tagged(checkout, version, change, words):
    if change == "CHANGELOG.md":
        (checkout / change).write_text("# Changes\n")
        git(checkout, "commit", "-qam", "less")
    elif change:
        (checkout / change).write_text("project(mpopt VERSION 1.2.3 )\n")
    done = release(checkout, version)
    assert done.returncode != 0 and words in done.stderr
    assert git(checkout, "tag") == ""
