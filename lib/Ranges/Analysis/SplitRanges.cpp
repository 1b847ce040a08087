//===- SplitRanges.cpp - Bounds over parts of an input's box
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A relaxation is the better the smaller the box. With high effort the box of
// an input is split in two across the element that moves the forms most, and so
// is the part with the largest bounds, until none overflows. Each value lies
// where it does for one of the parts.
//
//===----------------------------------------------------------------------===//

#include "RangeDriver.h"

#include "mpopt/Ranges/Value/CellSupport.h"

using namespace mlir;
using namespace mpopt;

/// At most so many parts, and what an op's transfer function costs for one, in
/// the units of Step::cost: 12 us (ACAS Xu networks, `bench/acasxu.py`).
static constexpr size_t kMostBoxes = 256;
static constexpr double kCostAnOp = 2.5e4;

namespace {
/// A part of the box, by how much each of its groups moves forms, and the
/// values for inputs in it.
struct Part {
  AbstractValue box;
  std::vector<double> influence;
  llvm::DenseMap<Value, AbstractValue> values;
  /// The largest bound, as a share of what overflows its format.
  double excess = 0;
};
} // namespace

/// The halves of a box, across the group that counts most; nothing where it is
/// a point.
static std::optional<std::array<AbstractValue, 2>> halve(const Part &part) {
  std::optional<size_t> most;
  for (size_t group = 0; group < part.influence.size(); ++group) {
    Interval bound = cells::bound(part.box.cell(group));
    double middle = bound.midpoint();
    if (bound.lo < middle && middle < bound.hi && part.influence[group] > 0 &&
        (!most || part.influence[group] > part.influence[*most]))
      most = group;
  }
  if (!most)
    return std::nullopt;
  double middle = cells::bound(part.box.cell(*most)).midpoint();
  std::array<AbstractValue, 2> halves = {part.box, part.box};
  halves[0].mutableCells()[*most].hi = middle;
  halves[1].mutableCells()[*most].lo = middle;
  return halves;
}

/// Narrows `value` to what the parts allow together.
static void meet(AbstractValue &value, ArrayRef<const AbstractValue *> parts) {
  bool nan = false, posInf = false, negInf = false;
  std::vector<Interval> hulls(value.groups(), Interval::empty());
  for (const AbstractValue *part : parts) {
    nan |= part->nan;
    posInf |= part->posInf;
    negInf |= part->negInf;
    AbstractValue own =
        part->dims() == value.dims() ? *part : part->regrouped(value.dims());
    for (size_t group = 0; group < hulls.size(); ++group)
      hulls[group] = hull(hulls[group], cells::bound(own.cell(group)));
  }
  value.nan &= nan;
  value.posInf &= posInf;
  value.negInf &= negInf;
  for (auto [cell, hull] : llvm::zip_equal(value.mutableCells(), hulls)) {
    Interval both = intersect(cells::bound(cell), hull);
    if (!both.isEmpty())
      cells::setBound(cell, both);
  }
}

/// Adds what is known of a value to a part.
static void add(Part &part, Value value, const AbstractValue &known) {
  if (const FloatFormat *format = getFloatFormat(getElementType(value)))
    part.excess =
        std::max(part.excess, known.hull().absMax() / format->overflowFrom);
  part.values.try_emplace(value, known);
}

void RangeAnalysis::Driver::splitInput(BlockArgument argument,
                                       std::vector<double> influence,
                                       size_t boxes) {
  Shape shape = *getShape(argument);
  std::vector<Part> parts(1);
  parts.front().box =
      of(argument).regrouped(AbstractValue::Dims(shape.begin(), shape.end()));
  parts.front().influence = std::move(influence);
  for (Operation *op : findReached(argument))
    for (Value result : op->getResults())
      add(parts.front(), result, preRounding(result));
  auto isLess = [](const Part &a, const Part &b) {
    return a.excess < b.excess;
  };
  for (size_t made = 0; made + 2 <= boxes; made += 2) {
    auto worst = llvm::max_element(parts, isLess);
    auto halves = worst->excess < 1 ? std::nullopt : halve(*worst);
    if (!halves)
      break;
    std::array<Part, 2> two;
    for (auto [box, part] : llvm::zip_equal(*halves, two)) {
      Driver driver(*this, argument, box);
      part.box = std::move(box);
      part.influence = driver.relaxation.influence.lookup(argument);
      for (Operation *op : driver.varied)
        for (Value result : op->getResults())
          add(part, result, driver.preRounding(result));
    }
    *worst = std::move(two[0]);
    parts.push_back(std::move(two[1]));
  }
  for (const auto &[value, first] : parts.front().values) {
    SmallVector<const AbstractValue *> all;
    for (const Part &part : parts)
      all.push_back(&part.values.find(value)->second);
    Entry &entry = get(value);
    meet(entry.pre, all);
    entry.pre.fit(getFloatFormat(getElementType(value)), isStep(value));
    entry.rounded.reset();
    entry.magnitudes.reset();
  }
}

void RangeAnalysis::Driver::splitInputs() {
  BlockArgument best;
  std::vector<double> influence;
  double most = 0;
  for (auto &[value, moves] : relaxation.influence) {
    double sum = 0;
    for (double each : moves)
      sum += each;
    if (sum > most &&
        getNumElements(getShape(value)) == int64_t(moves.size())) {
      most = sum;
      best = cast<BlockArgument>(value);
      influence = moves;
    }
  }
  if (!best)
    return;
  // A part costs what the whole box cost, which tried all lines.
  double cost = (allowance - relaxation.left()) / double(linear::kNear.size());
  size_t ops = std::distance(best.getOwner()->begin(), best.getOwner()->end());
  size_t boxes = size_t(relaxation.left() / (cost + kCostAnOp * double(ops)));
  if (boxes > 1)
    splitInput(best, std::move(influence), std::min(boxes, kMostBoxes));
}
