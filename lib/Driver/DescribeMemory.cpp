//===- DescribeMemory.cpp - Bytes of a training step
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Driver/DescribeMemory.h"

#include "mpopt/Adjoint/SavedTensors.h"
#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Report/Fold.h"
#include "mpopt/Train/MemoryFit.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <map>

using namespace mlir;
using namespace mpopt;

static std::optional<TrainType> toTrainType(Type type) {
  if (type.isF64())
    return TrainType::F64;
  if (type.isF32())
    return TrainType::F32;
  if (type.isF16())
    return TrainType::F16;
  return type.isBF16() ? std::optional(TrainType::BF16) : std::nullopt;
}

/// The constant's elements in bytes, in the type in which a precision stores
/// it.
static double getStoredBytes(mp::ConstantOp constant) {
  Value value = constant.getResult();
  if (value.hasOneUse() && storesConstant(*value.user_begin()))
    value = (*value.user_begin())->getResult(0);
  std::optional<int64_t> count = getNumElements(getShape(value));
  Type type = getElementType(value);
  if (!count || !type.isIntOrFloat())
    return 0;
  return double(*count) * type.getIntOrFloatBitWidth() / 8;
}

namespace {
class MemoryDescription {
public:
  MemoryDescription(func::FuncOp function, ArrayRef<std::string> parameters,
                    const TrainConfig &config)
      : function(function), block(function.getBody().front()), config(config) {
    learned.insert_range(parameters);
  }

  MemoryReport take(ArrayRef<OpReads> reads);

private:
  void addWeights();
  void addSchemes();
  double findBatch();
  void addActivations(ArrayRef<OpReads> reads, double batch);
  void addFit(const SavedTensors &saved, double batch);
  std::optional<Checkpoints> checkpoint(const SavedTensors &saved,
                                        double batch);
  void listSaved(const SavedTensors &saved, double batch);

  func::FuncOp function;
  mlir::Block &block;
  const TrainConfig &config;
  llvm::StringSet<> learned;
  std::vector<ParameterShape> shapes;
  MemoryReport report;
};
} // namespace

/// Parameters as autograd has them: of what is stored in 16 bits the stored
/// one.
void MemoryDescription::addWeights() {
  for (auto constant : block.getOps<mp::ConstantOp>()) {
    if (constant->hasAttr(kBackwardAttr) || constant->hasAttr(kLossPartAttr))
      continue;
    StringRef name = getValueName(constant.getResult());
    Value value = constant.getResult();
    if (value.hasOneUse() && storesConstant(*value.user_begin()))
      value = (*value.user_begin())->getResult(0);
    MaybeShape shape = getShape(value);
    std::optional<TrainType> type = toTrainType(getElementType(value));
    if (!learned.contains(name) || !shape || !type) {
      report.constants += getStoredBytes(constant);
      continue;
    }
    shapes.push_back(
        {{shape->begin(), shape->end()}, *type, getBlockName(name)});
  }
}

void MemoryDescription::addSchemes() {
  report.ranks = config.batch.world.value_or(1);
  report.passes = config.batch.accumulate.value_or(1);
  report.optimizer = config.optimizer.name.value_or("");
  report.checkpoints = config.sharding.checkpointing.value_or(false);
  for (ShardingScheme scheme : kShardingSchemes) {
    SchemeMemory memory = computeMemory(scheme, shapes, config);
    if (config.sharding.kind && scheme == getScheme(config))
      report.chosen = report.schemes.size();
    report.schemes.push_back({mpopt::toString(scheme).str(), memory.parameters,
                              memory.gathered, memory.masters, memory.gradients,
                              memory.state, memory.sent});
  }
}

/// How many times as many samples a pass has as the model's shapes.
double MemoryDescription::findBatch() {
  std::optional<int64_t> shaped;
  if (function.getNumArguments())
    if (MaybeShape shape = getShape(function.getArgument(0));
        shape && !shape->empty() && shape->front() > 0)
      shaped = shape->front();
  report.samples = config.batch.micro.value_or(shaped.value_or(0));
  if (!shaped || report.samples == *shaped)
    return 1;
  report.shapedFor = shaped;
  return double(report.samples) / double(*shaped);
}

static std::string nameOf(const SavedTensor &tensor) {
  if (std::string name = getTensorName(tensor.value); !name.empty())
    return name;
  Operation *maker = tensor.value.getDefiningOp();
  return maker ? getOpName(maker)
               : getInputName(cast<BlockArgument>(tensor.value));
}

