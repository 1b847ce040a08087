//===- TrainingFacts.cpp - How a model is trained, for rules
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Hazards/TrainingFacts.h"

#include "mpopt/Dialect/Settings.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mpopt;

/// GradScaler's first scale.
static constexpr double kUsualScale = 65536;

/// Names of TrainingStep's enumerators, in their order.
static constexpr StringLiteral kScalers[] = {"none", "dynamic", "fixed"};
static constexpr StringLiteral kShardings[] = {"none", "zero", "fsdp"};

//===----------------------------------------------------------------------===//
// One field
//===----------------------------------------------------------------------===//

namespace {
/// Sets fields from a dictionary's entries.
struct Reader {
  DictionaryAttr from;

  void operator()(StringRef key, std::optional<double> &field) const {
    if (auto its = from.getAs<FloatAttr>(key))
      field = its.getValueAsDouble();
  }
  void operator()(StringRef key, std::optional<int64_t> &field) const {
    if (auto its = from.getAs<IntegerAttr>(key))
      field = its.getInt();
  }
  void operator()(StringRef key, std::optional<bool> &field) const {
    if (auto its = from.getAs<BoolAttr>(key))
      field = its.getValue();
  }
  void operator()(StringRef key, bool &field) const {
    if (auto its = from.getAs<BoolAttr>(key))
      field = its.getValue();
  }
  void operator()(StringRef key, std::string &field) const {
    if (auto its = from.getAs<StringAttr>(key))
      field = its.getValue().str();
  }
  void operator()(StringRef key, Type &field) const {
    if (auto its = from.getAs<TypeAttr>(key))
      field = its.getValue();
  }
  template <typename Enum>
  void operator()(StringRef key, std::optional<Enum> &field,
                  ArrayRef<StringLiteral> words) const {
    auto its = from.getAs<StringAttr>(key);
    const auto *word = its ? llvm::find(words, its.getValue()) : words.end();
    if (word != words.end())
      field = Enum(word - words.begin());
  }
};

/// Makes entries of a dictionary of the fields that have a value.
struct Writer {
  Builder builder;
  SmallVector<NamedAttribute> &entries;

  void add(StringRef key, Attribute value) const {
    entries.push_back(
        NamedAttribute(StringAttr::get(value.getContext(), key), value));
  }
  void operator()(StringRef key, const std::optional<double> &field) {
    if (field)
      add(key, builder.getF64FloatAttr(*field));
  }
  void operator()(StringRef key, const std::optional<int64_t> &field) {
    if (field)
      add(key, builder.getI64IntegerAttr(*field));
  }
  void operator()(StringRef key, const std::optional<bool> &field) {
    if (field)
      add(key, builder.getBoolAttr(*field));
  }
  void operator()(StringRef key, const bool &field) {
    if (field)
      add(key, builder.getBoolAttr(true));
  }
  void operator()(StringRef key, const std::string &field) {
    if (!field.empty())
      add(key, builder.getStringAttr(field));
  }
  void operator()(StringRef key, const Type &field) {
    if (field)
      add(key, TypeAttr::get(field));
  }
  template <typename Enum>
  void operator()(StringRef key, const std::optional<Enum> &field,
                  ArrayRef<StringLiteral> words) {
    if (field)
      add(key, builder.getStringAttr(words[size_t(*field)]));
  }
};
} // namespace

/// The key of each field.
template <typename Facts, typename Visitor>
static void visitFields(Facts &facts, Visitor visit) {
  visit("optimizer", facts.optimizer.name);
  visit("lr", facts.optimizer.learningRate);
  visit("eps", facts.optimizer.epsilon);
  visit("beta1", facts.optimizer.beta1);
  visit("beta2", facts.optimizer.beta2);
  visit("momentum_factor", facts.optimizer.momentum);
  visit("weight_decay", facts.optimizer.weightDecay);
  visit("state", facts.optimizer.state);
  visit("master", facts.optimizer.master);
  visit("scaler", facts.scaler.mode, kScalers);
  visit("scale", facts.scaler.initial);
  visit("growth", facts.scaler.growth);
  visit("backoff", facts.scaler.backoff);
  visit("interval", facts.scaler.interval);
  visit("hysteresis", facts.scaler.hysteresis);
  visit("least_scale", facts.scaler.minimum);
  visit("micro", facts.batch.micro);
  visit("accumulate", facts.batch.accumulate);
  visit("world", facts.batch.world);
  visit("reduce", facts.reduce.type);
  visit("sum_passes", facts.reduce.accumulate);
  visit("predivide", facts.reduce.predivide);
  visit("predivide_auto", facts.reduce.predivideAuto);
  visit("divides_after", facts.reduce.dividesAfter);
  visit("clip_norm", facts.clip);
  visit("sharding", facts.sharding.mode, kShardings);
  visit("stage", facts.sharding.stage);
  visit("shard_parameters", facts.sharding.parameters);
  visit("shard_reduce", facts.sharding.reduce);
  visit("shard_buffers", facts.sharding.buffers);
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

TrainingFacts TrainingFacts::of(Operation *module) {
  TrainingFacts facts;
  module->walk([&](FunctionOpInterface function) {
    auto declared = function->getAttrOfType<DictionaryAttr>(kTrainingStepAttr);
    if (!declared)
      return WalkResult::advance();
    visitFields(facts, Reader{declared});
    return WalkResult::interrupt();
  });
  return facts;
}

DictionaryAttr TrainingFacts::toAttribute(MLIRContext *context) const {
  SmallVector<NamedAttribute> entries;
  visitFields(*this, Writer{Builder(context), entries});
  return DictionaryAttr::get(context, entries);
}

LossScaler TrainingFacts::getScaler(bool inF16) const {
  LossScaler result;
  result.isDefault = !scaler.mode;
  result.mode =
      scaler.mode.value_or(inF16 ? ScalerMode::Dynamic : ScalerMode::None);
  if (result.mode == ScalerMode::None)
    return result;
  result.isDefaultInitial = !scaler.initial;
  result.initial = scaler.initial.value_or(kUsualScale);
  result.growth = scaler.growth.value_or(result.growth);
  result.backoff = scaler.backoff.value_or(result.backoff);
  result.interval = scaler.interval.value_or(result.interval);
  result.hysteresis = scaler.hysteresis.value_or(result.hysteresis);
  result.minimum = scaler.minimum.value_or(result.minimum);
  return result;
}

bool mpopt::isTrained(Operation *op) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  return function && function->hasAttr(kTrainingStepAttr);
}
