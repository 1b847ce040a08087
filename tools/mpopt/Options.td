//===- Options.td - The options of mpopt -------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One record an option: its name, its help, the name and the values of what it
// takes, and the actions that look at it. `--help` is printed from the records,
// and an option of other actions, or another value, is refused by them.
//
//===----------------------------------------------------------------------===//

include "llvm/Option/OptParser.td"

// The actions that look at an option. With the default visibility all do.
def InCheck : OptionVisibility;
def InInstrument : OptionVisibility;
def InConfirm : OptionVisibility;
def InStrip : OptionVisibility;
def InEmitMlir : OptionVisibility;
def InListRules : OptionVisibility;
def InExplain : OptionVisibility;
def InDiff : OptionVisibility;
def InAdvise : OptionVisibility;
def InFix : OptionVisibility;
def InConvert : OptionVisibility;

class InJudging
    : Visibility<[InCheck, InInstrument, InDiff, InFix, InAdvise]>;
class InAssuming
    : Visibility<[InCheck, InInstrument, InDiff, InFix, InAdvise, InConvert]>;
class InTraining : Visibility<[InCheck, InInstrument, InAdvise]>;
class InDumping : Visibility<[InCheck, InInstrument]>;
class InImporting
    : Visibility<[InCheck, InInstrument, InEmitMlir, InDiff, InFix, InAdvise,
                  InConvert]>;
class InListing
    : Visibility<[InCheck, InInstrument, InConfirm, InDiff, InFix, InAdvise]>;
class InReporting
    : Visibility<[InCheck, InInstrument, InConfirm, InListRules, InExplain,
                  InDiff, InAdvise]>;

// The option may be given several times; any other is refused the second time.
def Repeated : OptionFlag;
// Scripts hand the options of --check to --instrument as they are: of one that
// has no effect there the user is warned.
def IdleInInstrument : OptionFlag;

// The sections of --help; printHelp has their order.
class Section<string title> : OptionGroup<title> { let HelpText = title; }
def usage : Section<"usage">;
def judged : Section<"what is judged">;
def assumed : Section<"what is assumed">;
def counted : Section<"which findings are counted">;
def written : Section<"what is written">;
def converted : Section<"how a model is converted">;
def trained : Section<"how the model is trained">;
def probed : Section<"what is probed">;
def general : Section<"in general">;

class Switch<string name> : Flag<["--", "-"], name>;
// `--NAME VALUE` and `--NAME=VALUE`.
multiclass Valued<string name, list<string> prefixes = ["--", "-"]> {
  def NAME : Separate<prefixes, name>;
  def NAME#_joined : Joined<prefixes, name#"=">,
                     Alias<!cast<Option>(NAME)>;
}

//===----------------------------------------------------------------------===//
// Actions
//===----------------------------------------------------------------------===//

def check : Switch<"check">, Group<usage>, MetaVarName<"MODEL... [options]">,
  HelpText<"judge models (ONNX, TorchScript, torch.export or mp IR; - is "
           "stdin), or the scales of quantised checkpoints (safetensors); a "
           "folder or a pattern ('models/**/*.onnx') stands for the models in "
           "it">;
def advise : Switch<"advise">, Group<usage>, MetaVarName<"MODEL [options]">,
  HelpText<"one table over all precisions: verdict, time and memory on a "
           "device, and the one to choose">;
def fix : Switch<"fix">, Group<usage>, MetaVarName<"MODEL.onnx -o OUT.onnx [options]">,
  HelpText<"the model with the fixes that trials proved">;
def convert : Switch<"convert">, Group<usage>,
  MetaVarName<"MODEL.onnx -o OUT.onnx [options]">,
  HelpText<"the model in mixed precision, what needs FP32 in FP32">;
def instrument : Switch<"instrument">, Group<usage>,
  MetaVarName<"MODEL -o OUT [options]">,
  HelpText<"the model with probes, and the ledger OUT.probes.json">;
def strip : Switch<"strip">, Group<usage>, MetaVarName<"OUT -o MODEL">,
  HelpText<"the original, byte for byte">;
