"""Markers follow what tests import and what was measured (marking.py, run-tests.py --slow-list)."""

from __future__ import annotations

import ast

import marking
import pytest
from test_run_tests import script  # noqa: F401: a fixture

MODULE = """
import json
import pytest
{head}

@pytest.fixture
def network():
    import torch

def test_a(network):
    {body}
"""


def is_marked(tmp_path, head="", body="pass", fixtures=()) -> bool:
    file = tmp_path / "test_module.py"
    file.write_text(MODULE.format(head=head, body=body))
    for cached in (marking.module_imports, marking.function_imports, marking.needs_torch):
        cached.cache_clear()
    return marking.is_torch_test(file, "test_a", fixtures)


@pytest.mark.parametrize("head", ["import torch", "from torch.nn import Linear", "import transformers as hf",
                                  "torch = pytest.importorskip('torch')", "import torch_networks",
                                  "try:\n    import torch\nexcept ImportError:\n    pass"])
def test_what_a_module_imports_counts(tmp_path, head):
    assert is_marked(tmp_path, head)


def test_what_a_test_or_its_fixture_imports_counts(tmp_path):
    assert is_marked(tmp_path, body="import torch")
    assert is_marked(tmp_path, body="import exported_programs")
    assert is_marked(tmp_path, fixtures=["network"])


def test_what_another_function_imports_does_not(tmp_path):
    assert not is_marked(tmp_path)
    assert not is_marked(tmp_path, "import tool", "import numpy")


def test_a_folder_whose_conftest_needs_pytorch(tmp_path):
    assert not is_marked(tmp_path)
    (tmp_path / "conftest.py").write_text("import torch\n")
    assert is_marked(tmp_path)


def test_the_list_of_slow_tests_names_tests():
    for test in marking.read_slow():
        path, _, name = test.partition("::")
        names = {node.name for node in ast.walk(ast.parse((marking.TESTS / path).read_text())) if isinstance(node, ast.FunctionDef)}
        assert name in names, test


def test_slow_tests_are_read_from_a_run(script, tmp_path):  # noqa: F811
    module = "test.python.cli.test_run_tests"
    cases = "".join(f'<testcase classname="{place}" name="{name}" time="{time}"/>' for place, name, time in (
        (module, "test_counts[240-2-2]", 10.5), (module, "test_counts[11-1-3]", 11), (module, "test_quick", 0.09),
        (f"{module}.TestClass", "test_member", 20), ("no.such.module", "test_gone", 30)))
    file = tmp_path / "pytest.xml"
    file.write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    assert script.slow_tests(file) == ["cli/test_run_tests.py::test_counts", "cli/test_run_tests.py::test_member"]
    assert script.write_slow_list(tmp_path) == 2
