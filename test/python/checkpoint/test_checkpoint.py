"""Quantised checkpoints: each fault has a finding of its rule at its tensor, its twin has none."""

import json
import resource
import struct

import ml_dtypes
import numpy
import pytest

from safetensors_file import blocks, encode, write
from tool import run_mpopt

E4M3 = ml_dtypes.float8_e4m3fn
RNG = numpy.random.default_rng(5)


def weight(*shape, size=0.05):
    return RNG.normal(0, size, shape).astype("f4")


def per_tensor(name, w, **more):
    """A weight with one scale; `more` are further scales."""
    scale = numpy.float32(numpy.abs(w).max() / 448)
    return {f"{name}.weight": encode(w, scale), f"{name}.weight_scale": scale,
            **{f"{name}.{key}": numpy.float32(value) for key, value in more.items()}}


def per_block(name, w, round_scale=lambda s: s, stored=lambda s: s):
    most, wide = blocks(w)
    return {f"{name}.weight": encode(w, round_scale(wide / 448)),
            f"{name}.weight_scale_inv": stored(round_scale(most / 448)).astype("f4")}


def up(scale):
    return numpy.exp2(numpy.ceil(numpy.log2(scale)))


def layers(count=4, **more):
    found = {}
    for layer in range(count):
        for part in ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"):
            found |= per_tensor(f"model.layers.{layer}.{part}", weight(64, 64), input_scale=3 / 448, **more)
    return found


def found(path, *options):
    """(rule, module, tensor) of each finding, and the report."""
    done = run_mpopt("--check", path, "--format", "json", "--fail-on", "never", *options)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    return {(f["rule"], f["op"]["name"], f["tensor"]) for f in report["findings"]}, report


def rules(path, *options):
    return {rule for rule, _, _ in found(path, *options)[0]}


@pytest.fixture
def save(tmp_path):
    return lambda tensors, name="x.safetensors", **more: write(tmp_path / name, tensors, **more)


def test_sound_ones_are_silent(save):
    w = weight(256, 192)
    assert not rules(save(layers()))
    assert not rules(save(per_block("a.0.b", w)))
    assert not rules(save(per_block("a.0.b", weight(1024, 1024), up)))
    assert not rules(save({"x.weight": w, "y.bias": w[0]}))
    assert not rules(save(layers() | {"model.norm.scale": -w[0], "logit_scale": numpy.float32(-2)}))
    rows = numpy.abs(w).max(1, keepdims=True) / 127
    assert not rules(save({"l.weight": numpy.rint(w / rows).astype("i1"), "l.weight_scale": rows.astype("f4")}))


# --- MP601 ------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("value", [0.0, -1.0, numpy.nan, numpy.inf])
def test_bad_scale(save, value):
    tensors = layers()
    name = "model.layers.2.mlp.up_proj"
    tensors[f"{name}.input_scale"] = numpy.float32(value)
    assert ("MP601", name, f"{name}.input_scale") in found(save(tensors))[0]


def test_scale_of_zero_is_bad_where_codes_are_not(save):
    w = weight(256, 256)
    w[:128, :128] = 0
    most, wide = blocks(w)
    tensors = {"l.weight": encode(w, numpy.maximum(wide, 1e-30) / 448), "l.weight_scale_inv": most / 448}
    assert not rules(save(tensors))
    tensors["l.weight_scale_inv"][1, 1] = 0
    assert rules(save(tensors)) == {"MP601"}


def test_scale_that_its_dtype_does_not_hold(save):
    tensors = per_tensor("l", weight(64, 64, size=1e-6))
    tensors["l.weight_scale"] = tensors["l.weight_scale"].astype("f2")
    assert tensors["l.weight_scale"] == 0 and rules(save(tensors)) == {"MP601"}