defm confirm : Valued<"confirm">, Group<usage>, Flags<[Repeated]>,
  MetaVarName<"RUN.mprec... --ledger OUT.probes.json">,
  HelpText<"compare the findings with a run">;
def emit_mlir : Switch<"emit-mlir">, Group<usage>, MetaVarName<"MODEL">,
  HelpText<"the imported mp IR">;
def list_rules : Switch<"list-rules">, Group<usage>,
  HelpText<"all rules and their settings">;
def diff : Switch<"diff">, Group<usage>, MetaVarName<"A B [options]">,
  HelpText<"what changed from one model, JSON report or run to another; a "
           "run is a record, or the folder of those of its ranks">;
defm completion : Valued<"completion">, Group<usage>, MetaVarName<"SHELL">,
  Values<"bash,zsh,fish">,
  HelpText<"a script that completes options">;
defm explain : Valued<"explain">, Group<usage>, MetaVarName<"RULE">,
  HelpText<"what a rule finds, why, what to do; of a prefix (MP2) the rules "
           "that begin with it">;

//===----------------------------------------------------------------------===//
// Judging
//===----------------------------------------------------------------------===//

defm precision : Valued<"precision">, Group<judged>,
  Visibility<[InCheck, InInstrument, InDiff, InFix]>,
  MetaVarName<"P">,
  Values<"auto,as-is,fp16,bf16,autocast-fp16,autocast-bf16,tf32,"
         "fp8-e4m3,fp8-e4m3:tensor,fp8-e4m3:dynamic,fp8-e4m3:row,"
         "fp8-e4m3:block128,fp8-e4m3:mx,fp8-e4m3:mx_floor,mxfp8,nvfp4,"
         "int8,int8:u8s8,int8:s8s8,int8:a16w8,int8:per-tensor">,
  HelpText<"the arithmetic (default auto: as-is if the model computes in 16 "
           "bits anywhere or is quantised, otherwise autocast-fp16). tf32, "
           "fp8-e4m3, mxfp8, nvfp4 and int8 store the operands of products with scales, "
           "all else in FP32; int8 forms end in ,per-tensor for weights with "
           "one scale. Under --train also fp8[:RECIPE]: the products of layers in "
           "FP8 on a base of BF16">;
def fp16 : Switch<"fp16">, Group<judged>,
  Visibility<[InCheck, InInstrument, InDiff, InFix]>,
  HelpText<"--precision fp16; under --train autocast-fp16, which trainers call so">;
def bf16 : Switch<"bf16">, Group<judged>,
  Visibility<[InCheck, InInstrument, InDiff, InFix]>,
  HelpText<"--precision bf16; under --train autocast-bf16">;
defm policy : Valued<"policy">, Group<judged>,
  Visibility<[InCheck, InInstrument, InDiff, InFix, InAdvise, InConvert]>,
  MetaVarName<"NAME|FILE">,
  HelpText<"the table that autocast follows; --convert keeps what it has in "
           "FP32, too">;
defm target : Valued<"target">, Group<judged>, InAssuming,
  MetaVarName<"NAME|FILE">,
  HelpText<"the accumulators: gpu-tensorcore (default), ort-cpu, strict16, or a "
           "profile of your own">;
defm effort : Valued<"effort">, Group<judged>, InJudging,
  MetaVarName<"E">, Values<"default,high">,
  HelpText<"what bounds may cost: half of the check (default), or ten times "
           "that, with boxes of inputs split">;

defm device : Valued<"device">, Group<judged>, Visibility<[InAdvise]>,
  MetaVarName<"NAME|FILE">,
  HelpText<"v100, a100, h100 (default), b200, mi300, cpu, or a profile of your "
           "own (docs/advise.md)">;

//===----------------------------------------------------------------------===//
// Assumptions
//===----------------------------------------------------------------------===//

defm input : Valued<"input">, Group<assumed>, InAssuming, Flags<[Repeated]>,
  MetaVarName<"NAME=LO:HI">,
  HelpText<"every element of that input lies in [LO, HI]. NAME=@FILE.npz: the "
           "same from arrays lo and hi, or from samples under the input's "
           "name, by channel where they differ. NAME~MEAN,STD: its likely distribution, NAME=LO:HI~MEAN,STD: both. Under --train of "
           "targets, too, also NAME=zipf:S">;
