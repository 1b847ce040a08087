"""The probe ops and the monitor with the ops from Python: what their tests ask of the op library
holds, the planted faults are found, and records are the library's, bit for bit."""

import os
import subprocess
import sys

import pytest
from tool import BUILD, ROOT

torch = pytest.importorskip("torch", reason="torch is not in this environment")

from mpopt import _torch_ops  # noqa: E402

pytestmark = pytest.mark.slow
#: Which PyTorch the op library fits does not matter to the ops from Python.
FORCED = os.environ | {"MPOPT_TORCH_OPS": "python", "PYTHONPATH": str(ROOT / "python")}


@pytest.mark.parametrize("tests", [
    ("instrument/test_torch_probe_op.py", "instrument/test_torch_probe_grad.py",
     "instrument/test_torch_ops.py"),
    ("monitor/test_faults_planted.py", "monitor/test_collecting.py", "monitor/test_compiled.py",
     "monitor/test_waiting.py", "monitor/test_first_casts.py")], ids=["probes", "monitor"])
def test_what_holds_of_the_library_holds(tests):
    if _torch_ops.load() and _torch_ops._reason:
        pytest.skip("the ops are from Python already")
    files = [str(ROOT / "test" / "python" / name) for name in tests]
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *files],
                          cwd=ROOT, env=FORCED, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:]
    assert " passed" in done.stdout


RECORDS = """
import hashlib, sys, torch, mpopt
from mpopt import _torch_ops
from mpopt.recorder import Recorder
assert _torch_ops.load()
torch.manual_seed(0)
x = torch.randn(40, 30, 7) * torch.logspace(-30, 30, 7)
x[0, 0, 0], x[1, 1, 1] = float("nan"), float("inf")
tensors = [x, x.half(), x.bfloat16(), x.double(), x.transpose(0, 2), x[::2, 1:], x.to(torch.int64), x[:0], x[0, 0, 1]]
digest = hashlib.sha256(b"records").digest()
for probe, tensor in enumerate(tensors):
    torch.ops.mpopt.probe(tensor, probe, digest.hex())
    if tensor.dim():
        torch.ops.mpopt.probe_channels(tensor, 100 + probe, 1, digest.hex())
with Recorder(digest) as seen:
    for probe in range(200):
        if record := seen.read(probe):
            print(probe, hashlib.sha256(bytes(record)).hexdigest())
print(_torch_ops._reason, file=sys.stderr)
"""


def test_records_are_the_librarys(tmp_path):
    if _torch_ops._misfit(BUILD / "lib" / "libmpopt_torch.so", torch.__version__):
        pytest.skip("this build has no op library for this PyTorch")
    seen = {}
    for ops in ("", "python"):
        done = subprocess.run([sys.executable, "-c", RECORDS], capture_output=True, text=True, check=True,
                              env=FORCED | {"MPOPT_TORCH_OPS": ops, "MPOPT_RECORD": str(tmp_path / f"{ops}.mprec")})
        seen[ops] = done.stdout
        assert ops != "python" or "says so" in done.stderr
    assert len(seen[""].splitlines()) == 17
    assert seen["python"] == seen[""]