void MemoryDescription::listSaved(const SavedTensors &saved, double batch) {
  llvm::MapVector<std::string, SavedReport, llvm::StringMap<unsigned>> groups;
  for (const SavedTensor &tensor : saved.tensors) {
    if (!tensor.bytes)
      continue;
    std::string name = nameOf(tensor);
    std::string dtype = getDtypeName(tensor.elementType);
    std::string key =
        foldDigits(name) + " " + dtype + (tensor.isValue ? "" : " beside");
    SavedReport &group = groups[key];
    if (group.count++ == 0) {
      group.name = name;
      group.dtype = dtype;
      group.isTensor = tensor.isValue;
    } else if (group.name != name) {
      group.name = foldDigits(name);
    }
    group.bytes += double(*tensor.bytes) * (tensor.followsInput ? batch : 1);
  }
  for (auto &[key, group] : groups)
    report.saved.push_back(std::move(group));
  llvm::sort(report.saved, [](const SavedReport &lhs, const SavedReport &rhs) {
    return lhs.bytes != rhs.bytes ? lhs.bytes > rhs.bytes : lhs.name < rhs.name;
  });
}

std::optional<Checkpoints>
MemoryDescription::checkpoint(const SavedTensors &saved, double batch) {
  auto parameterName = [&](Value value) {
    StringRef name = value.getDefiningOp<mp::ConstantOp>() ? getValueName(value)
                                                           : StringRef();
    return learned.contains(name) ? name : StringRef();
  };
  return findCheckpoints(block, saved, batch, parameterName);
}

/// Bytes at no sample and at one, of a function that is linear in the samples.
static ActivationBytes makeLinear(llvm::function_ref<double(double)> bytes,
                                  double batchOfSample) {
  double fixed = bytes(0);
  return {fixed, bytes(batchOfSample) - fixed};
}

void MemoryDescription::addFit(const SavedTensors &saved, double batch) {
  if (!config.rankMemory)
    return;
  double batchOfSample = report.samples ? batch / double(report.samples) : 1;
  StepMemory step{shapes, config, report.constants};
  step.samples = std::max<int64_t>(report.samples, 1);
  step.saved =
      makeLinear([&](double b) { return saved.bytes(b); }, batchOfSample);
  if (checkpoint(saved, batch))
    step.checkpointed = makeLinear(
        [&](double b) { return checkpoint(saved, b)->peak; }, batchOfSample);
  MemoryFit fit = fitMemory(step, *config.rankMemory);
  report.fit = {fit.budget,  fit.needed, std::move(fit.changes),
                fit.changed, fit.most,   fit.mostCheckpointed};
}

void MemoryDescription::addActivations(ArrayRef<OpReads> reads, double batch) {
  SavedTensors saved = findSavedTensors(block, reads);
  report.activations = saved.bytes(batch);
  report.unknown = saved.unknown();
  for (const SavedTensor &tensor : saved.tensors)
    if (!tensor.followsInput && tensor.value.getDefiningOp<mp::CastOp>())
      report.weightCasts += double(tensor.bytes.value_or(0));
  listSaved(saved, batch);
  addFit(saved, batch);
  std::optional<Checkpoints> checkpoints = checkpoint(saved, batch);
  if (!checkpoints)
    return;
  report.checkpointed = {
      unsigned(checkpoints->blocks.size()), checkpoints->blocks.front().name,
      checkpoints->blocks.back().name, checkpoints->kept, checkpoints->peak};
}

MemoryReport MemoryDescription::take(ArrayRef<OpReads> reads) {
  addWeights();
  addSchemes();
  addActivations(reads, findBatch());
  return std::move(report);
}

MemoryReport mpopt::describeMemory(func::FuncOp function,
                                   ArrayRef<OpReads> reads,
                                   ArrayRef<std::string> parameters,
                                   const TrainConfig &config) {
  return MemoryDescription(function, parameters, config).take(reads);
}

std::vector<OpReads> mpopt::findOwnReads(func::FuncOp function) {
  std::vector<OpReads> reads;
  for (Operation &op : function.getBody().front()) {
    if (!op.hasAttr(kBackwardAttr) || isa<mp::ShapeOp, mp::SizeOp>(op))
      continue;
    OpReads read{&op, {}, {}};
    for (Value operand : op.getOperands())
      if (Operation *maker = operand.getDefiningOp();
          !maker || !maker->hasAttr(kBackwardAttr))
        read.values.push_back(operand);
    if (!read.values.empty())
      reads.push_back(std::move(read));
  }
  return reads;
}
