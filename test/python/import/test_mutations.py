"""Damaged models: whatever the bytes, mpopt ends with status 0, 1 or 2 and says
why in one line each; it never crashes or hangs."""

import random
import subprocess

import pytest

import small_models
from tool import MPOPT

MUTATIONS = 200


def mutate(data, rng):
    """One to four random edits."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        if not data:
            break
        at = rng.randrange(len(data))
        kind = rng.randrange(6)
        if kind == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data[at] = rng.choice([0, 1, 0x7f, 0x80, 0xff])
        elif kind == 2:
            del data[at:at + rng.randint(1, 16)]
        elif kind == 3:
            data[at:at] = rng.randbytes(rng.randint(1, 8))
        elif kind == 4:
            length = rng.randint(1, 32)
            to = rng.randrange(len(data))
            data[to:to + length] = data[at:at + length]
        else:
            del data[at:]
    return bytes(data)


MODELS = sorted((name, model.SerializeToString())
                for name, model in small_models.models().items())


@pytest.mark.parametrize("name,data", MODELS,
                         ids=[name for name, _ in MODELS])
def test_undamaged(name, data, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    run = subprocess.run([MPOPT, "--emit-mlir", path], capture_output=True,
                         timeout=60)
    assert run.returncode == 0, run.stderr.decode()


@pytest.mark.parametrize("seed", range(MUTATIONS))
def test_damaged(seed, tmp_path):
    rng = random.Random(seed)
    name, data = rng.choice(MODELS)
    path = tmp_path / "model.onnx"
    path.write_bytes(mutate(data, rng))
    run = subprocess.run([MPOPT, "--emit-mlir", path], capture_output=True,
                         timeout=60)
    error = run.stderr.decode(errors="replace")
    assert run.returncode in (0, 1, 2), (name, seed, error)
    assert "internal error" not in error, (name, seed, error)
    assert (run.returncode == 2) == ("mpopt: error:" in error), (seed, error)
