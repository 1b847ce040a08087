//===- LinearBounds.cpp - Bounds by backward relaxation
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor is refined in blocks of elements, at one position of each kind:
// along an axis that its bounds do not distinguish, two positions are of a kind
// if they read the same elements relative to themselves, with the same padding
// and the same bounds, so that their forms are the same (a convolution has as
// many kinds as its padding reaches, each way). How deep forms go is what the
// tensor's share of the budget pays for.
//
//===----------------------------------------------------------------------===//

#include "LinearBounds.h"

#include "Kernel.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Ranges/Value/CellSupport.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::linear;

/// Elements of a block: two rows each.
static constexpr int64_t kMostElements = 64;
/// Kinds of positions along one axis.
static constexpr size_t kMostKinds = 64;
/// The shares of the budget that one tensor may take, of as many as there are
/// tensors: most need none.
static constexpr double kShares = 4;
/// From how far above what is expected a bound is worth looking at.
static constexpr double kFar = 2;
/// The cost of reading a weight, in the units of Step::cost, and the weights
/// that are held from one tensor to the next (32 MiB).
static constexpr double kCostAWeight = 8;
static constexpr size_t kMostHeld = size_t(1) << 22;
/// The position on an axis of open size, of which nothing but the elements that
/// have it in common is known: one for each axis of the refined tensor, so that
/// x_i and x_j are two elements, beyond those of axes of known size.
static constexpr int64_t kOpenPosition = int64_t(1) << 20;
/// Numbers beyond this are no bounds, and a form that is off by this because
/// products underflow has some 2^300 of them.
static constexpr double kHuge = 0x1p300, kTiny = 0x1p-700;

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void Trace::read(Value value, const Box &box) {
  for (int64_t size : box.size)
    note(size);
  auto [known, isNew] = boxes.try_emplace(value, box);
  if (isNew)
    return;
  for (auto [first, other] : llvm::zip_equal(box.first, known->second.first))
    note(first - other);
  known->second = known->second.with(box);
}

std::unique_ptr<Step> linear::makeStep(OpResult result, TransferContext &ctx) {
  Operation *op = result.getOwner();
  if (auto step = makePointwise(result, ctx))
    return step;
  if (auto step = makeProduct(result, ctx))
    return step;
  for (Value operand : op->getOperands())
    if (getFloatFormat(getElementType(operand)) &&
        ctx.of(operand).mayBeNonFinite())
      return nullptr;
  if (auto step = makeWindow(result, ctx))
    return step;
  if (auto step = makeRows(result, ctx))
    return step;
  if (auto step = makeTable(result, ctx))
    return step;
  return makeView(result, ctx);
}

/// Bounds tell positions of an open axis apart.
static bool splitsOpenAxis(Value value, TransferContext &ctx) {
  MaybeShape shape = getShape(value);
  const AbstractValue &known = ctx.of(value);
  return shape && known.rank() == shape->size() &&
         llvm::any_of(llvm::zip_equal(*shape, known.dims()), [](auto pair) {
           return std::get<0>(pair) < 0 && std::get<1>(pair) != 1;
         });
}

