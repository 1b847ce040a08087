"""FP8 in training configurations: each setting that is wrong has a finding of its rule at its line; the same file without it has none."""

import json

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tool import run_mpopt

LAYERS = {"layers.0.mlp.gate_proj": (64, 128), "layers.0.mlp.down_proj": (128, 64), "layers.1.mlp.gate": (64, 64), "output": (64, 96)}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """`fits`: sizes that are multiples of 32; `odd`: of none."""
    folder, rng = tmp_path_factory.mktemp("models"), numpy.random.default_rng(1)
    for name, more in (("fits", 0), ("odd", 3)):
        nodes, held, x = [], [], "x"
        for layer, (k, n) in LAYERS.items():
            w = rng.normal(0, k ** -0.5, (k + more, n + more)).astype("f4")
            held.append(numpy_helper.from_array(w, f"{layer}.weight"))
            nodes.append(helper.make_node("MatMul", [x, f"{layer}.weight"], [f"{layer}.y"], name=layer))
            x = f"{layer}.y"
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [32, 64 + more])],
                                  [helper.make_tensor_value_info(x, TensorProto.FLOAT, [32, 96 + more])], held)
        onnx.save(helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)]), folder / f"{name}.onnx")
    return folder


@pytest.fixture
def found(models, tmp_path):
    def ask(name, text, model="fits", *options):
        path = tmp_path / name
        path.write_text(text)
        done = run_mpopt("--check", models / f"{model}.onnx", "--train", "--train-config", path, "--loss", "sum:output.y", "--select", "MP42,MP43",
                         "--format", "json", "--fail-on", "never", *options)
        assert done.returncode == 0, done.stderr
        lines = text.splitlines()
        return [(f["rule"], f["op"]["name"], lines[f["location"]["line"] - 1] if f.get("location") else None) for f in json.loads(done.stdout)["findings"]]
    return ask


def script(*flags):
    lines = "\n".join(f"    {flag}" for flag in flags)
    return f'#!/bin/bash\nLR=1e-4\nARGS=(\n    --lr $LR\n{lines}\n)\ntorchrun --nproc_per_node 8 pretrain_gpt.py "${{ARGS[@]}}"\n'


E4M3 = ("--bf16", "--num-layers 4", "--hidden-size 128", "--fp8-format e4m3", "--use-distributed-optimizer")
BASE = (*E4M3[:3], "--fp8-format hybrid", "--use-distributed-optimizer")
MX = (*E4M3, "--fp8-recipe mxfp8")
ROUTED = ("--num-experts 8", "--moe-router-padding-for-fp8", "--moe-token-dispatcher-type")
GATHERS = ("--fp8-param-gather", "--optimizer-cpu-offload", "--use-precision-aware-optimizer")
ENDS = ("--first-last-layers-bf16", "--pipeline-model-parallel-size 2", "--num-layers-at-start-in-bf16")
NOW = (*BASE, "--fp8-recipe tensorwise")
LONG = (*BASE, "--fp8-amax-history-len 512", "--fp8-amax-compute-algo max")


@pytest.mark.parametrize("flags", [MX, LONG, NOW, (*NOW, "--seq-length 1000", "--micro-batch-size 1"),
                                   (*NOW, "--ffn-hidden-size 1024", "--tensor-model-parallel-size 8"), (*LONG, "--no-fp8-wgrad"), (*MX, "--fp8-param-gather"), ("--bf16",), ("--bf16", "--fp8-format $FORMAT"),
                                   (*BASE, "--fp8-amax-history-len $HISTORY"), (*LONG, "--fp8-margin 2"), (*MX, "--first-last-layers-bf16"),
                                   (*NOW, "--recompute-modules layernorm moe_act"), (*LONG, "--recompute-modules core_attn mlp"), (*NOW, *ROUTED, "alltoall"),
                                   (*LONG, *GATHERS), (*NOW, *ENDS, "2"), (*NOW, "--swiglu", "--activation-func-fp8-input-store"), (*NOW, "--fp8-dot-product-attention"),
                                   (*E4M3, "--fp8-recipe custom", "--fp8-quantizer-factory a.b"),
                                   (*MX, "--fp8-param-gather", "--reuse-grad-buf-for-mxfp8-param-ag", "--overlap-grad-reduce", "--overlap-param-gather")])
