//===- Torchtitan.cpp - torchtitan's TOML, torchao's JSON ===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//
// torchtitan/config/job_config.py and torchtitan/components/quantization/
// float8.py; torchao/float8/config.py.

#include "Fp8Reader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;
using namespace mpopt;

namespace {
/// `cast_config_OPERAND`: type and grain, by hand in the place of a recipe.
struct CastSetting {
  bool isOff = false, isRow = false;
  std::optional<TrainType> type;
};
} // namespace

static CastSetting readCast(const Section &top, StringRef key,
                            CastSetting setting = {}) {
  Section cast = top.section(key);
  if (!cast)
    return setting;
  setting.isOff = cast.word("scaling_type").value_or("dynamic") == "disabled";
  setting.isRow =
      cast.word("scaling_granularity").value_or("tensorwise") == "axiswise";
  if (std::optional<TrainType> type = cast.type("target_dtype"))
    setting.type = type;
  return setting;
}

/// Settings of torchao's Float8LinearConfig that are given one by one.
static void readCasts(const Section &top, TrainFp8 &fp8) {
  // The settings of each operand in its first product, and in its second.
  constexpr StringLiteral kKeys[] = {"cast_config_input", "cast_config_weight",
                                     "cast_config_grad_output"};
  constexpr StringLiteral kOthers[] = {
      "cast_config_input_for_grad_weight", "cast_config_weight_for_grad_input",
      "cast_config_grad_output_for_grad_weight"};
  CastSetting first[3], second[3];
  for (int i = 0; i < 3; ++i) {
    first[i] = readCast(top, kKeys[i]);
    second[i] = readCast(top, kOthers[i], first[i]);
    if (first[i].type != second[i].type)
      top.blame(kRefused, kOthers[i],
                "has another target_dtype than " + kKeys[i] +
                    ": an operand has one in both of its products");
    if (first[i].type == TrainType::F8E5M2 && i < 2)
      top.blame(kScaling, kKeys[i],
                "is E5M2: two bits of a number on the way forward");
  }
  const struct {
    StringLiteral key;
    bool isWrong;
    StringLiteral product;
  } products[] = {
      {kKeys[0], first[0].isOff != first[1].isOff, "the output"},
      {kKeys[2], first[2].isOff != second[1].isOff, "the input's gradient"},
      {kOthers[0], second[0].isOff != second[2].isOff,
       "the weight's gradient"}};
  for (const auto &product : products)
    if (product.isWrong)
      top.blame(kRefused, top.has(product.key) ? product.key : kKeys[2],
                "leaves one operand of " + product.product +
                    " in high precision and the other in FP8, which is "
                    "refused");
  if (!top.has("recipe_name") && first[1].isRow)
    fp8.setRecipe(second[0].isOff ? "rowwise_gw_hp" : "rowwise");
  if (top.section("gemm_config_grad_weight").truth("use_fast_accum") == true)
    fp8.addsOnce = top.keyOf("gemm_config_grad_weight");
}

/// Settings of torchao that torchtitan has, too.
static void readFloat8(ConfigReader &reader, const Section &float8) {
  TrainFp8 &fp8 = reader.config.fp8;
  std::string recipe = float8.word("recipe_name").value_or("tensorwise");
  // Float8LinearRecipeName's.
  auto own = StringSwitch<StringRef>(recipe)
                 .Case("tensorwise", "current")
                 .Case("rowwise", "rowwise")
                 .Case("rowwise_with_gw_hp", "rowwise_gw_hp")
                 .StartsWith("mxfp8", "mxfp8")
                 .Default("");
  fp8.setRecipe(own.empty() ? StringRef("current") : own);
  fp8.isTorchao = true;
  if (own.empty())
    float8.blame(kRefused, "recipe_name",
                 "is " + shown(recipe) +
                     ", none of tensorwise, rowwise, rowwise_with_gw_hp");
  readCasts(float8, fp8);
  bool isRow = fp8.recipe && StringRef(fp8.recipe->name).starts_with("rowwise");
  if (isRow && float8.truth("enable_fsdp_float8_all_gather") == true)
    float8.blame(kRefused, "enable_fsdp_float8_all_gather",
                 "is refused with scales of rows (" + fp8.recipe->name +
                     "): shards know no row's amax");
  StringRef precompute = "precompute_float8_dynamic_scale_for_fsdp";
  if (float8.truth(precompute) == true &&
      float8.truth("enable_fsdp_float8_all_gather") != true)
    float8.blame(kRefused, precompute,
                 "has no effect without enable_fsdp_float8_all_gather: shards "
                 "are gathered in high precision");
  if (float8.truth("emulate") == true ||
      StringRef(recipe).ends_with("emulated"))
    float8.blame(kRefused, float8.has("emulate") ? "emulate" : "recipe_name",
                 "computes in high precision, for tests: nothing is faster");
  fp8.misfits = float8.truth("pad_inner_dim") == true
                    ? TrainFp8::Misfits::Padded
                    : TrainFp8::Misfits::PassedOver;
  fp8.filters =
      float8.words("filter_fqns").value_or(std::vector<std::string>());
  fp8.filtersBy = float8.keyOf("filter_fqns");
  bool isAuto = llvm::any_of(fp8.filters, [](StringRef filter) {
    return filter.starts_with("auto_filter");
  });
  if (isAuto && recipe == "rowwise_with_gw_hp")
    float8.blame(kRefused, "filter_fqns",
                 "has the automatic filter, which knows no " + recipe);
  float8.ignore({"force_recompute_fp8_weight_in_bwd", "moe_fqns_prototype",
                 "round_scales_to_power_of_2"});
}