# --- MP616 ------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("role", ["weight_scale", "input_scale"])
@pytest.mark.parametrize("module", ["model.layers.1.mlp.down_proj", "model.layers.3.self_attn.v_proj"])
def test_missing_in_a_layer(save, role, module):
    tensors = layers()
    del tensors[f"{module}.{role}"]
    assert found(save(tensors))[0] == {("MP616", module, f"{module}.weight")}


def test_missing_in_most_experts(save):
    tensors = {}
    for layer in range(2):
        for expert in range(8):
            tensors |= per_tensor(f"m.layers.{layer}.experts.{expert}.w2", weight(32, 32), **({"input_scale": 0.01} if expert == 5 else {}))
    assert {module for _, module, _ in found(save(tensors))[0]} == {f"m.layers.{i}.experts.{e}.w2" for i in range(2) for e in range(8) if e != 5}


def test_layers_left_out_are_not_missing(save):
    tensors = layers()
    for name in [n for n in tensors if n.startswith("model.layers.0.")]:
        value = tensors.pop(name)
        if name.endswith(".weight"):
            tensors[name] = (value.astype("f4") / 5000).astype(ml_dtypes.bfloat16)
    assert not rules(save(tensors))


def test_key_without_value_scale(save):
    tensors = layers()
    for layer in range(4):
        tensors[f"model.layers.{layer}.self_attn.k_scale"] = numpy.float32(0.02)
        if layer != 2:
            tensors[f"model.layers.{layer}.self_attn.v_scale"] = numpy.float32(0.02)
    assert found(save(tensors))[0] == {("MP616", "model.layers.2.self_attn", "model.layers.2.self_attn.k_scale")}


def test_codes_as_floats(save):
    """One projection of each layer was converted to BF16 without being multiplied by its scale."""
    sound, raw = {}, {}
    for layer in range(2):
        name = f"model.layers.{layer}.mlp.gate_proj.weight"
        code, scale = per_tensor(name.removesuffix(".weight"), weight(64, 64)).values()
        up = per_tensor(f"model.layers.{layer}.mlp.up_proj", weight(64, 64))
        sound |= {name: (code.astype("f4") * scale).astype(ml_dtypes.bfloat16)} | up
        raw |= {name: code.astype(ml_dtypes.bfloat16)} | up
    assert "MP616" not in {rule for rule, _, tensor in found(save(sound))[0] if tensor.endswith("gate_proj.weight")}
    assert {("MP616", f"model.layers.{layer}.mlp.gate_proj", f"model.layers.{layer}.mlp.gate_proj.weight") for layer in range(2)} <= found(save(raw))[0]


# --- MP617 ------------------------------------------------------------------------------------------------------------

def test_inverted_weight_scale(save):
    tensors = per_tensor("l", weight(128, 128))
    tensors["l.weight_scale"] = 1 / tensors["l.weight_scale"]
    assert rules(save(tensors)) == {"MP617"}


def test_inverted_input_scale(save):
    tensors = layers()
    name = "model.layers.1.mlp.down_proj"
    tensors[f"{name}.input_scale"] = 1 / tensors[f"{name}.input_scale"]
    assert found(save(tensors))[0] == {("MP617", name, f"{name}.input_scale")}
    tensors[f"{name}.input_scale"] = numpy.float32(2e4 / 448)  # a massive activation is none
    assert not rules(save(tensors))


@pytest.mark.parametrize("part, scale, rule", [("k", 0.05, None), ("k", 2, None), ("k", 20, "MP617"), ("v", 100, "MP617")])
def test_inverted_scale_of_a_cache(save, part, scale, rule):
    tensors = layers()
    for layer in range(4):
        for each in "kv":
            tensors[f"model.layers.{layer}.self_attn.{each}_scale"] = numpy.float32(scale if each == part else 0.02)
    name = "model.layers.{}.self_attn"
    assert found(save(tensors))[0] == ({("MP617", name.format(i), f"{name.format(i)}.{part}_scale") for i in range(4)} if rule else set())


