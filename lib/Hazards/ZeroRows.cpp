//===- ZeroRows.cpp - Rows that are 0 for some of a model's inputs
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Padding, a number in the place of masked positions, and the row of a table
// that stands for padding: their length and their variance are 0. Not covered:
// rows that views or products make others of.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/Zeros.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpopt;

/// A bit for each axis.
using Axes = uint32_t;

static Axes axesUpTo(int64_t count) {
  return count <= 0 ? 0 : count >= 32 ? ~Axes(0) : (Axes(1) << count) - 1;
}

/// None for axes behind the last bit.
static Axes axisBit(int64_t axis) {
  return axis >= 0 && axis < 32 ? Axes(1) << axis : 0;
}

static bool isZeroConstant(Value value) {
  return getSplatConstant(value) == 0.0;
}

static Axes axesOfPad(mp::PadOp op, int64_t rank) {
  std::optional<ArrayRef<int64_t>> pads = op.getPads(), axes = op.getAxes();
  bool isZero = mp::symbolizePadMode(op.getMode()) == mp::PadMode::Constant &&
                (!op.getValue() || isZeroConstant(op.getValue()));
  size_t count = pads ? pads->size() / 2 : 0;
  if (!isZero || !pads || (axes && axes->size() != count))
    return 0;
  Axes padded = 0;
  for (size_t i = 0; i < count; ++i)
    if ((*pads)[i] > 0 || (*pads)[i + count] > 0)
      if (auto axis = normalizeAxis(axes ? (*axes)[i] : int64_t(i), rank))
        padded |= axisBit(*axis);
  return padded;
}

/// The axes along which a condition chooses.
static Axes axesOfChoice(Value condition, int64_t rank) {
  MaybeShape shape = getShape(condition);
  Axes chosen = 0;
  for (size_t axis = 0; shape && axis < shape->size(); ++axis)
    if ((*shape)[axis] != 1)
      chosen |= axisBit(rank - int64_t(shape->size()) + int64_t(axis));
  return chosen;
}

/// True if a row of the constant is 0 altogether.
static bool hasZeroRow(mp::ConstantOp table) {
  MaybeShape shape = getShape(table.getResult());
  std::optional<ConstantBytes> bytes = getConstantBytes(table);
  if (!bytes || bytes->splat || !shape || shape->size() < 2 ||
      shape->front() <= 0)
    return false;
  size_t size = bytes->data.size() / size_t(shape->front());
  for (ArrayRef<char> left = bytes->data; size > 0 && left.size() >= size;
       left = left.drop_front(size))
    if (llvm::all_of(left.take_front(size), [](char byte) { return !byte; }))
      return true;
  return false;
}

static Axes axesOfLookup(Value table, Value indices) {
  auto constant = getMaker<mp::ConstantOp>(table);
  MaybeShape shape = getShape(indices);
  return constant && shape && hasZeroRow(constant) ? axesUpTo(shape->size())
                                                   : 0;
}

/// The axes along which a factor differs that is 0 or 1 as inputs say: truth
/// values, be they cast and viewed.
static Axes axesOfFactor(Value factor, int64_t rank) {
  Value mask = peel(factor, Peel::CastsAndViews);
  return getElementType(mask).isInteger(1) && !isConstant(mask)
             ? axesOfChoice(factor, rank)
             : 0;
}

/// The axes at some index of which all elements are 0.
static Axes findZeroAxes(Value value, const ShapeFacts &shapes,
                         unsigned depth = 8) {
  Operation *op = value.getDefiningOp();
  MaybeShape shape = getShape(value);
  if (!op || !shape || depth == 0)
    return 0;
  auto inner = [&](unsigned operand) {
    Value read = op->getOperand(operand);
    return getShape(read) == shape ? findZeroAxes(read, shapes, depth - 1) : 0;
  };
  int64_t rank = shape->size();
  if (isa<mp::CastOp, mp::IdentityOp>(op) ||
      hasRole(op, Role::KeepsZeros | Role::Rectifier | Role::Square))
    return inner(0);
  if (hasRole(op, Role::Multiplication) && op->getNumOperands() == 2)
    return inner(0) | inner(1) | axesOfFactor(op->getOperand(0), rank) |
           axesOfFactor(op->getOperand(1), rank);
  if (hasRole(op, Role::Subtraction)) {
    // The row's deviations from its mean.
    Operation *mean = getMaker(op->getOperand(1));
    bool centres = hasRole(mean, Role::Reduction) &&
                   peel(mean->getOperand(0)) == peel(op->getOperand(0));
    return centres ? inner(0) : 0;
  }
  return llvm::TypeSwitch<Operation *, Axes>(op)
      .Case([&](mp::ConcatOp concat) -> Axes {
        auto axis = normalizeAxis(concat.getAxis(), rank);
        bool any = axis && llvm::any_of(op->getOperands(), isZeroConstant);
        return any ? axisBit(*axis) : 0;
      })
      .Case([&](mp::PadOp pad) { return axesOfPad(pad, rank); })
      .Case([&](mp::WhereOp where) -> Axes {
        bool any =
            isZeroConstant(where.getLhs()) || isZeroConstant(where.getRhs());
        return any ? axesOfChoice(where.getCondition(), rank) : 0;
      })
      .Case([&](mp::MaskedFillOp fill) -> Axes {
        return isZeroConstant(fill.getValue())
                   ? axesOfChoice(fill.getMask(), rank)
                   : 0;
      })
      .Case([&](mp::GatherOp gather) -> Axes {
        return normalizeAxis(gather.getAxis(), rank) == 0
                   ? axesOfLookup(gather.getInput(), gather.getIndices())
                   : 0;
      })
      .Case([&](mp::EmbeddingOp embedding) {
        return axesOfLookup(embedding->getOperand(0), embedding.getIndices());
      })
      .Default(Axes(0));
}

/// The axes that are reduced, and those of the operand that have an index at
/// which all elements are 0.
static std::optional<std::pair<Axes, Axes>>
findReducedRows(Value value, const ShapeFacts &shapes) {
  // A root of a mean of squares times a number or two, with casts.
  constexpr unsigned kMost = 4;
  for (unsigned step = 0; step < kMost; ++step) {
    Operation *op = getMaker(value, Peel::CastsAndViews);
    if (!op || op->getNumOperands() == 0)
      return std::nullopt;
    if (hasRole(op, Role::Reduction)) {
      auto axes = getReducedAxes(op, shapes);
      if (!axes)
        return std::nullopt;
      Axes reduced = 0;
      for (int64_t axis : *axes)
        reduced |= axisBit(axis);
      return std::make_pair(reduced, findZeroAxes(op->getOperand(0), shapes));
    }
    auto split = hasRole(op, Role::Multiplication | Role::Division)
                     ? splitNumber(op)
                     : std::nullopt;
    bool isScaled = split && (!hasRole(op, Role::Division) ||
                              split->first == op->getOperand(0));
    if (!isScaled && !hasRole(op, Role::KeepsZeros | Role::Root))
      return std::nullopt;
    value = isScaled ? split->first : op->getOperand(0);
  }
  return std::nullopt;
}

bool mpopt::sumsZeroRow(Value value, const ShapeFacts &shapes) {
  auto found = findReducedRows(value, shapes);
  return found && (found->second & ~found->first);
}

bool mpopt::sumsWholeZeroRow(Value value, const ShapeFacts &shapes) {
  auto found = findReducedRows(value, shapes);
  return found && found->second && !(found->second & found->first);
}