const Step *LinearBounds::getStep(Value value) {
  auto result = dyn_cast<OpResult>(value);
  if (!result)
    return nullptr;
  auto [known, isNew] = steps.try_emplace(value);
  Operation *op = result.getOwner();
  if (isNew && getFloatFormat(getElementType(value)) &&
      !isa<mp::ConstantOp>(op) && !op->hasAttr(kBackwardAttr) &&
      isa<FunctionOpInterface>(op->getParentOp()) &&
      llvm::none_of(op->getOperands(), [&](Value operand) {
        return splitsOpenAxis(operand, ctx);
      })) {
    std::unique_ptr<Step> step =
        ctx.at(op, [&] { return makeStep(result, ctx); });
    // `steps` has not grown since.
    known->second = std::move(step);
    if (known->second) {
      held += known->second->held();
      budget -= kCostAWeight * double(known->second->held());
    }
  }
  return known->second.get();
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

struct LinearBounds::Plan {
  /// The cost of a row, step by step, and which are contractions.
  SmallVector<double> costs;
  SmallVector<bool> contractions;
  SmallVector<int64_t, 64> signature;
  /// Positions that are so many apart read the same, but for what is cut off.
  int64_t period = 1;

  double cost(size_t steps) const {
    double sum = 0;
    for (size_t i = 0; i < std::min(steps, costs.size()); ++i)
      sum += costs[i];
    return sum;
  }
  size_t depth(size_t steps) const {
    return llvm::count(
        ArrayRef(contractions).take_front(std::min(steps, costs.size())), true);
  }
};

/// The groups of a value's bounds, as far as positions in `box` tell them
/// apart.
static void noteBounds(Value value, const Box &box, TransferContext &ctx,
                       Trace &trace) {
  CellMap cells(ctx.preRounding(value), box.size.size());
  for (size_t axis = 0; axis < box.size.size(); ++axis) {
    trace.note(box.size[axis]);
    if (cells.isKept(axis))
      trace.note(box.first[axis]);
  }
}

LinearBounds::Plan LinearBounds::trace(OpResult result, const Box &box,
                                       size_t most, double allowed) {
  Trace trace;
  Plan plan;
  double cost = 0;
  trace.boxes.try_emplace(result, box);
  // For each value, the number of the result's positions after which the
  // elements that are read of it move by whole positions.
  llvm::SmallDenseMap<Value, int64_t> periods;
  while (!trace.boxes.empty()) {
    auto [value, own] = *trace.boxes.begin();
    trace.boxes.erase(trace.boxes.begin());
    if (value != result)
      noteBounds(value, own, ctx, trace);
    bool goesOn = plan.costs.size() < most && cost <= allowed;
    const Step *step = goesOn ? getStep(value) : nullptr;
    if (!step)
      continue;
    plan.costs.push_back(step->cost(own));
    cost += plan.costs.back();
    plan.contractions.push_back(step->isContraction());
    step->trace(own, trace);
    int64_t period = std::max<int64_t>(periods.lookup(value), 1);
    period *= step->period();
    plan.period = std::lcm(plan.period, period);
    if (plan.period > int64_t(kMostKinds))
      break;
    for (Value operand : value.getDefiningOp()->getOperands()) {
      int64_t &known = periods[operand];
      known = std::lcm(std::max<int64_t>(known, 1), period);
    }
  }
  plan.signature = std::move(trace.signature);
  return plan;
}

/// One position of each kind along an axis. Between two of a kind that are
/// whole periods apart all such are: what is cut off at an end grows towards
/// it, everything else is linear in the position.
SmallVector<int64_t> LinearBounds::distinct(OpResult result, Box box,
                                            size_t axis, int64_t count,
                                            size_t most, int64_t period) {
  using Signature = SmallVector<int64_t, 64>;
  SmallVector<int64_t> found;
  auto at = [&](int64_t position) {
    box.first[axis] = position;
    return trace(result, box, most).signature;
  };
  // Positions from `lo` to `hi` by periods.
  auto search = [&](auto &self, int64_t lo, const Signature &low, int64_t hi,
                    const Signature &high) -> void {
    if (hi - lo < 2 * period || low == high || found.size() > kMostKinds)
      return;
    int64_t middle = lo + (hi - lo) / period / 2 * period;
    Signature between = at(middle);
    if (between != low && between != high)
      found.push_back(middle);
    self(self, lo, low, middle, between);
    self(self, middle, between, hi, high);
  };
  for (int64_t phase = 0; phase < std::min(period, count); ++phase) {
    Signature first = at(phase);
    found.push_back(phase);
    int64_t end = phase + (count - 1 - phase) / period * period;
    if (end == phase)
      continue;
    Signature last = at(end);
    if (first != last)
      found.push_back(end);
    search(search, phase, first, end, last);
  }
  if (found.size() > kMostKinds)
    found.clear();
  return found;
}

/// Halves boxes of too many elements.
static void split(Box box, std::vector<Box> &blocks) {
  if (box.volume() <= kMostElements) {
    blocks.push_back(std::move(box));
    return;
  }
  size_t axis = llvm::max_element(box.size) - box.size.begin();
  Box half = box;
  half.size[axis] = box.size[axis] / 2;
  split(half, blocks);
  half.first[axis] += half.size[axis];
  half.size[axis] = box.size[axis] - half.size[axis];
  split(std::move(half), blocks);
}

/// The box of the elements that bounds tell apart, at the middle of other axes.
static Box middleOf(const Shape &shape, const AbstractValue &pre) {
  Box box = Box::whole(shape);
  for (size_t axis = 0; axis < shape.size(); ++axis)
    if (shape[axis] < 0) {
      box.first[axis] = kOpenPosition + int64_t(axis);
    } else if (pre.dims()[axis] == 1 && box.size[axis] > 1) {
      box.first[axis] = box.size[axis] / 2;
      box.size[axis] = 1;
    }
  return box;
}

std::vector<Box> LinearBounds::blocksOf(OpResult result,
                                        const AbstractValue &pre, size_t most) {
  Shape shape = *getShape(result);
  std::vector<Box> boxes = {middleOf(shape, pre)};
  int64_t period = trace(result, boxes.front(), most).period;
  if (period > int64_t(kMostKinds))
    return {};
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (pre.dims()[axis] != 1 || shape[axis] < 2)
      continue;
    SmallVector<int64_t> positions =
        distinct(result, boxes.front(), axis, shape[axis], most, period);
    std::vector<Box> all;
    for (const Box &box : boxes)
      for (int64_t position : positions) {
        all.push_back(box);
        all.back().first[axis] = position;
      }
    boxes = std::move(all);
    if (boxes.empty() || boxes.size() > kMostKinds * kMostKinds)
      return {};
  }
  std::vector<Box> blocks;
  for (Box &box : boxes)
    split(std::move(box), blocks);
  return blocks;
}