def test_latent_row_of_two_scales(save):
    name = "model.layers.0.self_attn"
    tensors = per_tensor(f"{name}.kv_b_proj", weight(128, 64)) | {f"{name}.k_scale": numpy.float32(0.02), f"{name}.v_scale": numpy.float32(0.01)}
    assert found(save(tensors))[0] == {("MP618", name, f"{name}.v_scale")}
    tensors[f"{name}.v_scale"] = tensors[f"{name}.k_scale"]
    assert not rules(save(tensors))


def test_input_scale_of_another_tensor(save):
    tensors = layers()
    name = "model.layers.1.self_attn.k_proj"
    tensors[f"{name}.input_scale"] /= 100
    assert found(save(tensors))[0] == {("MP617", name, f"{name}.input_scale")}


def test_scales_rounded_afterwards(save, tmp_path):
    w = weight(512, 512)
    names = {("MP617", "l", "l.weight_scale_inv")}
    floats = save({"l.weight": w.astype(ml_dtypes.bfloat16)}, "float.safetensors")
    bad = save(per_block("l", w, stored=up))
    assert found(bad)[0] == names and found(bad, "--against", floats)[0] == names
    assert not rules(save(per_block("l", w, up)), "--against", floats)


@pytest.mark.parametrize("factor", [0.5, 1.3, 64])
@pytest.mark.parametrize("form", [per_tensor, per_block])
def test_against_floats(save, factor, form):
    w = weight(256, 200)
    floats = save({"l.weight": w}, "float.safetensors")
    tensors = form("l", w)
    assert not rules(save(tensors), "--against", floats)
    scale = next(name for name in tensors if "scale" in name)
    tensors[scale] = tensors[scale] * numpy.float32(factor)
    assert ("MP617", "l", scale) in found(save(tensors), "--against", floats)[0]


@pytest.mark.parametrize("size, factor, rule", [(0.05, 1, None), (0.0006, 1, "MP617"), (0.05, 2, "MP617")])
def test_floats_of_codes_without_a_scale(save, size, factor, rule):
    w = weight(128, 128, size=size)
    floats = save({"l.weight": w}, "float.safetensors")
    codes = save({"l.weight": (factor * w).astype(E4M3)})
    assert ("MP617" in rules(codes, "--against", floats)) == bool(rule)


def test_codes_of_another_weight(save):
    w = weight(256, 256)
    floats = save({"l.weight": w}, "float.safetensors")
    assert found(save(per_tensor("l", w[::-1])), "--against", floats)[0] == {("MP617", "l", "l.weight")}


def test_floats_that_lack_the_weight(save):
    floats = save({"other.weight": weight(4, 4)}, "float.safetensors")
    _, report = found(save(per_tensor("l", weight(64, 64))), "--against", floats)
    assert "there is no 'l.weight'" in report["warnings"][0]


# --- MP602, MP603 -----------------------------------------------------------------------------------------------------

def test_codes_that_are_nan(save):
    tensors = per_tensor("l", weight(64, 64))
    tensors["l.weight"].view("u1")[3, 4] = 0x7F
    assert rules(save(tensors)) == {"MP602"}


def test_clipped_codes(save):
    w = weight(512, 512)
    scale = numpy.float32(0.1 / 448)  # two deviations
    assert rules(save({"l.weight": encode(w, scale), "l.weight_scale": scale})) == {"MP602"}


def test_wasted_codes(save):
    w = weight(256, 256)
    for shrink, rule in ((2 ** 6, set()), (2 ** 14, {"MP603"})):
        scale = numpy.float32(numpy.abs(w).max() / 448 * shrink)
        assert rules(save({"l.weight": encode(w, scale), "l.weight_scale": scale})) == rule


# --- MP618 ------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("power, rule", [(4, set()), (17, {"MP618"})])
def test_gate_below_up(save, power, rule):
    tensors = per_tensor("l.0.mlp.gate_proj", weight(128, 128) / 2 ** power) | per_tensor("l.0.mlp.up_proj", weight(128, 128))
    names, report = found(save(tensors))
    assert {r for r, _, _ in names} == rule
    if rule:
        assert "% of the shard's weights become 0" in report["findings"][0]["message"]


