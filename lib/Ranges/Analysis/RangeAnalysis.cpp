//===- RangeAnalysis.cpp - The range of every tensor of a module
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A walk in program order: values are defined before they are used, and bodies
// are the business of the ops that have them (`TransferContext::walk`), so no
// fixpoint solver is needed.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Ranges/Analysis/RangeAnalysis.h"

#include "RangeDriver.h"

#include "mpopt/Dialect/Interfaces/Interfaces.h"
#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Ranges/Analysis/Effort.h"
#include "mpopt/Ranges/Analysis/InputRanges.h"
#include "mpopt/Ranges/RangeInterface.h"
#include "mpopt/Ranges/Spread/SpreadInterface.h"
#include "mpopt/Ranges/Value/CellSupport.h"
#include "mpopt/Support/TargetFile.h"
#include "mpopt/Support/WeightStore.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

/// Neither a bound nor an estimate, and it may be NaN.
static bool isTop(const AbstractValue &value) {
  if (value.hasLikely() || !value.nan)
    return false;
  Cell hull = value.hull();
  return std::isinf(hull.lo) && std::isinf(hull.hi);
}

bool RangeAnalysis::Driver::losesTrack(Operation *op) {
  auto isUnknown = [&](Value value) {
    return !isa<IntegerType>(getElementType(value)) && isTop(of(value));
  };
  return llvm::any_of(op->getResults(), isUnknown) &&
         llvm::none_of(op->getOperands(), isUnknown);
}

void RangeAnalysis::Driver::inferElements(Operation *op) {
  auto elements = dyn_cast<ElementInferenceOpInterface>(op);
  if (!elements)
    return;
  for (OpResult result : op->getResults())
    facts.set(result,
              elements.inferElementsOf(result.getResultNumber(), facts));
}

void RangeAnalysis::Driver::visit(Operation *op) {
  if (auto function = dyn_cast<FunctionOpInterface>(op))
    return visitFunction(function);
  if (isa<mp::ConstantOp>(op) || op->hasTrait<OpTrait::IsTerminator>())
    return;
  if (!base || originals)
    inferElements(op);

  Operation *outer = std::exchange(current, op);
  auto transfer = dyn_cast<RangeOpInterface>(op);
  for (Value result : op->getResults())
    forget(result);
  if (transfer)
    transfer.transfer(*this);
  for (Value result : op->getResults())
    if (!transfer || !entries.contains(result))
      setValue(result, anything(result));
  correlate(op);
  useSamples(op);
  if ((!transfer || losesTrack(op)) && counted.insert(op).second)
    unknown.push_back(op);
  current = outer;
  // No reference is held between two ops of a function.
  if (!current)
    limitRounded();
}

/// The correlations of an op's results, and the estimates that depend on them.
/// Those of gradients are the business of GradientAnalysis.
void RangeAnalysis::Driver::correlate(Operation *op) {
  if (op->hasAttr(kBackwardAttr))
    return;
  if (auto transfer = dyn_cast<SpreadOpInterface>(op))
    transfer.transferSpread(*this);
  for (OpResult result : op->getResults())
    if (Entry &entry = get(result); !entry.knowsSpread)
      entry.spread = combineOperands(result);
}

/// Samples tell better than moments of single elements.
void RangeAnalysis::Driver::useSamples(Operation *op) {
  if (op->hasAttr(kBackwardAttr))
    return;
  for (OpResult result : op->getResults()) {
    const samples::Array *array = sampled.evaluate(result);
    if (!array)
      continue;
    Entry &entry = get(result);
    samples::estimate(entry.pre, *array);
    entry.rounded.reset();
    entry.magnitudes.reset();
  }
}

void RangeAnalysis::Driver::giveSpread(unsigned index, Spread spread) {
  Entry &entry = get(current->getResult(index));
  entry.spread = spread;
  entry.knowsSpread = true;
}