defm calibration : Valued<"calibration">, Group<assumed>,
  Visibility<[InCheck]>, MetaVarName<"FILE">,
  HelpText<"what a calibration saw of each tensor (ONNX Runtime, TensorRT, AIMET, "
           "JSON, .npz): of a quantised model, or the scales of --precision int8">;
defm assume : Valued<"assume">, Group<assumed>, InAssuming,
  MetaVarName<"LO:HI">,
  HelpText<"bound of the other float inputs (default -10:10)">;
defm op : Valued<"op">, Group<assumed>, InAssuming, Flags<[Repeated]>,
  MetaVarName<"NAME=KEY=VALUE;...">,
  HelpText<"what an op that is not modelled does: range, slope, dtypes, "
           "accumulator (docs/custom-ops.md)">;
defm dim : Valued<"dim">, Group<assumed>, InImporting, Flags<[Repeated]>,
  MetaVarName<"NAME=N">,
  HelpText<"size of a symbolic dimension">;
defm input_shape : Valued<"input-shape">, Group<assumed>, InImporting,
  Flags<[Repeated]>, MetaVarName<"NAME=1x3x224x224[:f16]">,
  HelpText<"shape (? for an open dim) and dtype of an input">;
defm method : Valued<"method">, Group<assumed>,
  Visibility<[InCheck, InInstrument, InEmitMlir, InDiff, InFix, InAdvise]>,
  MetaVarName<"NAME">,
  HelpText<"method of a TorchScript model (default forward)">;

//===----------------------------------------------------------------------===//
// Which findings count
//===----------------------------------------------------------------------===//

defm select : Valued<"select">, Group<counted>, InListing, Flags<[Repeated]>,
  MetaVarName<"LIST">,
  HelpText<"only these rules: ids, prefixes (MP2) or names">;
defm ignore : Valued<"ignore">, Group<counted>, InListing, Flags<[Repeated]>,
  MetaVarName<"LIST">,
  HelpText<"skip these rules">;
defm set : Valued<"set">, Group<counted>, InListing, Flags<[Repeated]>,
  MetaVarName<"KEY=VALUE">,
  HelpText<"a rule's threshold (--list-rules shows them)">;
defm min_certainty : Valued<"min-certainty">, Group<counted>, InListing,
  Flags<[IdleInInstrument]>, MetaVarName<"C">,
  Values<"certain,likely,possible">,
  HelpText<"list findings that are at least so sure (default likely; "
           "--confirm: possible)">;
defm fail_on : Valued<"fail-on">, Group<counted>, InListing,
  Flags<[IdleInInstrument]>, MetaVarName<"S">,
  Values<"error,warning,note,never">,
  HelpText<"exit 1 from this severity on (default warning)">;

def require_verdict : Switch<"require-verdict">, Group<counted>,
  Visibility<[InCheck]>,
  HelpText<"exit 1 where the effect on an output is not known, too">;
def fail_on_witness : Switch<"fail-on-witness">, Group<counted>,
  Visibility<[InCheck]>,
  HelpText<"exit 1 where --witness finds an input, too">;
defm baseline : Valued<"baseline">, Group<counted>, Visibility<[InCheck]>,
  MetaVarName<"FILE">,
  HelpText<"findings of that file, which --write-baseline wrote, do not count">;

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

// The values are the rows of lib/Report/OutputFormat.cpp.
defm format : Valued<"format">, Group<written>, InReporting,
  Flags<[IdleInInstrument]>, MetaVarName<"F">,
  HelpText<"the form of the report (default text)">;
defm output : Valued<"o", ["-", "--"]>, Group<written>, MetaVarName<"FILE">,
  Flags<[Repeated]>,
  HelpText<"write to FILE; a report without --format in the form of its ending: "
           ".json, .sarif, .xml (junit), .md, .html. --check takes several">;
def dry_run : Switch<"dry-run">, Group<written>, Visibility<[InFix]>,
  HelpText<"show what would be changed, and write no file">;