@pytest.mark.parametrize("word, what", [("weight_scale_2", "as large"), ("weight_global_scale", "as small")])
def test_common_scales_of_nvfp4(save, word, what):
    tensors = {}
    for shard, size in (("q_proj", 1), ("k_proj", 3), ("v_proj", 1)):
        tensors |= {f"l.0.attn.{shard}.weight": RNG.integers(0, 256, (64, 32), "u1"),
                    f"l.0.attn.{shard}.weight_scale": numpy.full((64, 4), 64, E4M3),
                    f"l.0.attn.{shard}.{word}": numpy.float32(size * (1e-4 if word.endswith("2") else 1e4))}
    _, report = found(save(tensors))
    assert {(f["rule"], f["op"]["name"]) for f in report["findings"]} == {("MP618", "l.0.attn.q_proj"), ("MP618", "l.0.attn.v_proj")}
    assert f"3 times {what}" in report["findings"][0]["message"]


# --- MP619 ------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("shape, what", [((2, 4), "interchanged"), ((7, 3), "no size of blocks"), ((8, 4), "128 x 128")])
def test_layout(save, shape, what):
    tensors = {"l.weight": encode(weight(512, 256), numpy.float32(0.001)), "l.weight_scale_inv": numpy.full(shape, 1e-3, "f4")}
    names, report = found(save(tensors, weight_block_size=[128, 128]))
    assert names == {("MP619", "l", "l.weight_scale_inv")} and what in report["findings"][0]["message"]


def test_blocks_that_are_interchanged(save):
    """One weight has blocks of 64 x 256, the others of 128 x 128."""
    tensors = {}
    for layer in range(4):
        tensors |= per_block(f"l.{layer}.down", weight(256, 512))
    assert not rules(save(tensors))
    tensors["l.2.down.weight_scale_inv"] = tensors["l.2.down.weight_scale_inv"].T.copy()
    assert found(save(tensors))[0] == {("MP619", "l.2.down", "l.2.down.weight_scale_inv")}


def test_scale_in_integers(save):
    tensors = per_tensor("l", weight(64, 64)) | {"l.weight_scale": numpy.int32([1])}
    assert rules(save(tensors)) == {"MP619"}


def test_block_of_the_configuration(save, tmp_path):
    tensors = per_block("l", weight(256, 256))
    path = save(tensors)
    for block, rule in ((128, set()), (64, {"MP619"})):
        (tmp_path / "config.json").write_text(json.dumps({"quantization_config": {"quant_method": "fp8", "weight_block_size": [block, block]}}))
        assert rules(path) == rule


# --- Files ------------------------------------------------------------------------------------------------------------

def test_sharded(save, tmp_path):
    tensors = layers()
    lost = "model.layers.1.mlp.down_proj.input_scale"
    del tensors[lost]
    names = sorted(tensors)
    parts = {"a.safetensors": names[::2], "b.safetensors": names[1::2]}
    for file, part in parts.items():
        save({name: tensors[name] for name in part}, file)
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {name: file for file, part in parts.items() for name in part}}))
    assert {module for _, module, _ in found(index)[0]} == {"model.layers.1.mlp.down_proj"}
    (tmp_path / "b.safetensors").unlink()
    done = run_mpopt("--check", index)
    assert done.returncode == 2 and "b.safetensors" in done.stderr and done.stderr.count("\n") == 1