def test_sound_scripts(found, flags):
    assert not found("a.sh", script(*flags))


@pytest.mark.parametrize("rule, key, flags", [
    ("MP421", "--fp8-format", (*BASE[:3], "--fp8_format=hybrid", "--fp8-recipe mxfp8")),
    ("MP422", "--fp8-amax-history-len", (*BASE, "--fp8-amax-history-len 1", "--fp8-amax-compute-algo max")),
    ("MP422", "--fp8-amax-compute-algo", (*BASE, "--fp8-amax-history-len 64", "--fp8-amax-compute-algo most_recent")),
    ("MP426", "--hidden-size", ("--hidden-size 1000", "--bf16", "--fp8-format hybrid", "--fp8-recipe tensorwise")),
    ("MP426", "--hidden-size", ("--hidden-size 144", "--bf16", "--fp8-format e4m3", "--fp8-recipe mxfp8")),
    ("MP426", "--ffn-hidden-size", (*NOW, "--ffn-hidden-size 1056", "--tensor-model-parallel-size 8")),
    ("MP426", "--seq-length", (*NOW, "--seq-length 1003", "--micro-batch-size 1")),
    ("MP426", "--seq-length", (*NOW, "--seq-length 1000", "--micro-batch-size 2", "--sequence-parallel", "--tensor-model-parallel-size 8")),
    ("MP427", "--fp8-format", MX[1:]),
    ("MP428", "--fp8-margin", (*NOW, "--fp8-margin 2")),
    ("MP428", "--num-layers-at-start-in-bf16", (*NOW, "--num-layers-at-start-in-bf16 2")),
    ("MP428", "--transformer-impl", (*MX, "--transformer-impl local")),
    ("MP428", "--fp8-recipe", ("--bf16", "--fp8-recipe tensorwise")),
    ("MP428", "--fp8-param-gather", ("--bf16", "--use-distributed-optimizer", "--fp8-param-gather")),
    ("MP428", "--reuse-grad-buf-for-mxfp8-param-ag", (*MX, "--fp8-param-gather", "--reuse-grad-buf-for-mxfp8-param-ag", "--overlap-grad-reduce")),
    ("MP428", "--reuse-grad-buf-for-mxfp8-param-ag", (*LONG, "--fp8-param-gather", "--reuse-grad-buf-for-mxfp8-param-ag")),
    ("MP428", "--recompute-modules", (*LONG, "--recompute-modules core_attn layernorm")),
    ("MP428", "--moe-router-padding-for-fp8", (*NOW, *ROUTED, "allgather")),
    ("MP428", "--moe-router-padding-for-quantization", ("--bf16", "--moe-router-padding-for-quantization", "--moe-token-dispatcher-type alltoall")),
    ("MP428", "--fp8-recipe", (*E4M3, "--fp8-recipe custom")),
    ("MP428", "--fp8-quantizer-factory", (*NOW, "--fp8-quantizer-factory a.b")),
    ("MP428", "--fp4-param-gather", (*MX, "--fp4-param-gather")),
    ("MP428", "--optimizer-cpu-offload", (*MX, *GATHERS)),
    ("MP428", "--num-layers-at-start-in-bf16", (*NOW, "--num-layers 8", *ENDS, "5")),
    ("MP428", "--moe-single-grouped-weight", (*NOW, "--moe-single-grouped-weight")),
    ("MP428", "--activation-func-fp8-input-store", (*NOW, "--activation-func-fp8-input-store")),
    ("MP428", "--fp8-param-gather", (*NOW, "--use-torch-fsdp2", "--fp8-param-gather")),
    ("MP428", "--overlap-param-gather-with-optimizer-step", (*MX, "--fp8-param-gather", "--reuse-grad-buf-for-mxfp8-param-ag", "--overlap-grad-reduce",
                                                             "--overlap-param-gather", "--overlap-param-gather-with-optimizer-step")),
    ("MP428", "--fp8-format", ("--bf16", "--fp8-format e4m3fn", "--fp8-recipe mxfp8")),
    ("MP428", "--fp8-recipe", ("--bf16", "--fp8-format e4m3", "--fp8-recipe mx")),
    ("MP429", "--exp-avg-sq-dtype", (*MX, "--use-precision-aware-optimizer", "--exp-avg-sq-dtype fp8")),
    ("MP430", "--fp8-margin", (*LONG, "--fp8-margin 12")),
    ("MP430", "--fp8-format", (*E4M3, "--fp8-recipe tensorwise")),
    ("MP431", "--first-last-layers-bf16", (*MX, "--first-last-layers-bf16", "--num-layers-at-start-in-bf16 3")),
    ("MP431", "--fp4-format", ("--bf16", "--fp4-format e2m1")),
])
def test_scripts(found, rule, key, flags):
    (its, name, line), = found("a.sh", script(*flags))
    assert (its, name) == (rule, key) and key in line.replace("_", "-").replace("--fp8-format=", "--fp8-format ")


