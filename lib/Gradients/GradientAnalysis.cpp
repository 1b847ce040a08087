//===- GradientAnalysis.cpp - Estimates of all gradients
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Gradients/GradientAnalysis.h"

#include "ComposedSlope.h"
#include "GradientDriver.h"
#include "Storage.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Ranges/RangeInterface.h"
#include "mpopt/Ranges/Spread/SpreadInterface.h"
#include "mpopt/Ranges/Value/CellSupport.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

GradientAnalysis::Driver::Driver(Operation *module, const RangeAnalysis &ranges)
    : ForwardingContext(ranges.context()), ranges(ranges) {
  for (Region &region : module->getRegions())
    for (Operation &op : region.getOps())
      if (auto function = dyn_cast<FunctionOpInterface>(op))
        visitFunction(function);
}

void GradientAnalysis::Driver::visitFunction(FunctionOpInterface function) {
  if (function.isExternal())
    return;
  sampleCount = SpreadContext::countSamples(function);
  if (auto value = function->getAttrOfType<FloatAttr>(kLossValueAttr);
      value && function->hasAttr(kLossAttr))
    currentLoss = value.getValueAsDouble();
  if (auto done = function->getAttrOfType<IntegerAttr>(kStepsDoneAttr))
    steps = double(done.getInt());
  projects = llvm::any_of(function.getFunctionBody().getOps(), [](auto &op) {
    return op.template getAttrOfType<StringAttr>(kSeedAttr) != nullptr;
  });
  walk(function.getFunctionBody());
}

void GradientAnalysis::Driver::walk(Region &region) {
  for (Operation &op : region.getOps()) {
    visit(&op);
    // No reference is held between two ops of a function.
    if (!current) {
      ranges.limitRounded();
      if (projects)
        release(&op);
    }
  }
}

void GradientAnalysis::Driver::visit(Operation *op) {
  if (op->hasTrait<OpTrait::IsTerminator>() || op->getNumResults() == 0)
    return;
  bool seed = op->hasAttr(kSeedAttr);
  if (seed && op->getAttrOfType<StringAttr>(kSeedAttr))
    return project(op);
  // The range analysis has the estimates and spreads of the forward part.
  if (!seed && (!op->hasAttr(kBackwardAttr) || isa<mp::ConstantOp>(op)))
    return;
  bool gradient = seed || llvm::any_of(op->getOperands(), [&](Value operand) {
                    return isGradient(operand);
                  });
  Operation *outer = std::exchange(current, op);
  inGradient = gradient;
  if (seed) {
    // The loss itself, of which there is one.
    for (OpResult result : op->getResults())
      gradients[result].value = ranges.preRounding(result);
  } else {
    auto transfer = dyn_cast<SpreadOpInterface>(op);
    if (!(gradient && giveComposedSlope(op, *this)) && transfer)
      transfer.transferSpread(*this);
    if (gradient && llvm::any_of(op->getResults(), [&](Value result) {
          return !gradients[result].knowsValue;
        }))
      if (auto transfer = dyn_cast<RangeOpInterface>(op))
        transfer.transfer(*this);
    for (OpResult result : op->getResults()) {
      if (!spreads.contains(result))
        spreads[result] = combineOperands(result);
      if (gradient && isa<FloatType>(getElementType(result)))
        finish(result);
    }
  }
  current = outer;
}

/// Values that ops in bodies read are kept: bodies may be walked several times.
void GradientAnalysis::Driver::release(Operation *last) {
  bool isRead = false;
  for (Value result : last->getResults()) {
    auto found = gradients.find(result);
    if (found == gradients.end())
      continue;
    found->second.reads = range_size(result.getUses());
    if (found->second.reads == 0)
      found->second.value.keepMoments();
    isRead |= found->second.reads > 0;
  }
  if (isRead && passesSlope(last, *this))
    return;
  SmallVector<Operation *, 4> work = {last};
  while (!work.empty())
    for (Value operand : work.pop_back_val()->getOperands()) {
      auto found = gradients.find(operand);
      if (found == gradients.end() || --found->second.reads > 0)
        continue;
      found->second.value.keepMoments();
      Operation *maker = operand.getDefiningOp();
      if (passesSlope(maker, *this))
        work.push_back(maker);
    }
}