def test_status_baseline_and_rules(save, tmp_path):
    tensors = layers()
    tensors["model.layers.1.mlp.down_proj.input_scale"] = numpy.float32(0)
    path, baseline = save(tensors), tmp_path / "known.json"
    assert run_mpopt("--check", path, "--write-baseline", baseline).returncode == 1
    assert run_mpopt("--check", path, "--baseline", baseline).returncode == 0
    assert run_mpopt("--check", path, "--ignore", "MP601").returncode == 0
    (tmp_path / "mpopt.toml").write_text('[[suppress]]\nrule = "MP601"\nop = "model.layers.1.mlp.down_proj"\nreason = "never routed"\n')
    assert run_mpopt("--check", path).returncode == 0
    for form in ("sarif", "github", "junit", "markdown", "text"):
        done = run_mpopt("--check", path, "--config", "none", "--format", form)
        assert done.returncode == 1 and "MP601" in done.stdout, form


@pytest.mark.parametrize("options", [("--precision", "fp16"), ("--train",), ("--dump-ranges", "r.json"), ("--safe-input",)])
def test_options_of_graphs(save, options):
    done = run_mpopt("--check", save(layers(1)), *options)
    assert done.returncode == 2 and options[0] in done.stderr and not done.stdout


def test_against_a_model(save, tmp_path):
    path = save(layers(1))
    (tmp_path / "m.mlir").write_text("module {}")
    for line in (("--check", tmp_path / "m.mlir", "--against", path), ("--check", path, "--against", tmp_path / "m.mlir")):
        done = run_mpopt(*line)
        assert done.returncode == 2 and "--against" in done.stderr and done.stderr.count("\n") == 1


def shift(header):
    for tensor in header.values():
        tensor["data_offsets"] = [n + 8 for n in tensor["data_offsets"]]


def put(**fields):
    return lambda header: header["l.weight"].update(fields)


@pytest.mark.parametrize("change", [shift, put(dtype="F8_E9"), put(shape=[64, 65]), put(shape=[-1, 4]), put(shape="x"), put(shape=[2 ** 62, 2 ** 62]),
                                    put(data_offsets=[4096, 0]), put(data_offsets=[1]), lambda header: header.update({"l.weight": 3}),
                                    lambda header: header["l.weight_scale"].update(data_offsets=[0, 4])])
def test_headers_that_lie(save, change):
    done = run_mpopt("--check", save(per_tensor("l", weight(64, 64)), change=change))
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and not done.stdout


def test_damaged_files(save, tmp_path):
    sound = save(layers(1)).read_bytes()
    length = struct.unpack("<Q", sound[:8])[0]
    path = tmp_path / "broken.safetensors"
    rng = numpy.random.default_rng(3)
    cases = [b"", sound[:5], sound[:8], sound[:100], sound[:-1], b"\xff" * 64, struct.pack("<Q", 2 ** 63) + sound[8:], struct.pack("<Q", length - 1) + sound[8:]]
    for _ in range(60):
        raw = bytearray(sound)
        for _ in range(4):
            raw[rng.integers(8 + length)] = rng.integers(256)
        cases.append(bytes(raw))
    for raw in cases:
        path.write_bytes(raw)
        done = run_mpopt("--check", path, "--fail-on", "never")
        assert done.returncode in (0, 2), done.stderr
        assert done.returncode == 0 or (done.stderr.count("\n") == 1 and not done.stdout)


@pytest.mark.parametrize("index", ["", "[]", "{}", '{"weight_map": {"a": 3}}', '{"weight_map": {"a": "/etc/passwd"}}', '{"weight_map": {"a": "../x.safetensors"}}',
                                   '{"weight_map": {"a": "x.safetensors"}}'])
def test_broken_index(save, tmp_path, index):
    save(layers(1))
    path = tmp_path / "m.safetensors.index.json"
    path.write_text(index)
    done = run_mpopt("--check", path)
    assert done.returncode == 2 and done.stderr.count("\n") == 1


def test_memory_is_bounded(save):
    """128 MiB of codes are read in pieces."""
    path = save({"l.weight": numpy.zeros((8192, 16384), E4M3), "l.weight_scale": numpy.ones((8192, 1), "f4")})
    done = run_mpopt("--check", path, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (1 << 26, 1 << 26)))
    assert done.returncode == 0, done.stderr
