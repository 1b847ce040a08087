//===- TrainRequest.cpp - What mpopt --train is asked
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Driver/TrainRequest.h"

#include "mpopt/Driver/OptionValues.h"
#include "mpopt/Numerics/Infinity.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"

#include <algorithm>
#include <cmath>

using namespace mpopt;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

static Error fail(const Twine &text) {
  return llvm::createStringError(text.str());
}

static bool isFile(StringRef kind) {
  return kind.ends_with(".onnx") || kind.ends_with(".mlir");
}

bool mpopt::isFp8Training(StringRef precision) {
  return precision.consume_front("fp8") &&
         (precision.empty() || precision.starts_with(":"));
}

Error mpopt::setFp8Recipe(std::string &precision, TrainConfig &config) {
  if (!isFp8Training(precision))
    return Error::success();
  std::string name = StringRef(precision).split(':').second.str();
  llvm::replace(name, '-', '_');
  TrainFp8 &fp8 = config.fp8;
  if (!name.empty() || precision.ends_with(":"))
    fp8.setRecipe(name);
  else if (!fp8.recipe)
    fp8.setRecipe("current");
  if (!fp8.recipe) {
    std::vector<std::string> names;
    for (const Fp8Recipe &recipe : Fp8Recipe::all())
      names.push_back(recipe.name.str());
    return fail("--precision: '" + precision +
                "' is not fp8 or fp8:RECIPE of " + llvm::join(names, ", "));
  }
  if (fp8.by.key.empty())
    fp8.by.key = "--precision";
  precision = "autocast-bf16";
  return Error::success();
}

bool mpopt::isLossFile(const TrainLossTerm &term) { return isFile(term.kind); }

Expected<TrainLossTerm> mpopt::parseLoss(StringRef text) {
  TrainLossTerm into;
  auto [file, weight] = text.rsplit(":weight=");
  if (isFile(file)) {
    into.kind = file.str();
    if (file.size() == text.size())
      return into;
    into.weight = parseNumber(weight);
    if (!into.weight || std::isinf(*into.weight))
      return fail("--loss: weight '" + weight + "' is not a number");
    return into;
  }
  Expected<LossTerm> term = parseLossTerm(text);
  if (!term)
    return fail("--loss: " + llvm::toString(term.takeError()));
  into.kind = getLossKindInfo(term->kind).name.str();
  if (!term->predictions.empty())
    into.prediction = llvm::join(term->predictions, ",");
  if (!term->target.empty())
    into.target = term->target;
  into.weight = term->weight;
  if (term->reduction)
    into.reduction = getLossReductionName(*term->reduction).str();
  into.ignore = term->ignoreIndex;
  into.classAxis = term->classAxis;
  if (term->lastPosition)
    into.positions = "last";
  into.margin = term->margin;
  into.labelSmoothing = term->labelSmoothing;
  into.beta = term->beta;
  into.delta = term->delta;
  into.gamma = term->gamma;
  into.alpha = term->alpha;
  into.shareCounted = term->shareCounted;
  return into;
}

Expected<LossTerm> mpopt::makeLossTerm(const TrainLossTerm &term) {
  LossTerm into;
  into.weight = term.weight.value_or(1);
  if (isLossFile(term)) {
    if (term.reduction || term.ignore || term.classAxis || term.margin)
      return fail("loss '" + term.kind + "': a file takes a weight only");
    into.kind = LossKind::Graph;
    into.file = term.kind;
    return into;
  }
  std::optional<LossKind> kind = findLossKind(term.kind);
  if (!kind)
    return fail("loss '" + term.kind +
                "' cannot be attached: give --loss FILE.onnx, or check the "
                "graph that holds the loss with --loss sum:loss");
  into.kind = *kind;
  const LossKindInfo &info = getLossKindInfo(*kind);
  if (term.diagonal == false)
    return fail("loss '" + term.kind +
                "' has the right answers on the diagonal, and diagonal is "
                "false");
  if (term.prediction) {
    llvm::SmallVector<StringRef> names;
    if (info.predictions > 1)
      StringRef(*term.prediction).split(names, ',');
    else
      names.push_back(*term.prediction);
    if (names.size() != info.predictions)
      return fail("loss '" + term.kind + "' takes " + Twine(info.predictions) +
                  " predictions, not '" + *term.prediction + "'");
    for (StringRef name : names)
      into.predictions.push_back(name.trim().str());
  }
  into.target = term.target.value_or("");
  // A loss by itself has no other one.
  bool reduces = *kind == LossKind::Sum || *kind == LossKind::Mean;
  if (term.reduction && !reduces) {
    into.reduction = findLossReduction(*term.reduction);
    if (!into.reduction)
      return fail("loss '" + term.kind + "': reduction '" + *term.reduction +
                  "' is not known");
  }
  into.ignoreIndex = term.ignore;
  into.classAxis = term.classAxis;
  into.lastPosition = term.positions == "last";
  into.margin = term.margin;
  into.labelSmoothing = term.labelSmoothing.value_or(0);
  into.beta = term.beta;
  into.delta = term.delta;
  into.gamma = term.gamma;
  into.alpha = term.alpha;
  into.shareCounted = term.shareCounted;
  return into;
}

