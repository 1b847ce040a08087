//===- MakeMap.cpp - A module's tensors as a ModelMap ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Driver/MakeMap.h"

#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

//===----------------------------------------------------------------------===//
// Exponents
//===----------------------------------------------------------------------===//

/// So many groups tell channels of different sizes apart; more make no
/// difference to a plot.
static constexpr size_t kGroups = 6;
/// Elements that are so rare are not shown.
static constexpr double kLeastShare = 1e-6;
static constexpr double kDeviations = 6;

/// The probability that a normal number of mean 0 and deviation 1 is in
/// [lo, hi): of the tail that is nearer, so that small ones stay exact.
static double probability(double lo, double hi) {
  if (!(lo < hi))
    return 0;
  if (lo > 0)
    return 0.5 * (std::erfc(lo * M_SQRT1_2) - std::erfc(hi * M_SQRT1_2));
  return 0.5 * (std::erfc(-hi * M_SQRT1_2) - std::erfc(-lo * M_SQRT1_2));
}

namespace {
/// A group as a normal number that its bound cuts off.
class CutNormal {
public:
  explicit CutNormal(const Cell &cell)
      : mean(cell.mean), deviation(std::sqrt(cell.variance)), lo(cell.lo),
        hi(cell.hi), mass(in(-kInfinity, kInfinity)) {}

  double share(double from, double to) const { return in(from, to) / mass; }
  bool isKnown() const {
    return std::isfinite(mean) && deviation > 0 && std::isfinite(deviation) &&
           mass > 0;
  }
  double greatest() const {
    double far = std::max(std::fabs(mean - kDeviations * deviation),
                          std::fabs(mean + kDeviations * deviation));
    return std::min(far, std::max(std::fabs(lo), std::fabs(hi)));
  }

private:
  double in(double from, double to) const {
    return probability((std::max(from, lo) - mean) / deviation,
                       (std::min(to, hi) - mean) / deviation);
  }

  double mean, deviation, lo, hi, mass;
};
} // namespace

static void addCell(const Cell &cell, std::map<int, double> &shares) {
  if (cell.empty())
    return;
  if (cell.variance == 0) {
    if (cell.mean != 0 && std::isfinite(cell.mean))
      shares[std::ilogb(cell.mean)] += 1;
    return;
  }
  CutNormal normal(cell);
  double greatest = normal.isKnown() ? normal.greatest() : 0;
  if (!(greatest > 0))
    return;
  double left = 1;
  for (int exponent = std::ilogb(greatest);
       exponent > -1074 && left > kLeastShare; --exponent) {
    double from = std::ldexp(1.0, exponent), to = 2 * from;
    double share = normal.share(from, to) + normal.share(-to, -from);
    left -= share;
    if (share > kLeastShare)
      shares[exponent] += share;
  }
}

static ExponentCounts estimateExponents(const AbstractValue &value) {
  if (!value.hasLikely())
    return {};
  std::map<int, double> shares;
  AbstractValue few = value.limited(kGroups);
  for (const Cell &cell : few.cells())
    addCell(cell, shares);
  if (shares.empty())
    return {};
  double sum = 0;
  for (auto [exponent, share] : shares)
    sum += share;
  ExponentCounts counts;
  counts.first = shares.begin()->first;
  counts.counts.resize(shares.rbegin()->first - counts.first + 1);
  for (auto [exponent, share] : shares)
    counts.counts[exponent - counts.first] = share / sum;
  return counts;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

namespace {
class MapMaker {
public:
  explicit MapMaker(const RangeAnalysis &ranges) : ranges(ranges) {}

  void visit(Operation *op);
  ModelMap map;

private:
  using Places = llvm::SmallVector<unsigned, 4>;

  Places gather(ValueRange values) const;
  void addArguments(Operation *op, Block &block);
  void add(Value value, Operation *op, Places operands);
  void addYielded(Operation *op, Places &operands) const;

  const RangeAnalysis &ranges;
  /// By value: its tensor, or those that it was computed from.
  llvm::DenseMap<Value, Places> sources;
};
} // namespace

MapMaker::Places MapMaker::gather(ValueRange values) const {
  Places found;
  for (Value value : values)
    if (auto known = sources.find(value); known != sources.end())
      for (unsigned place : known->second)
        if (!llvm::is_contained(found, place))
          found.push_back(place);
  return found;
}

static bool isShown(Value value, Operation *op) {
  if (!isa<TensorType>(value.getType()) ||
      !isa<FloatType>(getElementType(value)) ||
      isa_and_nonnull<mp::ConstantOp>(op))
    return false;
  auto cast = dyn_cast_or_null<mp::CastOp>(op);
  return !cast || cast.getOrigin() == mp::CastOrigin::Model;
}

void MapMaker::add(Value value, Operation *op, Places operands) {
  if (!isShown(value, op)) {
    sources[value] = std::move(operands);
    return;
  }
  MapTensor tensor;
  tensor.name = getTensorPath(value);
  tensor.dtype = getDtypeName(getElementType(value));
  if (op) {
    tensor.op = {getOpName(op), getOpType(op), getScopeText(op)};
    if (FileLineColLoc line = getSourceLine(op->getLoc()))
      tensor.location = SourceLine{line.getFilename().str(), line.getLine()};
  }
  tensor.isInput = !op;
  // Bounds as computed, flags as stored: as in --dump-ranges.
  const AbstractValue &computed = ranges.preRounding(value);
  const AbstractValue &stored = ranges.of(value);
  Cell hull = computed.hull();
  tensor.bound = hull.empty() ? Interval{0, 0} : Interval{hull.lo, hull.hi};
  tensor.nan = stored.nan;
  tensor.posInf = stored.posInf;
  tensor.negInf = stored.negInf;
  tensor.minNonZero = stored.minNonZero;
  if (computed.hasLikely() && !hull.empty()) {
    tensor.likely = Interval{hull.likelyLo, hull.likelyHi};
    tensor.exponents = estimateExponents(computed);
  }
  tensor.operands.assign(operands.begin(), operands.end());
  sources[value] = {unsigned(map.tensors.size())};
  map.tensors.push_back(std::move(tensor));
}

void MapMaker::addArguments(Operation *op, Block &block) {
  bool isInput = isa<FunctionOpInterface>(op);
  for (BlockArgument argument : block.getArguments())
    if (isInput)
      add(argument, nullptr, {});
    else
      sources[argument] = gather(op->getOperands());
}

/// A result of control flow is what its bodies end with.
void MapMaker::addYielded(Operation *op, Places &operands) const {
  for (Region &region : op->getRegions())
    for (Block &block : region)
      if (block.mightHaveTerminator())
        for (unsigned place : gather(block.getTerminator()->getOperands()))
          if (!llvm::is_contained(operands, place))
            operands.push_back(place);
}

void MapMaker::visit(Operation *op) {
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      addArguments(op, block);
      for (Operation &inner : block)
        visit(&inner);
    }
  if (isa<FunctionOpInterface>(op)) {
    Places outputs;
    addYielded(op, outputs);
    for (unsigned place : outputs)
      map.tensors[place].isOutput = true;
    return;
  }
  Places operands = gather(op->getOperands());
  addYielded(op, operands);
  for (Value result : op->getResults())
    add(result, op, operands);
}

ModelMap mpopt::makeMap(ModuleOp module, const RangeAnalysis &ranges) {
  MapMaker maker(ranges);
  for (Operation &function : *module.getBody())
    maker.visit(&function);
  return std::move(maker.map);
}