def test_defaults_are_told_of_where_fp8_is_switched_on(found):
    assert [(rule, name) for rule, name, _ in found("a.sh", script(*BASE))] == [("MP422", "--fp8-amax-history-len")]


def test_attention_of_a_recipe_that_has_none(found):
    names = [name for _, name, _ in found("a.sh", script(*E4M3, "--fp8-recipe blockwise", "--fp8-dot-product-attention"))]
    assert "--fp8-dot-product-attention" in names


def test_arguments_of_a_functional_test(found):
    text = "ENV_VARS:\n  A: 1\nMODEL_ARGS:\n  --bf16: true\n  --lr: 1e-4\n  --fp8-format: {}\n  --fp8-recipe: mxfp8\n  --fp8-param-gather: false\n"
    assert not found("a.yaml", text.format("e4m3"))
    assert found("a.yaml", text.format("hybrid")) == [("MP421", "--fp8-format", "  --fp8-format: hybrid")]


ACCELERATE = "distributed_type: FSDP\nmixed_precision: {}\nfsdp_config:\n  fsdp_version: {}\nfp8_config:\n  backend: {}\n  {}\n"


@pytest.mark.parametrize("rule, line, values, model", [
    (None, None, ("fp8", 2, "AO", "pad_inner_dim: true"), "odd"),
    (None, None, ("fp8", 2, "TE", "amax_compute_algo: max"), "fits"),
    ("MP422", "  amax_compute_algo: most_recent", ("FP8", 2, "TE", "amax_compute_algo: most_recent"), "fits"),
    ("MP428", "  amax_history_len: 64", ("fp8", 2, "AO", "pad_inner_dim: true\n  amax_history_len: 64"), "odd"),
    ("MP428", "  pad_inner_dim: true", ("fp8", 2, "TE", "amax_compute_algo: max\n  pad_inner_dim: true"), "fits"),
    ("MP430", "  fp8_format: E4M3", ("fp8", 2, "TE", "amax_compute_algo: max\n  fp8_format: E4M3"), "fits"),
    ("MP426", "  pad_inner_dim: false", ("fp8", 2, "AO", "pad_inner_dim: false"), "odd"),
    ("MP428", "  enable_fsdp_float8_all_gather: true", ("fp8", 1, "AO", "enable_fsdp_float8_all_gather: true"), "fits"),
    ("MP428", None, ("bf16", 2, "TE", "margin: 0"), "fits"),
    (None, None, ("fp8", 2, "AO", "enable_fsdp_float8_all_gather: true"), "odd"),
    (None, None, ("fp8", 2, "TE", "use_mxfp8_block_scaling: true"), "fits"),
    (None, None, ("fp8", 2, "TE", "amax_compute_algo: max\n  override_linear_precision: false,false,true"), "fits"),
    ("MP428", "  amax_compute_algo: max", ("fp8", 2, "TE", "use_mxfp8_block_scaling: true\n  amax_compute_algo: max"), "fits"),
    ("MP428", "  override_linear_precision: true,true,true", ("fp8", 2, "TE", "amax_compute_algo: max\n  override_linear_precision: true,true,true"), "fits"),
    ("MP428", "  amax_compute_algo: mean", ("fp8", 2, "TE", "amax_compute_algo: mean"), "fits"),
    ("MP428", "  backend: engine", ("fp8", 2, "engine", "opt: 1"), "fits"),
    ("MP428", "  margin: 2", ("fp8", 2, "AO", "margin: 2"), "fits"),
    ("MP428", "  fsdp_cpu_ram_efficient_loading: true", ("fp8", "2\n  fsdp_cpu_ram_efficient_loading: true", "AO", "pad_inner_dim: true"), "fits"),
])
def test_accelerate(found, rule, line, values, model):
    findings = found("a.yaml", ACCELERATE.format(*values), model)
    assert [f[0] for f in findings] == ([rule] if rule else [])
    assert line is None or findings[0][2] == line


