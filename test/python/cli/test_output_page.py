"""docs/output.md shows what mpopt prints: scripts/generate-output-page."""

import shutil
import subprocess
import sys

import pytest
from tool import MPOPT, ROOT, SHARED

MODELS = SHARED / "onnx"

pytestmark = pytest.mark.skipif(not MODELS.is_dir(), reason="no ../shared")


def generate(root, *options):
    done = subprocess.run([sys.executable, root / "scripts" / "generate-output-page", MPOPT, MODELS,
                           *options], capture_output=True, text=True, timeout=300)
    assert done.stderr == ""
    assert "left as it is" not in done.stdout  # the models have other names now
    return done


def test_page_is_fresh():
    done = generate(ROOT, "--check")
    assert done.returncode == 0, done.stdout


def test_stale_page_is_found(tmp_path):
    for folder in ("scripts", "docs"):
        (tmp_path / folder).mkdir()
    shutil.copy(ROOT / "scripts" / "generate-output-page", tmp_path / "scripts")
    page = tmp_path / "docs" / "output.md"
    text = (ROOT / "docs" / "output.md").read_text()
    page.write_text(text.replace("FP16", "FP15", 1))
    done = generate(tmp_path, "--check")
    assert done.returncode == 1 and "out of date" in done.stdout
    assert generate(tmp_path).returncode == 0
    assert generate(tmp_path, "--check").returncode == 0