def unsafe_fixes : Switch<"unsafe-fixes">, Group<written>, Visibility<[InFix]>,
  HelpText<"also make fixes that leave or add a finding, or change the numbers of FP32">;
defm write_baseline : Valued<"write-baseline">, Group<written>,
  Visibility<[InCheck]>, MetaVarName<"FILE">,
  HelpText<"write the findings of today, for --baseline">;
defm witness : Valued<"witness">, Group<written>, Visibility<[InCheck]>,
  MetaVarName<"DIR">,
  HelpText<"inputs at which overflows happen that are only possible, as .npz "
           "files">;
def safe_input : Switch<"safe-input">, Group<written>, InDumping,
  HelpText<"how far each float input may be scaled before there is an "
           "overflow">;
defm dump_ranges : Valued<"dump-ranges">, Group<written>, InDumping,
  MetaVarName<"FILE">,
  HelpText<"every tensor's bounds, as JSON">;
defm scales : Valued<"scales">, Group<written>, Visibility<[InCheck]>,
  MetaVarName<"FILE">,
  HelpText<"the scale of each operand of a product, with --precision fp8-e4m3">;
defm headroom : Valued<"headroom">, Group<written>, Visibility<[InCheck]>,
  MetaVarName<"BITS">,
  HelpText<"bits (0 to 8) of extra room above the numbers of --scales">;
def powers_of_two : Switch<"powers-of-two">, Group<written>,
  Visibility<[InCheck]>,
  HelpText<"--scales that are powers of two">;
defm max_error : Valued<"max-error">, Group<written>,
  Visibility<[InCheck, InConvert, InFix]>, MetaVarName<"E">,
  HelpText<"the expected error of an output, of its largest magnitude, that "
           "--convert meets (0.02 to FP16, 0.12 to BF16, 0.15 to FP8) or exits 1, and that "
           "--keep-fp32 aims at with --precision fp8-e4m3 (0.125), mxfp8, nvfp4 "
           "or int8 (0.01)">;
defm max_gradient_error : Valued<"max-gradient-error">, Group<written>,
  Visibility<[InCheck]>, MetaVarName<"E">,
  HelpText<"the expected error of gradients of parameters (root mean square) at "
           "which the recipe and the layers in BF16 aim that --train "
           "--precision fp8 names (0.1, 0.15, 0.25)">;
defm keep_fp32 : Valued<"keep-fp32">, Group<written>,
  Visibility<[InCheck, InInstrument, InConfirm]>,
  MetaVarName<"FILE">,
  HelpText<"the ops to keep in FP32, as JSON, or for converters: "
           "*.autocast.txt (ModelOpt), *.ort.json (ONNX Runtime), *.occ.json "
           "(onnxconverter-common), *.trt.json (TensorRT), *.openvino.json, "
           "*.coreml.json, *.litert.json; for quantisers: *.ort-quant.json, "
           "*.modelopt.json, *.nncf.json, *.qnn.json">;

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

class InConverting : Visibility<[InConvert]>;

defm to : Valued<"to">, Group<converted>, InConverting, MetaVarName<"TYPE">,
  Values<"mixed-fp16,mixed-bf16,fp16,bf16,fp8-qdq,fp32">,
  HelpText<"the types of the result (default mixed-fp16; fp16: nothing stays in "
           "FP32 for its error; fp8-qdq: operands of products in E4M3 by pairs of "
           "QuantizeLinear and DequantizeLinear, all else mixed-bf16)">;
defm keep : Valued<"keep">, Group<converted>, InConverting, Flags<[Repeated]>,
  MetaVarName<"NAME|RE|OPTYPE">,
  HelpText<"nodes that stay in FP32; MatMul>Softmax: each MatMul that feeds a "
           "Softmax; out:VALUE: what gives it">;
defm never : Valued<"never">, Group<converted>, InConverting,
  Flags<[Repeated]>, MetaVarName<"NAME|RE|OPTYPE">,
  HelpText<"nodes that do not stay in FP32 for their error">;
def keep_io_types : Switch<"keep-io-types">, Group<converted>, InConverting,
  MetaVarName<"[=NAMES]">,
  HelpText<"inputs and outputs keep their types: all, or those named (names, "
           "expressions, !NAME, comma separated)">;