TITAN = '[job]\ndescription = "x"\n[training]\nlocal_batch_size = 8\n[model]\nconverters = {}\n[float8]\nrecipe_name = "{}"\n{}\n'


@pytest.mark.parametrize("rule, values, model", [
    (None, ('["float8"]', "rowwise", 'filter_fqns = ["output", "mlp.gate_proj"]'), "fits"),
    (None, ('["float8"]', "tensorwise", "enable_fsdp_float8_all_gather = true"), "fits"),
    (None, ('["float8"]', "tensorwise", "enable_fsdp_float8_all_gather = true\nprecompute_float8_dynamic_scale_for_fsdp = true"), "fits"),
    ("MP428", ('["float8"]', "tensorwise", "precompute_float8_dynamic_scale_for_fsdp = true"), "fits"),
    ("MP426", ('["float8"]', "rowwise", ""), "odd"),
    ("MP428", ('[]', "rowwise", ""), "fits"),
    ("MP428", ('["float8"]', "rowwise_with_gw_hp", "enable_fsdp_float8_all_gather = true"), "fits"),
    ("MP428", ('["float8"]', "rowwise", "emulate = true"), "fits"),
    ("MP431", ('["float8"]', "rowwise", 'filter_fqns = ["mlp.gate"]'), "fits"),
    ("MP431", ('["float8"]', "rowwise", 'filter_fqns = ["lm_head"]'), "fits"),
    ("MP431", ('["float8"]', "rowwise", 'filter_fqns = ["layers.0.mlp", "layers.1.mlp", "output"]'), "fits"),
])
def test_torchtitan(found, rule, values, model):
    assert [f[0] for f in found("a.toml", TITAN.format(*values), model)] == ([rule] if rule else [])


def test_later_torchtitan(found):
    text = '[training]\nlocal_batch_size = 8\n[model]\nconverters = [{}]\n[quantize.linear.float8]\nrecipe_name = "rowwise"\nemulate = {}\n'
    assert not found("a.toml", text.format('"quantize.linear.float8"', "false"))
    assert [f[0] for f in found("a.toml", text.format('"quantize.linear.float8"', "true"))] == ["MP428"]
    assert [f[1] for f in found("a.toml", text.format("", "false"))] == ["quantize"]


def test_blocks_in_torchtitan(found):
    text = '[training]\nlocal_batch_size = 8\nmixed_precision_param = "{}"\n[model]\nconverters = {}\n[mx]\nrecipe_name = "{}"\n'
    assert not found("a.toml", text.format("bfloat16", '["mx"]', "mxfp8_cublas"))
    assert [f[:2] for f in found("a.toml", text.format("bfloat16", "[]", "mxfp8_cublas"))] == [("MP428", "mx")]
    assert [f[:2] for f in found("a.toml", text.format("bfloat16", '["mx"]', "mxfp8_emulated"))] == [("MP428", "mx.recipe_name")]
    assert [f[0] for f in found("a.toml", text.format("float32", '["mx"]', "mxfp8_cublas"))] == ["MP427"]


