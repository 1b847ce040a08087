//===- IndexSpace.cpp - What integers index
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// By what each op of the dialect does with an operand. Lengths and counts are
// no indices.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Dialect/IndexSpace.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Ops/LossOps.h"
#include "mpopt/Dialect/Ops/PoolingOps.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

using Found = std::optional<IndexSpace>;

/// The size of an axis, if it is known.
static std::optional<int64_t> getSize(Value value, int64_t axis) {
  MaybeShape shape = getShape(value);
  if (!shape)
    return std::nullopt;
  std::optional<int64_t> normal = normalizeAxis(axis, shape->size());
  if (!normal || (*shape)[*normal] <= 0)
    return std::nullopt;
  return (*shape)[*normal];
}

/// Indices below `size`; `fromEnd`: also those that count from the end.
static IndexSpace upTo(int64_t size, bool fromEnd, const Twine &what) {
  return {size, {fromEnd ? -double(size) : 0, double(size - 1)}, what.str()};
}

static Found alongAxis(Value table, int64_t axis, bool fromEnd) {
  std::optional<int64_t> size = getSize(table, axis);
  if (!size)
    return std::nullopt;
  MaybeShape shape = getShape(table);
  bool row = *normalizeAxis(axis, shape->size()) == 0 && shape->size() == 2;
  std::string name = getTensorName(table);
  return upTo(*size, fromEnd,
              "picks one of " + Twine(*size) + (row ? " rows" : " slices") +
                  (name.empty() ? "" : " of " + name));
}

/// Index tuples: each of their numbers may be as large as the largest of the
/// dims, which are `first` and the next ones, as many as a tuple is long.
static Found byTuples(Value table, Value indices, int64_t first) {
  MaybeShape shape = getShape(table), tuples = getShape(indices);
  if (!shape || !tuples || tuples->empty() || tuples->back() <= 0 ||
      first + tuples->back() > int64_t(shape->size()))
    return std::nullopt;
  int64_t most = 0;
  for (int64_t dim : ArrayRef(*shape).slice(first, tuples->back())) {
    if (dim <= 0)
      return std::nullopt;
    most = std::max(most, dim);
  }
  std::string name = getTensorName(table);
  return upTo(most, true,
              "picks one of up to " + Twine(most) + " slices" +
                  (name.empty() ? "" : " of " + name));
}

/// Class numbers; `ignored` stands for no class.
static Found amongClasses(Value scores, int64_t axis,
                          std::optional<double> ignored) {
  std::optional<int64_t> size = getSize(scores, axis);
  if (!size)
    return std::nullopt;
  IndexSpace space =
      upTo(*size, false, "is one of " + Twine(*size) + " classes");
  if (ignored && (*ignored < 0 || *ignored >= double(*size))) {
    space.allowed.lo = std::min(space.allowed.lo, *ignored);
    space.allowed.hi = std::max(space.allowed.hi, *ignored);
    space.what +=
        " or " + std::to_string(int64_t(*ignored)) + ", which counts nothing";
  }
  return space;
}

/// Scores are [N, C, d...], or [C] without a batch.
static int64_t getClassAxis(Value scores) {
  MaybeShape shape = getShape(scores);
  return shape && shape->size() == 1 ? 0 : 1;
}

static std::optional<double> getIgnored(std::optional<uint64_t> index) {
  if (!index)
    return std::nullopt;
  return double(int64_t(*index));
}

template <typename Op> static Found ofClassLoss(Op op, unsigned operand) {
  if (operand != 1)
    return std::nullopt;
  std::optional<double> ignored;
  if constexpr (!std::is_same_v<Op, MultiMarginLossOp>)
    ignored = getIgnored(op.getIgnoreIndex());
  return amongClasses(op.getInput(), getClassAxis(op.getInput()), ignored);
}

/// With ignore_index as an operand, which only a constant tells.
template <typename Op>
static Found ofTrainedLoss(Op op, Value operand, Value scores) {
  if (operand != op.getTarget())
    return std::nullopt;
  std::optional<double> ignored = getIgnored(op.getIgnoreIndex());
  if (op.getIgnore() && !(ignored = getSplatConstant(op.getIgnore())))
    return std::nullopt;
  return amongClasses(scores, getClassAxis(scores), ignored);
}