/// A projection on random directions, which nobody stores.
void GradientAnalysis::Driver::project(Operation *op) {
  Value result = op->getResult(0);
  AbstractValue::Dims dims(rankOf(result), 1);
  double count = elementsPerGroup(result, 1);
  gradients[result].value = AbstractValue(
      dims, SpreadContext::normalCell({0, 0, 1}, std::max(count, 1.0)));
  gradients[result].value.source = LikelySource::Propagated;
  Spread spread = this->spread(op->getOperand(0));
  Spread own;
  own.axes = spread.axes;
  spreads[result] = own;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void GradientAnalysis::Driver::setValue(Value value, AbstractValue pre) {
  // The range transfer function speaks where the spread function did not.
  if (!inGradient)
    return;
  Gradient &gradient = gradients[value];
  if (!std::exchange(gradient.knowsValue, true))
    gradient.value = std::move(pre);
}

/// The value in the rank of the tensor, with as many groups as are allowed. No
/// element's square is more than the sum of all: the products of extremes that
/// ops expect grow past that from op to op.
AbstractValue GradientAnalysis::Driver::settle(Value of, AbstractValue value) {
  MaybeShape shape = getShape(of);
  if (shape && value.rank() != shape->size())
    value = AbstractValue(AbstractValue::Dims(shape->size(), 1), value.hull());
  value = value.limited(groupLimit());
  // Estimates of root mean squares are good within a factor of 4.
  constexpr double kTolerance = 4;
  double count = elementsPerGroup(of, value.groups());
  for (CellRef cell : value.mutableCells()) {
    double square = cell.mean * cell.mean + cell.variance;
    double most = kTolerance * std::sqrt(count * square);
    cell.likelyLo = std::max(cell.likelyLo, -most);
    cell.likelyHi = std::min(cell.likelyHi, most);
  }
  return value;
}

void GradientAnalysis::Driver::give(unsigned index, AbstractValue value,
                                    Spread spread) {
  Value result = current->getResult(index);
  spreads[result] = spread;
  if (!inGradient)
    return;
  Gradient &gradient = gradients[result];
  gradient.value = std::move(value);
  gradient.knowsValue = true;
}

void GradientAnalysis::Driver::giveSpread(unsigned index, Spread spread) {
  spreads[current->getResult(index)] = spread;
}

void GradientAnalysis::Driver::giveHits(unsigned index, Hits hits) {
  if (inGradient)
    gradients[current->getResult(index)].hits =
        std::make_unique<Hits>(std::move(hits));
}

void GradientAnalysis::Driver::giveLosses(unsigned index, Losses losses) {
  if (inGradient && !projects)
    gradients[current->getResult(index)].losses =
        std::make_unique<Losses>(losses);
}

Losses GradientAnalysis::Driver::combineLosses() {
  Losses result;
  bool first = true;
  // Elements of parts that are joined, or the share of terms that are not 0.
  double live = 0;
  bool joins = hasRole(current, Role::Concatenation);
  for (Value operand : current->getOperands()) {
    if (!isGradient(operand))
      continue;
    const Losses &its = losses(operand);
    double part = 1 - spread(operand).zero;
    if (its.most < result.most) {
      result.most = its.most;
      result.limit = its.limit;
    }
    if (joins)
      part *= double(getNumElements(getShape(operand)).value_or(1));
    if (std::exchange(first, false)) {
      result.hit = its.hit;
      result.rest = its.rest;
      live = part;
    } else if (joins) {
      live += part;
      double before = live > 0 ? 1 - part / live : 0;
      result.hit = result.hit.mixedWith(its.hit, before);
      result.rest = result.rest.mixedWith(its.rest, before);
    } else {
      result.hit = result.hit.inSum(its.hit, live, part);
      result.rest = result.rest.inSum(its.rest, live, part);
      live += part - live * part;
    }
  }
  return result;
}

SizeMixture GradientAnalysis::Driver::sizes(const Gradient &gradient,
                                            double zero, bool hit) const {
  const AbstractValue &value = gradient.value;
  SizeMixture mixture;
  double live = std::max(1 - zero, 1e-9);
  const auto &hits = gradient.hits;
  bool aligned = hits && hits->share.groups() == value.groups() &&
                 hits->rest.groups() == value.groups();
  for (size_t group = 0; group < value.groups(); ++group) {
    Cell cell = value.cell(group);
    double square = cell.mean * cell.mean + cell.variance;
    if (!aligned) {
      mixture.add(square / live, 1);
      continue;
    }
    double share = hits->share.cell(group).mean;
    double rest = hits->rest.cell(group).mean;
    if (hit)
      mixture.add((square - (1 - share) * rest) / std::max(share, 1e-12),
                  share);
    else
      mixture.add(rest, 1 - share);
  }
  return mixture;
}

/// Hits outlive what leaves elements as they are: casts, and moves that leave
/// the groups' axis whole.
void GradientAnalysis::Driver::carryHits(OpResult result) {
  bool moves = isa<mp::CastOp>(current) || isViewLike(current) ||
               hasRole(current, Role::Negation);
  const Hits *hits = moves ? this->hits(current->getOperand(0)) : nullptr;
  if (!hits)
    return;
  Gradient &gradient = gradients[result];
  MaybeShape shape = getShape(result);
  AbstractValue::Dims dims(hits->share.dims());
  if (auto transpose = dyn_cast<mp::TransposeOp>(current)) {
    SmallVector<int64_t> perm =
        llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, dims.size())));
    if (auto given = transpose.getPerm())
      perm.assign(given->begin(), given->end());
    if (perm.size() == dims.size())
      gradient.hits = std::make_unique<Hits>(
          Hits{hits->share.transposed(perm), hits->rest.transposed(perm)});
    return;
  }
  if (dims == gradient.value.dims()) {
    gradient.hits = std::make_unique<Hits>(*hits);
    return;
  }
  // Groups along the last axis, which has its size.
  if (!shape || shape->empty() || dims.empty() ||
      size_t(dims.back()) != hits->share.groups() ||
      shape->back() != dims.back())
    return;
  AbstractValue::Dims wanted(shape->size(), 1);
  wanted.back() = dims.back();
  gradient.hits = std::make_unique<Hits>(
      Hits{hits->share.withDims(wanted), hits->rest.withDims(wanted)});
}