def test_torchao(found):
    text = {"enable_fsdp_float8_all_gather": True, "pad_inner_dim": True, "emulate": False}
    assert not found("a.json", json.dumps(text), "odd")
    assert [f[:2] for f in found("a.json", json.dumps(text | {"recipe_name": "rowwise"}), "odd")] == [("MP428", "enable_fsdp_float8_all_gather")]


CAST = {f"cast_config_{operand}": {"scaling_type": "dynamic"} for operand in ("input", "weight", "grad_output")}
ROWS = {key: {"scaling_granularity": "axiswise"} for key in CAST}
WIDE = {"scaling_type": "disabled"}


@pytest.mark.parametrize("key, change", [
    (None, CAST), (None, ROWS), (None, CAST | {"cast_config_input_for_grad_weight": WIDE, "cast_config_grad_output_for_grad_weight": WIDE}),
    ("cast_config_input", CAST | {"cast_config_input": WIDE, "cast_config_input_for_grad_weight": {"scaling_type": "dynamic"}}),
    ("cast_config_input_for_grad_weight", CAST | {"cast_config_input_for_grad_weight": WIDE}),
    ("cast_config_grad_output_for_grad_weight", CAST | {"cast_config_grad_output_for_grad_weight": {"target_dtype": "float8_e4m3fn"}}),
    ("cast_config_weight", CAST | {"cast_config_weight": {"target_dtype": "float8_e5m2"}}),
    ("enable_fsdp_float8_all_gather", ROWS | {"enable_fsdp_float8_all_gather": True}), ("recipe_name", {"recipe_name": "rows"}),
])
def test_casts_of_torchao(found, key, change):
    assert [f[1] for f in found("a.json", json.dumps({"pad_inner_dim": True} | change), "odd")] == ([key] if key else [])


def test_section_that_deepspeed_does_not_have(found):
    text = {"train_micro_batch_size_per_gpu": 4, "bf16": {"enabled": True}, "fp8": {"enabled": True}}
    assert [f[:2] for f in found("a.json", json.dumps(text))] == [("MP428", "fp8")]


RECIPE = {"schema": "mpopt-fp8-recipe/1", "recipe": "DelayedScaling", "fp8_format": "HYBRID"}


@pytest.mark.parametrize("rule, change", [
    (None, {}), (None, {"recipe": "mxfp8", "fp8_format": "E4M3"}), (None, {"reduce_amax": False}),
    ("MP421", {"recipe": "MXFP8BlockScaling"}), ("MP422", {"amax_history_len": 1}),
    ("MP421", {"recipe": "Float8BlockScaling"}), ("MP428", {"recipe": "MXFP8BlockScaling", "fp8_format": "E4M3", "margin": 1}),
    ("MP430", {"fp8_format": "E4M3"}), (None, {"recipe": "NVFP4BlockScaling", "fp8_format": "E4M3", "disable": ["output"], "disable_2d_quantization": True}),
    ("MP428", {"recipe": "Float8BlockScaling", "fp8_format": "E4M3", "fp8_gemm_wgrad": {"use_split_accumulator": False}}),
    ("MP430", {"fp8_format": "E5M2"}), ("MP430", {"margin": -1}), ("MP430", {"reduce_amax": False, "sequence_parallel": True}),
    ("MP430", {"recipe": "NVFP4BlockScaling", "fp8_format": "E4M3", "disable": ["output"], "disable_rht": True, "disable_stochastic_rounding": True}),
    ("MP431", {"recipe": "NVFP4BlockScaling", "fp8_format": "E4M3"}),
    ("MP428", {"recipe": "Float8BlockScaling", "fp8_format": "E4M3", "x_block_scaling_dim": 2}),
    ("MP428", {"recipe": "Float8BlockScaling", "fp8_format": "E4M3", "fp8_dpa": True}),
    (None, {"recipe": "Float8BlockScaling", "fp8_format": "E4M3", "x_block_scaling_dim": 2, "w_block_scaling_dim": 1}),
    (None, {"recipe": "Float8CurrentScaling", "fp8_dpa": True, "backward_override": "dequantized"}),
    ("MP428", {"backward_override": "dequantized"}), ("MP428", {"recipe": "Float8CurrentScaling", "amax_history_len": 16}),
    ("MP428", {"amax_compute_algo": "mean"}), ("MP428", {"recipe": "NVFP4BlockScaling", "disable": ["output"]}),
    ("MP428", {"recipe": "NVFP4BlockScaling", "fp8_format": "E4M3", "disable": ["output"], "nvfp4_4over6": "all"}),
    (None, {"recipe": "NVFP4BlockScaling", "fp8_format": "E4M3", "disable": ["output"], "nvfp4_4over6": "all", "disable_rht": True}),
])
def test_recipes(found, rule, change):
    # Blocks of 128 do not fit the layers.
    assert {f[0] for f in found("a.json", json.dumps(RECIPE | change))} - {"MP426"} == ({rule} if rule else set())