static Found ofGatherGrad(GatherGradOp op, Value operand) {
  if (operand != op.getIndices() || op.getKind() == "nd")
    return std::nullopt;
  return alongAxis(op.getResult(), op.getAxis(), true);
}

/// The index space of the op at a use, if its operand there is an index.
static Found getIndexSpace(OpOperand &use) {
  unsigned operand = use.getOperandNumber();
  Value value = use.get();
  return llvm::TypeSwitch<Operation *, Found>(use.getOwner())
      .Case<GatherOp, GatherElementsOp, ScatterElementsOp>([&](auto op) {
        return operand == 1 ? alongAxis(op.getInput(), op.getAxis(), true)
                            : Found();
      })
      .Case([&](GatherBlockQuantizedOp op) {
        return operand == 1 ? alongAxis(op.getData(), op.getAxis(), true)
                            : Found();
      })
      .Case([&](EmbeddingOp op) {
        return operand == 1 ? alongAxis(op.getTable(), 0, false) : Found();
      })
      .Case([&](GatherNDOp op) {
        return operand == 1
                   ? byTuples(op.getInput(), value, int64_t(op.getBatchDims()))
                   : Found();
      })
      .Case([&](ScatterNDOp op) {
        return operand == 1 ? byTuples(op.getInput(), value, 0) : Found();
      })
      .Case([&](TensorScatterOp op) {
        return value == op.getIndices() && op.getMode() != "circular"
                   ? alongAxis(op.getPast(), op.getAxis(), false)
                   : Found();
      })
      .Case([&](RoiAlignOp op) {
        return operand == 2 ? alongAxis(op.getInput(), 0, false) : Found();
      })
      .Case([&](OneHotOp op) {
        std::optional<double> depth =
            operand == 0 ? getSplatConstant(op.getDepth()) : std::nullopt;
        if (!depth || !(*depth > 0) || *depth > double(INT32_MAX))
          return Found();
        return Found(upTo(int64_t(*depth), true,
                          "one-hot of depth " + Twine(int64_t(*depth))));
      })
      .Case<CrossEntropyOp, NllLossOp, MultiMarginLossOp>(
          [&](auto op) { return ofClassLoss(op, operand); })
      .Case([&](SoftmaxCrossEntropyOp op) {
        return ofTrainedLoss(op, value, op.getInput());
      })
      .Case([&](SoftmaxCrossEntropyGradOp op) {
        return ofTrainedLoss(op, value, op.getLogProb());
      })
      .Case([&](MultilabelMarginLossOp op) {
        // The list of targets ends with a -1.
        return operand == 1 ? amongClasses(op.getInput(), -1, -1.0) : Found();
      })
      .Case([&](CtcLossOp op) {
        return operand == 1 ? amongClasses(op.getLogProbs(), -1, std::nullopt)
                            : Found();
      })
      .Case([&](GatherGradOp op) { return ofGatherGrad(op, value); })
      .Default([](Operation *) { return Found(); });
}

static void meet(Found &all, IndexSpace space) {
  if (!all) {
    all = std::move(space);
    return;
  }
  Interval both = {std::max(all->allowed.lo, space.allowed.lo),
                   std::min(all->allowed.hi, space.allowed.hi)};
  if (space.size < all->size) {
    all->size = space.size;
    all->what = std::move(space.what);
  }
  all->allowed = both;
}

static void follow(Value value, Found &all) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (Found space = getIndexSpace(use))
      meet(all, std::move(*space));
    else if (use.getOperandNumber() == 0 && user->getNumResults() == 1 &&
             (isa<CastOp>(user) || isViewLike(user)) &&
             isa<IntegerType>(getElementType(user->getResult(0))))
      follow(user->getResult(0), all);
  }
}

std::optional<IndexSpace> mpopt::findIndexSpace(Value value) {
  Found all;
  follow(value, all);
  return all;
}