void GradientAnalysis::Driver::finish(OpResult result) {
  Gradient &gradient = gradients[result];
  gradient.value = settle(result, std::move(gradient.value));
  // A result of an unknown gradient is unknown.
  if (llvm::any_of(current->getOperands(), [&](Value operand) {
        return isGradient(operand) && isa<FloatType>(getElementType(operand)) &&
               !of(operand).hasLikely();
      }))
    gradient.value.source = LikelySource::Unknown;
  if (projects)
    return;
  if (!gradient.losses)
    gradient.losses = std::make_unique<Losses>(combineLosses());
  if (!gradient.hits)
    carryHits(result);

  const FloatFormat *format = getFloatFormat(getElementType(result));
  // Ops that move stored numbers round none of them again.
  if (!format || !format->losesValuesOf(FloatFormat::f32()) ||
      isViewLike(current) ||
      hasRole(current, Role::MovesElements | Role::CopiesElements |
                           Role::Concatenation | Role::Negation))
    return;
  const Spread &its = spread(result);
  Losses &losses = *gradient.losses;
  losses.hit = losses.hit.then(
      sizes(gradient, its.zero, true).flushed(*format, its.factors));
  if (gradient.hits)
    losses.rest = losses.rest.then(
        sizes(gradient, its.zero, false).flushed(*format, its.factors));
  int most = mostExponent(absMax(result), *format);
  if (most < losses.most) {
    losses.most = most;
    losses.limit = result;
  }
}

SizeMixture GradientAnalysis::Driver::allSizes(Value value) {
  const Gradient &gradient = gradients[value];
  double zero = spread(value).zero;
  SizeMixture all = sizes(gradient, zero, /*hit=*/true);
  if (gradient.hits)
    all.add(sizes(gradient, zero, /*hit=*/false));
  return all;
}