def test_recipe_of_the_precision(found, models):
    """It stands in place of the configuration's, whose sizes then fit or not."""
    config = json.dumps({"schema": "mpopt-train-config/1"})
    assert not found("a.json", config, "fits", "--precision", "fp8:mxfp8")
    assert not found("a.json", config, "fits", "--precision", "fp8")
    assert [f[:2] for f in found("a.json", config, "fits", "--precision", "fp8:block128")] == [("MP426", "--precision")]
    for words in (("--train", "--precision", "fp8:best"), ("--train", "--precision", "fp8:"), ("--precision", "fp8:mxfp8")):
        done = run_mpopt("--check", models / "fits.onnx", *words)
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and "--precision" in done.stderr


OWN = {"schema": "mpopt-fp8-recipe/1"}


@pytest.mark.parametrize("rows, config, is_found", [
    (32, {}, False), (34, {}, True), (1, {}, True), (34, {"pad_inner_dim": True}, False), (24, {}, False), (24, ROWS, True), (24, {"recipe_name": "tensorwise", "pad_inner_dim": False}, True),
    (24, {"recipe_name": "rowwise_with_gw_hp", "pad_inner_dim": False}, False), (16, OWN | {"recipe": "MXFP8BlockScaling"}, True), (32, OWN | {"recipe": "MXFP8BlockScaling"}, False)])
def test_rows_of_a_batch(found, models, rows, config, is_found):
    """The weight gradient adds over them: multiples of 8 by TransformerEngine, of 16 by torchao, of MXFP8's blocks by both."""
    model = onnx.load(models / "fits.onnx")
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_value = rows
    onnx.save(model, models / f"rows{rows}.onnx")
    text = json.dumps(config or {"schema": "mpopt-fp8-recipe/1", "recipe": "Float8CurrentScaling"})
    assert [f[0] for f in found("a.json", text, f"rows{rows}")] == (["MP426"] if is_found else [])


@pytest.mark.parametrize("name, text", [("a.json", json.dumps(RECIPE | {"recipe": "Best"})), ("a.json", json.dumps(RECIPE | {"margin": "x"})),
                                        ("a.toml", "[training]\nlocal_batch_size = \n"), ("a.toml", "[job]\n[training]\nlocal_batch_size = [1]\n")])
def test_bad_files(models, tmp_path, name, text):
    (tmp_path / name).write_text(text)
    done = run_mpopt("--check", models / "fits.onnx", "--train", "--train-config", tmp_path / name)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and name in done.stderr and not done.stdout


def test_line_in_text(models, tmp_path):
    (tmp_path / "a.sh").write_text(script(*MX, "--fp8-margin 12"))
    done = run_mpopt("--check", models / "fits.onnx", "--train", "--train-config", tmp_path / "a.sh", "--loss", "sum:output.y")
    assert done.returncode == 1 and "a.sh:11\n" in done.stdout