/// Chooses how many steps forms go back. False if they see no more than the
/// transfer functions saw.
bool LinearBounds::planDepth(OpResult result, const AbstractValue &pre,
                             Plan &plan, std::vector<Box> &blocks) {
  Box middle = middleOf(*getShape(result), pre);
  double share = std::min(1.0, kShares / double(std::max<size_t>(expected, 1)));
  double allowed = budget * share;
  // One block goes back two steps: for less no plan is made.
  if (double(middle.volume()) * 4 > allowed)
    return false;
  double rows = 2 * double(middle.volume());
  plan = trace(result, middle, 256, allowed / rows);
  size_t most = plan.costs.size();
  // A sum sees what its operands have in common at once.
  size_t least = getStep(result)->isContraction() ? 2 : 1;
  while (plan.depth(most) >= least) {
    if (plan.cost(most) * rows <= allowed) {
      blocks = blocksOf(result, pre, most);
      double all = 0;
      for (const Box &block : blocks)
        all += 2 * double(block.volume());
      if (!blocks.empty() && plan.cost(most) * all <= allowed) {
        plan.costs.resize(most);
        return true;
      }
    }
    // To the contraction before.
    while (most > 0) {
      --most;
      if (plan.contractions[most])
        break;
    }
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

struct LinearBounds::Bounds {
  /// The least upper bound of each row so far.
  std::vector<double> rows;
};

/// Adds the rounding of a stored result to its forms.
void LinearBounds::store(Value value, const Part &part, Forms &forms) {
  const AbstractValue &pre = ctx.preRounding(value);
  const FloatFormat &format = *getFloatFormat(getElementType(value));
  CellMap cells(pre, part.box.size.size());
  bool whole = pre.rank() != part.box.size.size();
  double absolute = std::max(format.minSubnormal, format.flushAt);
  part.box.forEach([&](ArrayRef<int64_t> index, int64_t at) {
    double most = whole ? pre.hull().absMax() : pre.cell(cells(index)).absMax();
    // Bounds of FP32 tensors may be rounded to nearest.
    forms.lose(part.numbers.data() + size_t(at) * forms.rows,
               most * format.unitRoundoff() * (1 + 0x1p-20) + absolute);
  });
}

/// The intervals of forms as they are.
bool LinearBounds::conclude(const Forms &forms, Bounds &bounds) {
  std::vector<double> total(forms.rows), magnitude(forms.rows);
  for (const auto &[value, part] : forms.parts) {
    const AbstractValue &known = ctx.of(value);
    const FloatFormat *format = getFloatFormat(getElementType(value));
    bool whole = known.rank() != part.box.size.size();
    CellMap cells(known, part.box.size.size());
    std::vector<double> *moves = nullptr;
    Box all = Box::whole(*getShape(value));
    if (isa<BlockArgument>(value) && all.volume() <= kMostElements &&
        all.contains(part.box)) {
      moves = &influence[value];
      moves->resize(size_t(all.volume()));
    }
    bool isEmpty = false;
    part.box.forEach([&](ArrayRef<int64_t> index, int64_t at) {
      Cell cell = whole ? known.hull() : known.cell(cells(index));
      isEmpty |= cell.empty();
      Interval bound =
          format ? boundOf(known, cell, *format) : Interval{cell.lo, cell.hi};
      const double *from = part.numbers.data() + size_t(at) * forms.rows;
      double most = bound.maxAbs(), moved = 0;
      if (!(most < kHuge)) {
        for (size_t row = 0; row < forms.rows; ++row)
          if (from[row] != 0)
            total[row] = kInfinity;
        return;
      }
      for (size_t row = 0; row < forms.rows; ++row) {
        total[row] += std::max(from[row] * bound.lo, from[row] * bound.hi);
        magnitude[row] += std::fabs(from[row]) * most;
      }
      if (!moves)
        return;
      for (size_t row = 0; row < forms.rows; ++row)
        moved += std::fabs(from[row]);
      (*moves)[size_t(all.find(index))] += moved * bound.radius();
    });
    if (isEmpty)
      return false;
  }
  for (size_t row = 0; row < forms.rows; ++row) {
    double error =
        forms.error[row] + kSlack * (forms.error[row] + magnitude[row]);
    double upper =
        total[row] + forms.constant[row] + error * (1 + kSlack) + kTiny;
    if (!std::isnan(upper))
      bounds.rows[row] = std::min(bounds.rows[row], upper);
  }
  return true;
}

bool LinearBounds::run(OpResult result, const Box &box, size_t most,
                       size_t near, Bounds &bounds) {
  size_t elements = size_t(box.volume()), added = 0;
  Forms forms(llvm::alignTo<kRowUnit>(2 * elements), near);
  bounds.rows.assign(forms.rows, kInfinity);
  if (!forms.cover(result, box))
    return false;
  for (size_t i = 0; i < elements; ++i) {
    forms.of(result).numbers[i * forms.rows + i] = 1;
    forms.of(result).numbers[i * forms.rows + elements + i] = -1;
  }
  // Parts of values that have no step stay.
  auto next = forms.parts.begin();
  for (size_t count = 0; count < most && next != forms.parts.end();) {
    Value value = next->first;
    const Step *step = getStep(value);
    if (!step) {
      ++next;
      continue;
    }
    if (step->isContraction() && count > 0 && !conclude(forms, bounds))
      return false;
    Part part = std::move(next->second);
    forms.parts.erase(next);
    budget -= step->cost(part.box) * double(forms.rows);
    added += size_t(part.box.volume());
    Trace reads;
    step->trace(part.box, reads);
    for (const auto &[operand, read] : reads.boxes)
      if (!forms.cover(operand, read))
        return false;
    if (added > kMostNumbers)
      return false;
    if (value != result && !step->isExact())
      store(value, part, forms);
    step->pull(part, forms);
    ++count;
    // The latest value that has not been looked at: all behind it are leaves.
    next = forms.parts.begin();
    while (next != forms.parts.end() && ByProgramOrder()(next->first, value))
      ++next;
  }
  return conclude(forms, bounds);
}

/// A sum of many products, or of two tensors that both depend on inputs: what
/// is computed from one of them forgets nothing.
static bool mayCancel(OpResult result, const Step *step, TransferContext &ctx) {
  if (!step)
    return false;
  if (step->isContraction())
    return true;
  Operation *op = result.getOwner();
  return op->getNumOperands() == 2 && !isa<mp::CastOp>(op) &&
         llvm::none_of(op->getOperands(), [&](Value operand) {
           return isa_and_present<mp::ConstantOp>(operand.getDefiningOp()) ||
                  ctx.of(operand).constant();
         });
}

static bool isFar(const AbstractValue &pre) {
  Cell hull = pre.hull();
  if (hull.empty())
    return false;
  double likely = std::max(std::fabs(hull.likelyLo), std::fabs(hull.likelyHi));
  return !pre.hasLikely() || !(hull.absMax() <= kFar * likely);
}

/// Cuts the bounds to those of forms; false if there are none.
bool LinearBounds::narrow(OpResult result, AbstractValue &pre,
                          ArrayRef<Box> blocks, size_t most, size_t near) {
  CellMap cells(pre, pre.rank());
  std::vector<Interval> found(pre.groups(), Interval::empty());
  for (const Box &block : blocks) {
    Bounds bounds;
    if (!run(result, block, most, near, bounds))
      return false;
    size_t elements = size_t(block.volume());
    block.forEach([&](ArrayRef<int64_t> index, int64_t at) {
      Interval &group = found[cells(index)];
      group = hull(group, Interval{-bounds.rows[elements + size_t(at)],
                                   bounds.rows[size_t(at)]});
    });
  }
  for (auto [cell, interval] : llvm::zip_equal(pre.mutableCells(), found)) {
    Interval both = intersect(cells::bound(cell), interval);
    if (!cell.empty() && !both.isEmpty())
      cells::setBound(cell, both);
  }
  return true;
}

void LinearBounds::refine(OpResult result, AbstractValue &pre) {
  MaybeShape shape = getShape(result);
  if (held > kMostHeld)
    forget();
  if (budget <= 0 || !shape || !getFloatFormat(getElementType(result)) ||
      pre.rank() != shape->size() || !isFar(pre) ||
      !mayCancel(result, getStep(result), ctx))
    return;
  Plan plan;
  std::vector<Box> blocks;
  if (expected > 1)
    --expected;
  if (!planDepth(result, pre, plan, blocks))
    return;
  for (size_t near = 0; near < lines; ++near) {
    double before = budget;
    if (!narrow(result, pre, blocks, plan.costs.size(), near) ||
        2 * (before - budget) > budget / double(expected) * kShares ||
        !isFar(pre))
      return;
  }
}