/// Bounds stay those of the transfer function; a trained statistic tells better
/// than any estimate that is propagated.
void RangeAnalysis::Driver::give(unsigned index, AbstractValue value,
                                 Spread spread) {
  giveSpread(index, spread);
  Entry &entry = get(current->getResult(index));
  AbstractValue &pre = entry.pre;
  if (!value.hasLikely() || pre.trained)
    return;
  if (value.rank() != pre.rank())
    value = AbstractValue(AbstractValue::Dims(pre.rank(), 1), value.hull());
  // The groups of both, where they are few, or those that the estimate asks
  // for: what is behind has to tell them apart as well.
  AbstractValue::Dims dims(pre.dims());
  for (auto [own, other] : llvm::zip(dims, value.dims()))
    own = std::max(own, other);
  if (value.groups() > limit.joint)
    limit.joint = std::min(mostJoint(), value.groups());
  if (countGroups(dims) > limit.joint && trains) {
    // Positions of other sizes are worth more than the bounds of channels.
    AbstractValue both[] = {pre, value};
    AbstractValue::Dims fewer = broadcastGroups(both, limit);
    if (llvm::any_of(llvm::seq<size_t>(0, fewer.size()), [&](size_t axis) {
          return fewer[axis] != 1 && pre.dims()[axis] == 1 &&
                 mergingCost(value, int64_t(axis)) >= 1;
        }))
      dims = std::move(fewer);
  }
  if (countGroups(dims) <= limit.joint)
    pre = pre.regrouped(dims);
  value = value.regrouped(pre.dims());
  for (auto [cell, estimate] : llvm::zip(pre.mutableCells(), value.cells()))
    if (!cell.empty())
      cells::setLikely(cell,
                       cells::getLikely(estimate).within(cells::bound(cell)));
  pre.source = LikelySource::Propagated;
  entry.rounded.reset();
  entry.magnitudes.reset();
}

void RangeAnalysis::Driver::walk(Region &region) {
  for (Operation &op : region.getOps())
    visit(&op);
}

void RangeAnalysis::Driver::visitArgument(FunctionOpInterface function,
                                          BlockArgument argument) {
  AbstractValue value = inputRange(argument, getAssumption(argument));
  // A description of single elements asks for bounds of single elements.
  bool isJoint =
      llvm::count_if(value.dims(), [](int64_t dim) { return dim != 1; }) > 1;
  if (isJoint || value.groups() > limit.joint)
    limit.joint = limit.most;
  setValue(argument, std::move(value));
  get(argument).spread = spreadOfArgument(argument, sampleCount);
  sampled.declare(argument);
}

void RangeAnalysis::Driver::visitFunction(FunctionOpInterface function) {
  if (function.isExternal())
    return;
  sampleCount = countSamples(function);
  trains = function->hasAttr(kLossAttr);
  for (BlockArgument argument : function.getArguments())
    visitArgument(function, argument);
  walk(function.getFunctionBody());
}

/// Groups and ops together stay under this many cells, so that the time does
/// not depend on how wide the tensors are.
static constexpr size_t kCellBudget = 1 << 23;
static constexpr size_t kMostGroups = 8192, kFewestGroups = 64;

/// The budget of forms, in half nanoseconds: half of the rest of a check, which
/// takes some 10 ms and 50 us an op (`bench/run scaling`).
static constexpr double kCost = 1e7, kCostAnOp = 5e4;
/// How much more high effort may cost: ten times the rest of a check.
static constexpr double kHighEffort = 20;

void RangeAnalysis::Driver::allowRelaxation(double cost, size_t contractions) {
  allowance = cost;
  this->contractions = contractions;
  relaxation.allow(cost);
  relaxation.expect(contractions);
}

void RangeAnalysis::Driver::allowRelaxation(Operation *module) {
  size_t ops = 0, contractions = 0;
  module->walk([&](Operation *op) {
    ++ops;
    contractions += hasRole(op, Role::Contraction);
  });
  double most = kCost + kCostAnOp * double(ops);
  isSplit = module->hasAttr(kHighEffortAttr);
  allowRelaxation(isSplit ? kHighEffort * most : most, contractions);
}