def keep_io_names : Joined<["--", "-"], "keep-io-types=">, InConverting,
  Flags<[Repeated]>;
defm assume_fp16 : Valued<"assume-fp16">, Group<converted>, InConverting,
  Flags<[Repeated]>, MetaVarName<"DOMAIN::OP">,
  HelpText<"an op of an unknown domain that takes and gives the low type">;
defm report : Valued<"report">, Group<converted>, InConverting,
  MetaVarName<"FILE">,
  HelpText<"what was kept and cast, and why, as JSON">;
defm opset : Valued<"opset">, Group<converted>, InConverting,
  MetaVarName<"N">,
  HelpText<"raise the opset, from 7 on and up to 24">;
defm state : Valued<"state">, Group<converted>, InConverting, Flags<[Repeated]>,
  MetaVarName<"IN=OUT[:CALLS]">,
  HelpText<"an input that gets the output of the call before: FP32 at both "
           "ends, errors add up over so many calls">;
defm verify : Valued<"verify">, Group<converted>,
  Visibility<[InConvert, InFix]>,
  MetaVarName<"FEEDS.npz|random[:N]">,
  HelpText<"run the result beside the source in ONNX Runtime, every rounding "
           "restored, on these feeds or on N (default 8) drawn ones; no file "
           "if an output is off by more than --max-error">;
def verify_tensors : Switch<"verify-tensors">, Group<converted>, InConverting,
  HelpText<"with --verify: the errors of inner tensors, too, in --report">;
defm min_low : Valued<"min-low">, Group<converted>, InConverting,
  MetaVarName<"SHARE">,
  HelpText<"exit 1 if less of the multiplications became low">;
def with_fixes : Switch<"with-fixes">, Group<converted>, InConverting,
  HelpText<"make the safe fixes of --fix first">;
def write_anyway : Switch<"write-anyway">, Group<converted>, InConverting,
  HelpText<"write the result even if the error cannot be met">;

//===----------------------------------------------------------------------===//
// Training
//===----------------------------------------------------------------------===//

def train : Switch<"train">, Group<trained>, InTraining,
  HelpText<"judge a training step: forward, loss, backward, optimizer; the "
           "other options here go with it. With --instrument: gradients are "
           "probed, too, for --confirm to judge it by a real run">;
defm loss : Valued<"loss">, Group<trained>, InTraining, Flags<[Repeated]>,
  MetaVarName<"KIND[:PREDICTION[,TARGET]]">,
  HelpText<"a term of the loss (default: by the outputs), a kind, or "
           "FILE.onnx or FILE.mlir. Then :weight=W, :reduction=R, :ignore=I and "
           "others (docs/adjoint.md). sum:NAME: an output that is the loss">;
defm loss_value : Valued<"loss-value">, Group<trained>, InTraining,
  MetaVarName<"V">,
  HelpText<"the loss now, as a log shows it">;
defm train_config : Valued<"train-config">, Group<trained>, InTraining,
  MetaVarName<"FILE">,
  HelpText<"how it is trained: mpopt's own YAML or JSON (docs/train-config.md), "
           "DeepSpeed, Hugging Face, Accelerate, Megatron-LM, Lightning, torchtitan, torchao. Options "
           "override it">;
defm optimizer : Valued<"optimizer">, Group<trained>, InTraining,
  MetaVarName<"NAME[,lr=,eps=,betas=...]">,
  HelpText<"sgd, adam, adamw, adafactor, lion, lamb, rmsprop or adagrad; "
           "momentum=, weight_decay=, state=TYPE, master=yes|no">;
defm lr : Valued<"lr">, Group<trained>, InTraining, MetaVarName<"LR">,
  HelpText<"the learning rate: lr= of --optimizer (adamw if nothing names one)">;
defm scaler : Valued<"scaler">, Group<trained>, InTraining,
  MetaVarName<"none|dynamic|N">,
  HelpText<"the loss scale; initial=, growth=, backoff=, interval=, "
           "hysteresis=, min=">;
defm batch : Valued<"batch">, Group<trained>, InTraining,
  MetaVarName<"MICRO[,accumulate=K,world=N]">,
  HelpText<"samples of a pass, passes of a step, workers">;