void mpopt::readTorchao(ConfigReader &reader, const Section &top) {
  readFloat8(reader, top);
  reader.config.fp8.by = top.keyOf("recipe_name");
}

/// The converter to FP8 that the model lists, with its settings.
static void readConverter(ConfigReader &reader, const Section &top,
                          TrainType type) {
  // Later versions have it two tables deeper.
  bool isDeep = top.has("quantize");
  Section around = isDeep ? top.section("quantize").section("linear") : top;
  StringRef kind = around.has("mx") ? "mx" : "float8";
  std::string name8 = ((isDeep ? "quantize.linear." : "") + kind).str();
  Section float8 = around.section(kind);
  std::vector<std::string> converters =
      top.section("model")
          .words("converters")
          .value_or(std::vector<std::string>());
  if (llvm::is_contained(converters, "mx") &&
      llvm::is_contained(converters, "float8"))
    top.section("model").blame(kRefused, "converters",
                               "has float8 and mx: layers that one has "
                               "converted are none for the other");
  if (!llvm::is_contained(converters, name8)) {
    if (float8)
      top.blame(kRefused, isDeep ? "quantize" : kind,
                "has no effect: model.converters does not list " + name8);
    return;
  }
  readFloat8(reader, float8);
  reader.config.fp8.by = top.section("model").keyOf("converters");
  if (type == TrainType::F32)
    top.section("training")
        .blame("fp8-without-bf16", "mixed_precision_param",
               "leaves all that is not a product of a linear layer in "
               "FP32, and nothing of it is faster");
}

void mpopt::readTorchtitan(ConfigReader &reader, const Section &top) {
  TrainConfig &config = reader.config;
  Section training = top.section("training"),
          optimizer = top.section("optimizer");
  config.batch.micro = training.integer("local_batch_size", 1);
  if (!config.batch.micro)
    config.batch.micro = training.integer("batch_size", 1);
  config.batch.total = training.integer("global_batch_size", -1);
  if (config.batch.total && *config.batch.total < 1)
    config.batch.total.reset();
  config.clip = training.number("max_norm", Numbers::NotNegative).value_or(1);
  std::string name = optimizer.word("name").value_or("AdamW");
  if (!setOptimizer(name, config.optimizer))
    optimizer.warn("name", "'" + shown(name) +
                               "' is not an optimizer that is "
                               "known");
  config.optimizer.learningRate = optimizer.number("lr", Numbers::NotNegative);
  config.optimizer.epsilon = optimizer.number("eps", Numbers::NotNegative);
  config.optimizer.beta1 = optimizer.number("beta1", Numbers::Fraction);
  config.optimizer.beta2 = optimizer.number("beta2", Numbers::Fraction);
  config.optimizer.weightDecay =
      optimizer.number("weight_decay", Numbers::NotNegative);
  fillTorchOptimizer(config.optimizer);
  // FSDP casts parameters; gradients are reduced in FP32 unless it is said.
  TrainType type =
      training.type("mixed_precision_param").value_or(TrainType::BF16);
  config.precision = type == TrainType::BF16  ? "autocast-bf16"
                     : type == TrainType::F16 ? "autocast-fp16"
                                              : "fp32";
  config.scaler.kind = ScalerKind::None;
  config.reduce.type =
      training.type("mixed_precision_reduce").value_or(TrainType::F32);
  readConverter(reader, top, type);
}