/// The path of a file that a configuration names beside itself.
static std::string resolve(StringRef file, StringRef config) {
  if (llvm::sys::path::is_absolute(file))
    return file.str();
  llvm::SmallString<128> path = llvm::sys::path::parent_path(config);
  llvm::sys::path::append(path, file);
  return path.str().str();
}

Expected<TrainConfig> mpopt::makeTrainConfig(const TrainTexts &texts) {
  Expected<TrainConfig> said = parseTrainOptions(texts.lists);
  if (!said)
    return said;
  for (StringRef text : texts.losses) {
    Expected<TrainLossTerm> term = parseLoss(text);
    if (!term)
      return term.takeError();
    said->lossTerms.push_back(std::move(*term));
  }
  TrainConfig config;
  if (!texts.config.empty()) {
    Expected<TrainConfig> read = readTrainConfig(texts.config);
    if (!read)
      return fail("--train-config: " + llvm::toString(read.takeError()));
    config = std::move(*read);
    for (TrainLossTerm &term : config.lossTerms)
      if (isLossFile(term))
        term.kind = resolve(term.kind, texts.config);
  }
  if (Error error = overrideTrainConfig(config, std::move(*said)))
    return std::move(error);
  return config;
}

/// Joins the parts that are known: `lr 0.0003, eps 1e-08`.
static std::string listNumbers(
    std::string text,
    llvm::ArrayRef<std::pair<StringRef, std::optional<double>>> numbers) {
  for (auto [name, number] : numbers)
    if (number) {
      text += text.empty() ? "" : ", ";
      llvm::raw_string_ostream(text) << name << llvm::format("%g", *number);
    }
  return text;
}

static std::string describeScaler(const TrainScaler &scaler) {
  StringRef kind = !scaler.kind                          ? ""
                   : *scaler.kind == ScalerKind::None    ? "none"
                   : *scaler.kind == ScalerKind::Dynamic ? "dynamic"
                                                         : "static";
  return listNumbers(kind.str(), {{"initial ", scaler.initial},
                                  {"growth ", scaler.growth},
                                  {"backoff ", scaler.backoff},
                                  {"interval ", scaler.interval}});
}

static std::string describeOptimizer(const TrainOptimizer &optimizer) {
  return listNumbers(optimizer.name.value_or(""),
                     {{"lr ", optimizer.learningRate},
                      {"eps ", optimizer.epsilon},
                      {"betas ", optimizer.beta1},
                      {"", optimizer.beta2},
                      {"momentum ", optimizer.momentum},
                      {"weight_decay ", optimizer.weightDecay}});
}

std::vector<StepSetting> mpopt::describeSettings(const TrainConfig &config,
                                                 const TrainTexts &texts) {
  std::vector<StepSetting> settings;
  auto add = [&](StringRef name, std::string value, bool isGiven) {
    if (value.empty())
      return;
    // An option changes parts of what the file says.
    std::string source = texts.config;
    if (isGiven)
      source = source.empty() ? "options" : "options over " + source;
    settings.push_back({name.str(), std::move(value), std::move(source)});
  };
  const TrainOptionTexts &lists = texts.lists;
  const TrainBatch &batch = config.batch;
  add("optimizer", describeOptimizer(config.optimizer),
      lists.optimizer.has_value());
  add("batch",
      listNumbers("", {{"", batch.micro},
                       {"accumulate ", batch.accumulate},
                       {"world ", batch.world}}),
      lists.batch.has_value());
  add("clipping", listNumbers("", {{"", config.clip}}), lists.clip.has_value());
  add("scaler", describeScaler(config.scaler), lists.scaler.has_value());
  if (config.reduce.type)
    add("reduce", toString(*config.reduce.type).str(),
        lists.reduce.has_value());
  return settings;
}

static InputRange makeRange(const TrainValues &values) {
  InputRange range;
  range.fromConfig = true;
  range.zipf = values.zipf;
  if (values.lo || values.hi)
    range.bound =
        Interval{values.lo.value_or(-kInfinity), values.hi.value_or(kInfinity)};
  if (!values.mean && !values.std)
    return range;
  // A bound supplies the moment that the declaration leaves out.
  bool bounded = values.lo && values.hi;
  double lo = values.lo.value_or(0), hi = values.hi.value_or(0);
  range.mean = values.mean.value_or(bounded ? lo / 2 + hi / 2 : 0);
  range.std =
      values.std.value_or(bounded ? (hi / 2 - lo / 2) / std::sqrt(3.0) : 1);
  return range;
}

void mpopt::addDeclaredValues(const TrainConfig &config,
                              std::map<std::string, InputRange> &inputs) {
  for (const std::vector<TrainValues> *list : {&config.inputs, &config.targets})
    for (const TrainValues &values : *list)
      inputs.try_emplace(values.name, makeRange(values));
}