RangeAnalysis::Driver::Driver(Operation *module) {
  size_t ops = 0;
  module->walk([&](Operation *) { ++ops; });
  limit = std::clamp(kCellBudget / (ops + 1), kFewestGroups, kMostGroups);
  if (auto *dialect = module->getContext()->getLoadedDialect<mp::MPDialect>())
    shared.memo = &dialect->getWeights().memo;
  shared.nearly = module->hasAttr(kTrialAttr);
  if (auto low = module->getAttrOfType<TypeAttr>(kLowTypeAttr))
    lowFormat = getFloatFormat(low.getValue());
  profile = getStandardTarget();
  if (auto name = module->getAttrOfType<StringAttr>(kTargetAttr)) {
    llvm::Expected<std::shared_ptr<const TargetProfile>> found =
        findTarget(name);
    // Whoever sets the attribute checks it.
    if (found)
      profile = *found;
    else
      llvm::consumeError(found.takeError());
  }
  allowRelaxation(module);
  for (Region &region : module->getRegions())
    walk(region);
  if (isSplit)
    splitInputs();
}

/// Ops of the function's body that read the argument or what it reaches,
/// themselves or in a body of theirs.
std::vector<Operation *>
RangeAnalysis::Driver::findReached(BlockArgument argument) {
  Block *body = argument.getOwner();
  llvm::DenseSet<Operation *> seen;
  std::vector<Operation *> reached;
  SmallVector<Value> work = {argument};
  while (!work.empty())
    for (Operation *user : work.pop_back_val().getUsers()) {
      Operation *op = body->findAncestorOpInBlock(*user);
      if (!op || !seen.insert(op).second)
        continue;
      reached.push_back(op);
      llvm::append_range(work, op->getResults());
    }
  llvm::sort(reached, [](Operation *lhs, Operation *rhs) {
    return lhs->isBeforeInBlock(rhs);
  });
  return reached;
}

RangeAnalysis::Driver::Driver(Driver &base, BlockArgument argument,
                              AbstractValue value)
    : profile(base.profile), base(&base), limit(base.limit),
      sampleCount(base.sampleCount) {
  allowRelaxation(base.allowance, base.contractions);
  if (base.isSplit)
    relaxation.tryOnce();
  setValue(argument, std::move(value));
  get(argument).spread = base.spread(argument);
  varied = findReached(argument);
  for (Operation *op : varied)
    visit(op);
}

//===----------------------------------------------------------------------===//
// RangeAnalysis
//===----------------------------------------------------------------------===//

RangeAnalysis::RangeAnalysis(Operation *module, AnalysisManager &manager) {
  if (auto reused = manager.getCachedAnalysis<ReusedRanges>()) {
    const auto &[base, change, what] = reused->get();
    driver = std::make_unique<Driver>(*base->driver, *change, what, module);
  } else {
    driver = std::make_unique<Driver>(module);
  }
}

RangeAnalysis::RangeAnalysis(Operation *module)
    : driver(std::make_unique<Driver>(module)) {}
RangeAnalysis::RangeAnalysis(const RangeAnalysis &base, BlockArgument argument,
                             AbstractValue value)
    : driver(
          std::make_unique<Driver>(*base.driver, argument, std::move(value))) {}
RangeAnalysis::RangeAnalysis(RangeAnalysis &&) = default;
RangeAnalysis::~RangeAnalysis() = default;

const AbstractValue &RangeAnalysis::of(Value value) const {
  return driver->of(value);
}
const AbstractValue &RangeAnalysis::preRounding(Value value) const {
  return driver->preRounding(value);
}
const Spread &RangeAnalysis::spread(Value value) const {
  return driver->spread(value);
}
const Magnitudes &RangeAnalysis::magnitudes(Value value) const {
  return driver->magnitudes(value);
}
void RangeAnalysis::limitRounded() const { driver->limitRounded(); }
ArrayRef<Operation *> RangeAnalysis::varied() const { return driver->varied; }
bool RangeAnalysis::isVaried(Value value) const {
  return driver->computes(value);
}
ArrayRef<Operation *> RangeAnalysis::unknown() const { return driver->unknown; }
const TargetProfile &RangeAnalysis::target() const { return *driver->profile; }
TransferContext &RangeAnalysis::context() const { return *driver; }

bool RangeAnalysis::isInvalidated(
    const AnalysisManager::PreservedAnalyses &preserved) {
  return !preserved.isPreserved<RangeAnalysis>();
}
