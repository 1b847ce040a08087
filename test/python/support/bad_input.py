"""What tests of input that cannot be judged share: one `mpopt: error:` line a fault,
status 2, in seconds, with little memory, and no file left behind."""

import os
import subprocess
import sys

from onnx import TensorProto, helper, parser

import small_models
from tool import MPOPT

SECONDS = 20  # a machine under load; none takes one on an idle one
GIGABYTE = 1 << 20  # ru_maxrss counts KiB

MLP = parser.parse_model(small_models.texts()["mlp"])


def run(*arguments, stdin=subprocess.DEVNULL, **options):
    return subprocess.run([MPOPT, *arguments], stdin=stdin, capture_output=True,
                          timeout=SECONDS, **options)


def refused(done, *parts):
    """The one or more error lines of a run that ended as it should."""
    error = done.stderr.decode(errors="replace")
    assert done.returncode == 2, (done.returncode, error)
    lines = error.splitlines()
    assert lines and all(line.startswith("mpopt: error: ") for line in lines
                         if not line.startswith("mpopt: warning: ")), error
    assert "mpopt: error: " in error and "internal error" not in error, error
    for part in parts:
        assert part in error, error
    assert done.stdout == b""
    return error


def check(tmp_path, data, *parts):
    """Refused with --check and --emit-mlir, whatever is to be written."""
    model = tmp_path / "model"
    model.write_bytes(data)
    outputs = ["-o", tmp_path / "out", "--dump-ranges", tmp_path / "ranges",
               "--keep-fp32", tmp_path / "keep"]
    error = refused(run("--check", model, *outputs), *parts)
    refused(run("--emit-mlir", model, "-o", tmp_path / "mlir"), *parts)
    assert sorted(os.listdir(tmp_path)) == ["model"]
    return error


# A process counts what it had before it became another program, and one that
# tests with PyTorch share has much: a small one in between starts the tool.
MEASURE = """import resource, subprocess, sys
status = subprocess.run(sys.argv[3:], timeout=float(sys.argv[1])).returncode
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(status, peak, file=open(int(sys.argv[2]), "w"))
"""


def peak_memory(*arguments):
    """Peak of the resident memory in KiB, and the run."""
    read, write = os.pipe()
    command = [sys.executable, "-c", MEASURE, str(SECONDS), str(write), MPOPT, *arguments]
    done = subprocess.run(command, pass_fds=[write], stdin=subprocess.DEVNULL,
                          capture_output=True)
    os.close(write)
    with open(read) as report:
        status, peak = report.read().split()
    return int(peak), subprocess.CompletedProcess(done.args, int(status), done.stdout,
                                                  done.stderr)


def graph(nodes, inputs=(), outputs=(), **options):
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2])
            for name in (*inputs, *outputs)]
    return helper.make_graph(nodes, "g", info[:len(inputs)],
                             info[len(inputs):], **options)


def model(*arguments, **options):
    functions = options.pop("functions", [])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    return helper.make_model(graph(*arguments, **options), ir_version=9,
                             opset_imports=opsets,
                             functions=functions).SerializeToString()


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, **attributes)
