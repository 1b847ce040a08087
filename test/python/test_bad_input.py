"""Input that cannot be judged: one `mpopt: error:` line a fault, status 2, in
seconds, with little memory, and no file left behind."""

import os
import pathlib
import random
import resource
import signal
import subprocess
import threading

import pytest
from google.protobuf import text_format
from onnx import TensorProto, helper, parser

import small_models

ROOT = pathlib.Path(__file__).resolve().parents[2]
MPOPT = pathlib.Path(os.environ.get("MPOPT_BUILD", ROOT / "build")) / "bin" / "mpopt"
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


def peak_memory(*arguments):
    """Peak of the resident memory in KiB, and the run."""
    process = subprocess.Popen([MPOPT, *arguments], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    timer = threading.Timer(SECONDS, process.kill)
    timer.start()
    out, error = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    timer.cancel()
    return usage.ru_maxrss, subprocess.CompletedProcess(
        process.args, process.returncode, out, error)


# --- Bytes ---


@pytest.mark.parametrize("name", sorted(small_models.models()))
def test_truncated(name, tmp_path):
    data = small_models.models()[name].SerializeToString()
    model = tmp_path / "model.onnx"
    # A cut between two fields of the message may leave a whole model.
    for size in sorted({len(data) * step // 24 for step in range(24)}):
        model.write_bytes(data[:size])
        done = run("--check", model)
        if done.returncode not in (0, 1):
            refused(done)
    text = text_format.MessageToString(small_models.models()[name]).encode()
    for size in [len(text) * step // 6 for step in range(1, 6)]:
        model.write_bytes(text[:size])
        refused(run("--check", model))


@pytest.mark.parametrize("seed", range(10))
def test_random_bytes(seed, tmp_path):
    data = random.Random(seed).randbytes(1 << (seed + 4))
    check(tmp_path, data)
    # Past the first field, which says what the file is.
    check(tmp_path, b"\x08\x08\x3a" + data)


def test_lfs_pointer(tmp_path):
    check(tmp_path, b"version https://git-lfs.github.com/spec/v1\noid "
          b"sha256:00\nsize 1\n", "Git LFS pointer")


def test_empty(tmp_path):
    check(tmp_path, b"", "the file is empty")


def test_folder(tmp_path):
    refused(run("--check", tmp_path), "is a directory")


# --- Graphs ---


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


def test_cycle(tmp_path):
    check(tmp_path, model([node("Add", ["x", "b"], ["a"]),
                           node("Relu", ["a"], ["b"])], ["x"], ["b"]))


def test_unsorted_is_sorted(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(model([node("Relu", ["a"], ["b"]),
                            node("Neg", ["x"], ["a"])], ["x"], ["b"]))
    done = run("--check", path)
    assert done.returncode == 0, done.stderr
    assert b"mpopt: warning: " in done.stderr and b"order" in done.stderr


def test_duplicate_names(tmp_path):
    check(tmp_path, model([node("Relu", ["x"], ["a"]),
                           node("Neg", ["x"], ["a"])], ["x"], ["a"]), "'a'")


@pytest.mark.parametrize("dims", [[1 << 60], [1 << 60, 1 << 60], [-5],
                                  [1 << 32, 1 << 32], [-(1 << 63)]])
def test_dims_of_initializer(dims, tmp_path):
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=dims,
                         raw_data=b"\0\0\0\0")
    check(tmp_path, model([node("Add", ["x", "w"], ["y"])], ["x"], ["y"],
                          initializer=[weight]), "'w'")


@pytest.mark.parametrize("dims", [[1 << 60], [1 << 60, 1 << 60], [0, 1 << 62],
                                  [1 << 32, 1 << 32]])
def test_dims_of_input(dims, tmp_path):
    """No memory for what is only described: judged, or refused in a line."""
    proto = helper.make_model(
        helper.make_graph(
            [node("Flatten", ["x"], ["f"]), node("Size", ["x"], ["n"]),
             node("Shape", ["x"], ["s"]),
             node("ReduceSum", ["x"], ["y"], keepdims=0),
             node("MatMul", ["f", "f"], ["m"]),
             node("ConstantOfShape", ["s"], ["z"]),
             node("Expand", ["y", "s"], ["e"]), node("Tile", ["x", "s"], ["t"]),
             node("Concat", ["x", "x"], ["c"], axis=0)], "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [])]),
        opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path = tmp_path / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    peak, done = peak_memory("--check", path)
    assert peak < GIGABYTE
    if done.returncode not in (0, 1):
        refused(done)


def test_huge_shape_constants(tmp_path):
    """Shapes, paddings and ranges from constants are not carried out."""
    def constant(name, values):
        return TensorProto(name=name, data_type=TensorProto.INT64,
                           dims=[len(values)], int64_data=values)
    weights = [constant("big", [1 << 62]), constant("two", [1 << 40, 1 << 40]),
               TensorProto(name="from", data_type=7, int64_data=[0]),
               TensorProto(name="to", data_type=7, int64_data=[1 << 62]),
               TensorProto(name="by", data_type=7, int64_data=[1]),
               constant("pads", [1 << 62, 1 << 62])]
    path = tmp_path / "model.onnx"
    for op, inputs in [("ConstantOfShape", ["big"]), ("ConstantOfShape", ["two"]),
                       ("Range", ["from", "to", "by"]), ("Expand", ["x", "two"]),
                       ("Tile", ["x", "big"]), ("Reshape", ["x", "two"]),
                       ("Pad", ["x", "pads"]), ("OneHot", ["big", "to", "two"]),
                       ("Resize", ["x", "", "", "big"])]:
        nodes = [node(op, inputs, ["a"]), node("Shape", ["a"], ["s"]),
                 node("ConstantOfShape", ["s"], ["y"])]
        path.write_bytes(model(nodes, ["x"], [], initializer=weights))
        peak, done = peak_memory("--check", path)
        assert peak < GIGABYTE, op
        if done.returncode not in (0, 1):
            refused(done)


def field(number, payload):
    def varint(value):
        out = b""
        while value > 127:
            out += bytes([value & 127 | 128])
            value >>= 7
        return out + bytes([value])
    return varint(number << 3 | 2) + varint(len(payload)) + payload


@pytest.mark.parametrize("wrap", [
    lambda inner: field(1, field(5, field(6, inner))),    # graph attributes
    lambda inner: field(1, field(5, field(11, inner))),   # lists of them
], ids=["graph", "graphs"])
def test_deep_messages(wrap, tmp_path):
    inner = b""
    for _ in range(2000):
        inner = wrap(inner)
    check(tmp_path, b"\x08\x08" + field(7, inner))


def test_deep_type(tmp_path):
    proto = field(1, b"\x08\x01")
    for _ in range(2000):
        proto = field(4, field(1, proto))  # sequence(sequence(...))
    check(tmp_path, b"\x08\x08" + field(7, field(11, field(1, b"x") +
                                                  field(2, proto))))


def nested_ifs(depth):
    """`If` in `If`, put together by hand: Python's protobuf stops at 100."""
    leaf = graph([node("Relu", ["x"], ["t"])], [], ["t"]).SerializeToString()
    inner = leaf
    for level in range(depth):
        branches = b"".join(
            field(5, field(1, name) + b"\xa0\x01\x05" + field(6, branch))
            for name, branch in [(b"then_branch", inner), (b"else_branch", leaf)])
        call = field(1, b"c") + field(2, b"t") + field(4, b"If") + branches
        inner = field(1, call) + field(2, b"g") + graph(
            [], [], ["t"]).SerializeToString()
    inputs = b"".join(
        field(11, helper.make_tensor_value_info(name, kind, dims)
              .SerializeToString()) for name, kind, dims in [("x", 1, [2]),
                                                             ("c", 9, [])])
    return b"\x08\x08" + field(7, inner + inputs) + field(8, b"\x10\x11")


@pytest.mark.parametrize("precision", ["as-is", "fp16", "autocast-bf16"])
def test_deep_if_within_limits(precision, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(nested_ifs(60))
    done = run("--check", path, "--precision", precision)
    assert done.returncode == 0, done.stderr
    bytecode = tmp_path / "model.mlirbc"
    assert run("--emit-mlir", path, "-o", bytecode).returncode == 0
    assert run("--check", bytecode, "--precision", precision).returncode == 0


def test_deep_if(tmp_path):
    check(tmp_path, nested_ifs(2000), "nested more than")


@pytest.mark.parametrize("text", [
    "graph { " + "node { attribute { g { " * 2000 + "} } } " * 2000 + " }",
    "graph { " + "node { attribute { g { " * 2000,
    '<ir_version: 8, opset_import: ["" : 17]> g () => () '
    + "{ y = If (c) <then_branch = g () => () " * 2000,
    '<ir_version: 8, opset_import: ["" : 17]> g (' + "seq(" * 300000,
    "module " + "{ module " * 2000 + "}" * 2000,
    "func.func @f(%a: " + "tuple<" * 300000,
    "module attributes {a = " + "[" * 300000,
    "module attributes {a = " + "-" * 300000,
    "func.func @f() { %0 = \"mp.opaque\"() {a = dense<" + "[" * 3000,
    "func.func @f(" + "(" * 300000,
    "func.func private @f(%a: " + "() -> " * 300000,
    "module {} loc(" + "fused[" * 300000,
    "module {} loc(" + 'callsite("a" at ' * 300000,
    "#a = affine_map<(d0) -> (" + "-" * 300000,
    "#a = affine_map<(d0) -> (d0" + " + d0" * 300000,
    "func.func @f(%a: " + "!mp.sequence<" * 300000,
    "module attributes {a = " + "#mp.idiom<" * 300000,
], ids=range(17))
def test_deep_text(text, tmp_path):
    check(tmp_path, text.encode())


@pytest.mark.parametrize("depth", [2000, 20000])
def test_deep_bytecode(depth, tmp_path):
    """Bytecode has no brackets to count before it is read."""
    text = tmp_path / "deep.mlir"
    text.write_text("module {\n" * depth + "}\n" * depth)
    bytecode = tmp_path / "model"
    subprocess.run(["bash", "-c", 'ulimit -s unlimited && exec "$@"', "bash",
                    MPOPT.with_name("mpopt-opt"), "--emit-bytecode", text, "-o",
                    bytecode], check=True, timeout=10 * SECONDS)
    data = bytecode.read_bytes()
    bytecode.unlink()
    text.unlink()
    check(tmp_path, data, "nested more than")


def test_damaged_bytecode(tmp_path):
    path = tmp_path / "model.mlirbc"
    source = tmp_path / "model.onnx"
    source.write_bytes(MLP.SerializeToString())
    assert run("--emit-mlir", source, "-o", path).returncode == 0
    data = path.read_bytes()
    for size in range(4, len(data), max(1, len(data) // 24)):
        path.write_bytes(data[:size])
        refused(run("--check", path))
    for seed in range(40):
        rng = random.Random(seed)
        damaged = bytearray(data)
        for _ in range(rng.randint(1, 3)):
            damaged[rng.randrange(4, len(data))] = rng.randrange(256)
        path.write_bytes(damaged)
        done = run("--check", path)
        if done.returncode not in (0, 1):
            refused(done)
    # Counts that MLIR's reader believes.
    for at in range(4, len(data), max(1, len(data) // 40)):
        path.write_bytes(data[:at] + b"\0" + b"\x7f" * 8 + data[at + 9:])
        done = run("--check", path)
        if done.returncode not in (0, 1):
            refused(done)


def test_recursive_functions(tmp_path):
    def function(name, *calls):
        return helper.make_function(
            "local", name, ["u"], ["v"],
            [helper.make_node(call, ["u"], ["v"], domain="local")
             for call in calls],
            [helper.make_opsetid("local", 1)])
    call = helper.make_node("F", ["x"], ["y"], domain="local")
    check(tmp_path, model([call], ["x"], ["y"], functions=[function("F", "F")]))
    check(tmp_path, model([call], ["x"], ["y"],
                          functions=[function("F", "G"), function("G", "H"),
                                     function("H", "F")]))


def test_functions_blow_up(tmp_path):
    """2^40 nodes out of 80."""
    functions = []
    for level in range(40):
        op, domain = (f"F{level + 1}", "local") if level < 39 else ("Relu", "")
        functions.append(helper.make_function(
            "local", f"F{level}", ["u"], ["v"],
            [helper.make_node(op, ["u"], ["t"], domain=domain),
             helper.make_node(op, ["t"], ["v"], domain=domain)],
            [helper.make_opsetid("local", 1), helper.make_opsetid("", 17)]))
    path = tmp_path / "model.onnx"
    path.write_bytes(model([helper.make_node("F0", ["x"], ["y"],
                                             domain="local")],
                           ["x"], ["y"], functions=functions))
    peak, done = peak_memory("--check", path)
    refused(done, "expand")
    assert peak < 2 * GIGABYTE


def test_deep_function_calls(tmp_path):
    functions = [helper.make_function(
        "local", f"F{level}", ["u"], ["v"],
        [helper.make_node(f"F{level + 1}" if level < 2999 else "Relu", ["u"],
                          ["v"], domain="local" if level < 2999 else "")],
        [helper.make_opsetid("local", 1), helper.make_opsetid("", 17)])
        for level in range(3000)]
    path = tmp_path / "model.onnx"
    path.write_bytes(model([helper.make_node("F0", ["x"], ["y"],
                                             domain="local")],
                           ["x"], ["y"], functions=functions))
    done = run("--check", path)
    if done.returncode not in (0, 1):
        refused(done)


# --- External data ---


def external(location, **more):
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2],
                         data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, **more}.items():
        weight.external_data.add(key=key, value=str(value))
    return model([node("Add", ["x", "w"], ["y"])], ["x"], ["y"],
                 initializer=[weight])


def test_missing_weights_are_not_fatal(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(external("gone.bin"))
    done = run("--check", path)
    assert done.returncode == 0, done.stderr
    assert b"'" in done.stderr and b"gone.bin' is missing" in done.stderr


@pytest.mark.parametrize("location", ["../w.bin", "/etc/passwd", "a/../../w",
                                      "", "link", "fifo", ".", "/dev/zero"])
def test_external_paths(location, tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "w.bin").write_bytes(bytes(8))
    (inside / "link").symlink_to("../w.bin")
    os.mkfifo(inside / "fifo")
    (inside / "model.onnx").write_bytes(external(location))
    refused(run("--check", inside / "model.onnx"), "is refused")


@pytest.mark.parametrize("more", [{"offset": -1}, {"offset": "x"},
                                  {"offset": 1 << 64}, {"offset": 1},
                                  {"length": 4}, {"length": 1 << 63},
                                  {"offset": (1 << 64) - 1}])
def test_external_ranges(more, tmp_path):
    (tmp_path / "w.bin").write_bytes(bytes(8))
    path = tmp_path / "model.onnx"
    path.write_bytes(external("w.bin", **more))
    refused(run("--check", path), "'w'")


def mlir_weight(file, offset=0):
    return (f'func.func @main() -> tensor<2xf32> {{\n  %0 = mp.constant '
            f'file("{file}", {offset}:8) : tensor<2xf32>\n'
            "  return %0 : tensor<2xf32>\n}\n")


@pytest.mark.parametrize("file", ["/dev/zero", "/dev/stdin", "/", "no such"])
def test_weights_of_mlir(file, tmp_path):
    """Weights that cannot be read are unknown, as where a file is missing."""
    path = tmp_path / "model.mlir"
    path.write_text(mlir_weight(file))
    peak, done = peak_memory("--check", path)
    assert peak < GIGABYTE
    if done.returncode not in (0, 1):
        refused(done)


def test_file_shrinks(tmp_path):
    """Read once, cut short, and read again by an unlucky run."""
    weights = tmp_path / "w.bin"
    path = tmp_path / "model.onnx"
    count = 1 << 22
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[count],
                         data_location=TensorProto.EXTERNAL)
    weight.external_data.add(key="location", value="w.bin")
    path.write_bytes(model([node("Add", ["x", "w"], ["y"])], ["x"], [],
                           initializer=[weight]))
    stop = threading.Event()

    def flip():
        while not stop.is_set():
            os.truncate(weights, 4 * count)
            os.truncate(weights, 8)
    weights.write_bytes(b"")
    thread = threading.Thread(target=flip)
    thread.start()
    try:
        for _ in range(12):
            done = run("--check", path, "--precision", "fp16")
            if done.returncode not in (0, 1):
                refused(done)
    finally:
        stop.set()
        thread.join()


# --- What is no file ---


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/urandom"])
@pytest.mark.parametrize("option", ["--check", "--policy", "--input"])
def test_devices(device, option, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(MLP.SerializeToString())
    arguments = {"--check": ["--check", device],
                 "--policy": ["--check", path, "--policy", device],
                 "--input": ["--check", path, "--input", "x=@" + device]}
    peak, done = peak_memory(*arguments[option])
    refused(done, "is a device")
    assert peak < GIGABYTE


def test_endless_stdin():
    with open("/dev/zero", "rb") as zero:
        refused(run("--check", "-", stdin=zero), "is a device")
    refused(run("--check", "-"), "is a device")


def test_model_from_pipe(tmp_path):
    fifo = tmp_path / "model.onnx"
    os.mkfifo(fifo)
    refused(run("--check", fifo), "pipe that nothing writes to")
    writer = threading.Thread(
        target=lambda: fifo.write_bytes(MLP.SerializeToString()))
    writer.start()
    done = run("--check", fifo)
    writer.join()
    assert done.returncode == 0, done.stderr
    done = subprocess.run([MPOPT, "--check", "-"], capture_output=True,
                          input=MLP.SerializeToString(), timeout=SECONDS)
    assert done.returncode == 0, done.stderr


# --- Outputs ---


@pytest.fixture
def mlp(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(MLP.SerializeToString())
    return path


@pytest.mark.parametrize("option", ["-o", "--dump-ranges", "--keep-fp32"])
@pytest.mark.parametrize("target", ["none/file", ".", "/dev/full",
                                    "model.onnx/file", "x" * 300])
def test_unwritable(option, target, mlp, tmp_path):
    before = sorted(os.listdir(tmp_path))
    refused(run("--check", mlp, option, tmp_path / target), "cannot write")
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("option", ["-o", "--dump-ranges", "--keep-fp32"])
def test_read_only_folder(option, mlp, tmp_path):
    if os.geteuid() == 0:
        # Root writes everywhere; /proc takes no file from anyone.
        refused(run("--check", mlp, option, "/proc/out"), "cannot write")
        return
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o555)
    refused(run("--check", mlp, option, folder / "out"), "cannot write")


def test_limit_of_file_size(mlp, tmp_path):
    """A disk that fills up half way."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
    refused(run("--emit-mlir", mlp, "-o", tmp_path / "out.mlir",
                preexec_fn=limit), "cannot write")
    assert sorted(os.listdir(tmp_path)) == ["model.onnx"]


def test_old_output_survives(mlp, tmp_path):
    out = tmp_path / "out.json"
    out.write_text("old")
    refused(run("--check", tmp_path / "none", "-o", out))
    assert out.read_text() == "old"
    done = run("--check", mlp, "-o", out, "--format", "json")
    assert done.returncode == 0 and out.read_text().startswith("{")


def test_output_to_stream(mlp, tmp_path):
    plain = run("--check", mlp, "--format", "json")
    assert plain.returncode == 0
    done = run("--check", mlp, "--format", "json", "-o", "/dev/stdout")
    assert (done.returncode, done.stdout) == (0, plain.stdout)
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    read = []
    reader = threading.Thread(target=lambda: read.append(fifo.read_bytes()))
    reader.start()
    assert run("--check", mlp, "--format", "json", "-o", fifo).returncode == 0
    reader.join()
    assert read == [plain.stdout]


@pytest.mark.parametrize("arguments", [["--list-rules"], ["--help"],
                                       ["--version"], ["--check", "model.onnx"],
                                       ["--emit-mlir", "model.onnx"]])
def test_standard_streams(arguments, mlp, tmp_path):
    def start(**options):
        return subprocess.Popen([MPOPT, *arguments], cwd=tmp_path,
                                stdin=subprocess.DEVNULL, **options)
    # A reader that goes away is its own affair.
    process = start(stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert process.wait(SECONDS) == 0, process.stderr.read()
    process.stderr.close()
    for preexec, out in [(lambda: os.close(1), None), (None, "/dev/full")]:
        with open(out or os.devnull, "wb") as stdout:
            process = start(stdout=stdout, stderr=subprocess.PIPE,
                            preexec_fn=preexec)
            error = process.stderr.read().decode()
            assert process.wait(SECONDS) == 2, error
            process.stderr.close()
            assert error.startswith("mpopt: error: cannot write"), error


def test_closed_stderr(mlp, tmp_path):
    """No file gets the number of standard error, and the status still tells."""
    for preexec, err in [(lambda: os.close(2), os.devnull), (None, "/dev/full")]:
        with open(err, "wb") as stderr:
            def status(*arguments):
                return subprocess.run([MPOPT, *arguments], stderr=stderr,
                                      stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL,
                                      preexec_fn=preexec,
                                      timeout=SECONDS).returncode
            assert status("--check", tmp_path / "none") == 2
            out = tmp_path / "out.json"
            assert status("--check", mlp, "-o", out, "--format", "json") == 0
            assert out.read_text().startswith("{")


def test_same_model_twice(mlp):
    done = run("--check", mlp, mlp, "--format", "json")
    assert done.returncode == 0
    assert done.stdout.count(b'"mpopt-report/1"') == 2


def test_one_of_two_is_bad(mlp, tmp_path):
    done = run("--check", tmp_path / "none", mlp, "--format", "json")
    assert done.returncode == 2
    assert done.stdout.count(b'"mpopt-report/1"') == 1


# --- Options ---


@pytest.mark.parametrize("arguments", [
    ["--jobs", "99999999999999999999"], ["--jobs", "-1"], ["--jobs", ""],
    ["--jobs", "4097"], ["--dim", "N=-1"], ["--dim", "N=1e3"], ["--dim", "=3"],
    ["--dim", "N=99999999999999999999"], ["--dim", "M=3"], ["--dim", "N=1",
     "--dim", "N=2"], ["--input", "y=0:1"], ["--input", "=0:1"],
    ["--input", "x=1:0"], ["--input", "x=nan:0"], ["--input", "x=inf:inf"],
    ["--input", "x~nan,1"], ["--input", "x~1,inf"], ["--input", "x=@"],
    ["--input", ""], ["--input-shape", "x="], ["--input-shape", "z=1x2"],
    ["--input-shape", "x=99999999999999999999"], ["--input-shape", "x=1x-2"],
    ["--input-shape", "x=2x4:"], ["--input-shape", "x=2x4:f99"],
    ["--input-shape", "x=2x5"], ["--select", ""], ["--select", "MP101,"],
    ["--select", "MP"+"9" * 5000], ["--ignore", "x"], ["--set", ""],
    ["--set", "a=b"], ["--set", "no-such=1"], ["--policy", ""],
    ["--policy", "/"], ["--precision", ""], ["--target", ""], ["--format", ""],
    ["--assume", ""], ["--assume", ":"], ["--assume", "1:"], ["--fail-on", ""],
    ["--min-certainty", ""], ["--method", "f"], ["--keep-fp32", ""],
    ["--dump-ranges", ""], ["-o", ""], ["--no-such"], ["--jobs"], ["-x"],
    ["--check=maybe"], ["--check"], ["--jobs", "1", "--jobs", "1"], ["-o"],
    ["--format", "text", "-o", "a", "-o", "b"], ["--input", "x=0:1", "--input"],
], ids=lambda arguments: " ".join(arguments)[:40])
def test_options(arguments, mlp):
    error = refused(run("--check", mlp, *arguments))
    assert len(error.splitlines()) == 1 and len(error) < 8000


def test_strange_names(tmp_path):
    """A line stays a line, whatever a file is called."""
    name = tmp_path / "a\nmpopt: error: b\x1b[31m"
    name.write_bytes(b"")
    error = refused(run("--check", name))
    assert len(error.splitlines()) == 1