double GradientAnalysis::Driver::absMax(Value value) {
  const Gradient &gradient = gradients[value];
  const Spread &its = spread(value);
  double most = 0;
  for (const Cell &cell : gradient.value.cells())
    most = std::max({most, std::fabs(cell.likelyLo), std::fabs(cell.likelyHi)});
  if (its.bounded)
    return most;
  // Many groups reach further than each of them does.
  double count = elementsPerGroup(value, 1) * (1 - its.zero);
  return std::max(most, allSizes(value).largest(count, its.factors));
}

//===----------------------------------------------------------------------===//
// SpreadContext
//===----------------------------------------------------------------------===//

const AbstractValue &GradientAnalysis::Driver::of(Value value) {
  if (auto found = gradients.find(value); found != gradients.end())
    return found->second.value;
  return ranges.of(value);
}
const AbstractValue &GradientAnalysis::Driver::preRounding(Value value) {
  return isGradient(value) ? of(value) : ranges.preRounding(value);
}
const Spread &GradientAnalysis::Driver::spread(Value value) {
  auto found = spreads.find(value);
  return found == spreads.end() ? ranges.spread(value) : found->second;
}
const Hits *GradientAnalysis::Driver::hits(Value value) const {
  auto found = gradients.find(value);
  return found == gradients.end() ? nullptr : found->second.hits.get();
}
const Losses &GradientAnalysis::Driver::losses(Value value) {
  static const Losses kNone;
  auto found = gradients.find(value);
  return found == gradients.end() || !found->second.losses
             ? kNone
             : *found->second.losses;
}

//===----------------------------------------------------------------------===//
// GradientAnalysis
//===----------------------------------------------------------------------===//

GradientAnalysis::GradientAnalysis(Operation *module, AnalysisManager &manager)
    : driver(std::make_unique<Driver>(module,
                                      manager.getAnalysis<RangeAnalysis>())) {}
GradientAnalysis::GradientAnalysis(GradientAnalysis &&) = default;
GradientAnalysis::~GradientAnalysis() = default;

bool GradientAnalysis::isGradient(Value value) const {
  return driver->isGradient(value);
}
const AbstractValue &GradientAnalysis::of(Value gradient) const {
  return driver->of(gradient);
}
const Spread &GradientAnalysis::spread(Value value) const {
  return driver->spread(value);
}
const Hits *GradientAnalysis::hits(Value gradient) const {
  return driver->hits(gradient);
}
double GradientAnalysis::samples() const { return driver->samples(); }

GradientEstimate GradientAnalysis::estimate(Value gradient) const {
  GradientEstimate result;
  const AbstractValue &value = driver->of(gradient);
  result.known = value.hasLikely();
  double zero = driver->spread(gradient).zero, squares = 0, zeros = 0;
  for (const Cell &cell : value.cells()) {
    double square = cell.mean * cell.mean + cell.variance;
    squares += square;
    result.mean += cell.mean * cell.mean;
    zeros += square > 0 ? zero : 1;
  }
  double groups = double(value.groups());
  result.rms = std::sqrt(squares / groups);
  result.mean = std::sqrt(result.mean / groups);
  result.groups = value.groups();
  result.zero = zeros / groups;
  result.absMax = driver->absMax(gradient);
  const Losses &losses = driver->losses(gradient);
  result.lost = losses.hit;
  if (const Hits *hits = driver->hits(gradient)) {
    double share = 0;
    for (const Cell &cell : hits->share.cells())
      share += cell.mean;
    result.lost =
        losses.hit.mixedWith(losses.rest, share / double(hits->share.groups()));
  }
  result.most = losses.most;
  result.limit = losses.limit;
  return result;
}

std::map<int, double> GradientAnalysis::sizes(Value gradient) const {
  return driver->allSizes(gradient).histogram(driver->spread(gradient).factors);
}

std::function<double(double)>
GradientAnalysis::sharesBelow(Value gradient) const {
  return [sizes = driver->allSizes(gradient),
          factors = driver->spread(gradient).factors](double limit) {
    return sizes.shareBelow(limit, factors);
  };
}

bool GradientAnalysis::isInvalidated(
    const AnalysisManager::PreservedAnalyses &preserved) {
  return !preserved.isPreserved<GradientAnalysis>();
}
