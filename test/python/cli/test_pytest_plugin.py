"""The fixture of mpopt.pytest_plugin, in a test of its own."""

import pytest

pytest_plugins = ["pytester"]

TEST = """
from onnx import parser

def model(factor):
    return parser.parse_model(f'''<ir_version: 8, opset_import: ["" : 17]>
        g (float[2, 4] x) => (float[2, 4] y) <float big = {{{factor}}}> {{ a = Mul (x, big)  y = Mul (a, big) }}''')

def test_fine(mpopt_check):
    report = mpopt_check(model(1), precision="fp16")
    assert report.ok

def test_overflows(mpopt_check):
    mpopt_check(model(60000), precision="fp16")

def test_of_no_interest(mpopt_check):
    assert not mpopt_check(model(60000), precision="fp16", select="MP1").findings
"""


def test_a_finding_fails_the_test(pytester: pytest.Pytester):
    pytester.makepyfile(TEST)
    result = pytester.runpytest_inprocess("-p", "mpopt.pytest_plugin", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=2, failed=1)
    # The report as the command line prints it, and no traceback of mpopt's.
    result.stdout.fnmatch_lines(["*error[[]MP201[]]*"])
    assert "Traceback" not in result.stdout.str() and "pytest_plugin.py" not in result.stdout.str()