defm reduce : Valued<"reduce">, Group<trained>, InTraining,
  MetaVarName<"f32|f16|bf16">,
  HelpText<"the type in which workers' gradients are summed; predivide=F|auto, "
           "after or before: when the sum is divided">;
defm clip : Valued<"clip">, Group<trained>, InTraining, MetaVarName<"NORM">,
  HelpText<"the maximum norm of the gradient (clip_grad_norm_)">;
def memory : Switch<"memory">, Group<trained>, InDumping,
  HelpText<"what a rank holds and sends: bytes of parameters, gradients, "
           "optimizer state and activations, by how they are sharded; "
           "--memory=24GiB: what makes it fit into that">;
def memory_size : Joined<["--", "-"], "memory=">, Group<trained>, InDumping,
  Flags<[HelpHidden]>, MetaVarName<"SIZE">,
  HelpText<"the memory of a rank, into which the step is to fit">;
defm dump_gradients : Valued<"dump-gradients">, Group<trained>, InDumping,
  MetaVarName<"FILE">,
  HelpText<"what is expected of every gradient, as JSON">;

//===----------------------------------------------------------------------===//
// Probes
//===----------------------------------------------------------------------===//

defm probe : Valued<"probe">, Group<probed>, Visibility<[InInstrument]>,
  MetaVarName<"WHICH">,
  HelpText<"findings (default: what findings are about, and what is not proved "
           "finite), all, or a regular expression on names of tensors and "
           "ops">;
defm probe_with : Valued<"probe-with">, Group<probed>,
  Visibility<[InInstrument]>, MetaVarName<"HOW">, Values<"op,outputs">,
  HelpText<"a custom op (default), or standard ops whose results become "
           "outputs">;
defm ledger : Valued<"ledger">, Group<probed>,
  Visibility<[InConfirm, InDiff]>, MetaVarName<"FILE">,
  HelpText<"the ledger that --instrument wrote (--diff of records looks beside "
           "them)">;
defm against : Valued<"against">, Group<probed>,
  Visibility<[InCheck, InConfirm, InDiff]>, Flags<[Repeated]>,
  MetaVarName<"FILE">,
  HelpText<"a record of another run (--diff: those of its ranks), or with "
           "--check the float model or checkpoint before quantisation">;
defm against_ledger : Valued<"against-ledger">, Group<probed>,
  Visibility<[InConfirm, InDiff]>, MetaVarName<"FILE">,
  HelpText<"the ledger of that run (default: that of --ledger)">;
defm noise : Valued<"noise">, Group<probed>,
  Visibility<[InDiff]>, MetaVarName<"RUN.mprec">,
  HelpText<"a record of the first training with another seed, which shows what "
           "is noise">;

//===----------------------------------------------------------------------===//
// In general
//===----------------------------------------------------------------------===//

defm config : Valued<"config">, Group<general>,
  Visibility<[InCheck, InInstrument]>, MetaVarName<"FILE|none">,
  HelpText<"a project's settings and suppressions (default: mpopt.toml, or "
           "[tool.mpopt] of pyproject.toml, in the model's folder or the nearest "
           "above)">;
defm color : Valued<"color">, Group<general>, MetaVarName<"WHEN">,
  Values<"auto,always,never">,
  HelpText<"colours (default auto: on a terminal)">;
def quiet : Switch<"quiet">, Group<general>,
  HelpText<"no warnings, no progress; a text report only if --fail-on does">;
def q : Switch<"q">, Alias<quiet>;
def help : Switch<"help">, Group<general>, MetaVarName<"[TOPIC]">,
  HelpText<"this text, or a part of it: a section (judged, assumed, counted, "
           "written, converted, trained, probed, general), an action (check), "
           "an option (precision), or exit: the exit status">;
def h : Switch<"h">, Alias<help>;
def version : Switch<"version">, Group<general>, HelpText<"mpopt's version">;

// For tests: fixes are tried on all of the model, not only on what they reach.
def whole_trials : Switch<"whole-trials">, InDumping, Flags<[HelpHidden]>;
