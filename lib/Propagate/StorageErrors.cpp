//===- StorageErrors.cpp - The error of storing a tensor
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Propagate/StorageErrors.h"

#include "mpopt/Propagate/Branches.h"
#include "mpopt/Propagate/InnerSums.h"
#include "mpopt/Propagate/Masks.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/CustomOps.h"
#include "mpopt/Dialect/ProductOperands.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/StorageError.h"
#include "mpopt/Ranges/Value/TransferContext.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace mpopt;

//===----------------------------------------------------------------------===//
// Which values are rounded
//===----------------------------------------------------------------------===//

static bool isPowerOfTwo(double number) {
  int exponent;
  return std::fabs(std::frexp(number, &exponent)) == 0.5;
}

/// True if results are numbers that `format` holds because the operands are:
/// copies, and multiples by a power of two, but for their edges.
bool StorageErrors::isExact(Operation *op, const FloatFormat &format) {
  bool copies = isa<mp::CastOp, mp::IdentityOp>(op) ||
                hasRole(op, Role::CopiesElements | Role::Concatenation |
                                Role::Select | Role::Negation);
  auto fit = [&](Value operand) {
    return !isa<FloatType>(getElementType(operand)) || fits(operand, format);
  };
  if (auto branch = dyn_cast<mp::IfOp>(op))
    return llvm::all_of(findLiveBodies(branch, ranges), [&](Region *body) {
      return llvm::all_of(body->front().getTerminator()->getOperands(), fit);
    });
  if (copies)
    return !isa<mp::CastOp>(op) ||
                   isa<FloatType>(getElementType(op->getOperand(0)))
               ? llvm::all_of(op->getOperands(), fit)
               : false;
  // A mask leaves what it multiplies, or nothing.
  auto isMask = [&](Value factor) {
    const AbstractValue &its = ranges.of(factor);
    return its.integral && ranges.magnitudes(factor).bound <= 1;
  };
  if (hasRole(op, Role::Multiplication) && op->getNumOperands() == 2)
    for (unsigned factor : {0u, 1u})
      if (isMask(op->getOperand(factor)) &&
          fits(op->getOperand(1 - factor), format))
        return true;
  if (hasRole(op, Role::Multiplication | Role::Division))
    if (auto split = splitNumber(op); split && isPowerOfTwo(split->second))
      return (hasRole(op, Role::Multiplication) ||
              split->first == op->getOperand(0)) &&
             fits(split->first, format);
  return false;
}

bool StorageErrors::fits(Value value, const FloatFormat &format) {
  const FloatFormat *own = getFloatFormat(getElementType(value));
  if (own && StorageFormat(format).holds(*own))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || isa<mp::ConstantOp>(op) || op->getNumOperands() == 0)
    return false;
  auto [entry, isNew] = known.try_emplace({value, &format}, false);
  if (!isNew)
    return entry->second;
  bool result = isExact(op, format);
  known[{value, &format}] = result;
  return result;
}

/// True if a project states that the op is wrong in the dtype of its operands.
static bool isWrong(Value value) {
  auto custom = value.getDefiningOp<mp::CustomOp>();
  return custom && custom.isWrong();
}

bool StorageErrors::rounds(Value value) {
  if (isWrong(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (op && getSumOfCodes(op, ranges.target()))
    return true;
  const FloatFormat *format = getFloatFormat(getElementType(value));
  if (!format || format->digits >= FloatFormat::f32().digits)
    return false;
  if (isa_and_nonnull<mp::ConstantOp>(op))
    return false; // the file has it so
  if (op)
    return !isExact(op, *format);
  // An input of the file's own dtype is given in it.
  Operation *parent = value.getParentBlock()->getParentOp();
  auto module = parent->getParentOfType<ModuleOp>();
  return module && module->hasAttr(kLowTypeAttr);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

/// Elements of a constant that are read; of larger ones pieces of that size.
static constexpr int64_t kMostRead = 1 << 13, kPiece = 16;

namespace {
/// Sums of errors by group.
struct Sums {
  std::vector<StorageError> errors;
  std::vector<double> counts;
};
} // namespace

/// The error of one number that is limited and then rounded.
static StorageError errorOfNumber(double value, const WeightView &stored,
                                  const FloatFormat &format) {
  double limited = stored.limits.apply(value);
  StorageError error = storageErrorOf(limited, format);
  if (limited != value)
    error.mean += limited - value;
  error.square = error.mean * error.mean;
  return error;
}

/// The errors of a constant as it is stored, from the elements in the file, by
/// the groups of `dims`; of large constants pieces are read that are spaced by
/// the golden ratio, which no length of a row is a multiple of.
static Sums readErrors(const WeightView &stored, const FloatFormat &format,
                       ArrayRef<int64_t> dims) {
  WeightView exact = stored;
  exact.roundings.clear();
  exact.limits = {};
  Sums sums;
  sums.errors.resize(countGroups(dims));
  sums.counts.resize(sums.errors.size());
  SmallVector<int64_t> strides(dims.size());
  int64_t stride = 1;
  for (size_t axis = dims.size(); axis-- > 0; stride *= dims[axis])
    strides[axis] = dims[axis] == 1 ? 0 : stride;
  auto groupOf = [&](int64_t index) {
    int64_t group = 0;
    for (size_t axis = dims.size(); axis-- > 0;) {
      group += index % exact.shape[axis] * strides[axis];
      index /= exact.shape[axis];
    }
    return size_t(group);
  };
  int64_t size = exact.size();
  if (exact.splat && size > 0) {
    double value;
    exact.read(0, value);
    for (size_t group = 0; group < sums.errors.size(); ++group) {
      sums.errors[group] = errorOfNumber(value, stored, format);
      sums.counts[group] = 1;
    }
    return sums;
  }
  bool whole = size <= kMostRead;
  int64_t pieces = whole ? (size + kPiece - 1) / kPiece : kMostRead / kPiece;
  double buffer[kPiece];
  for (int64_t piece = 0; piece < pieces; ++piece) {
    double turns = double(piece) * std::numbers::phi;
    int64_t first =
        whole
            ? piece * kPiece
            : int64_t((turns - std::floor(turns)) * double(size - kPiece + 1));
    MutableArrayRef<double> read(buffer, std::min(kPiece, size - first));
    exact.read(first, read);
    for (auto [offset, value] : llvm::enumerate(read)) {
      size_t group = groupOf(first + int64_t(offset));
      sums.errors[group].add(errorOfNumber(value, stored, format));
      ++sums.counts[group];
    }
  }
  return sums;
}

static Cell toCell(const StorageError &error) {
  double variance = std::max(0.0, error.square - error.mean * error.mean);
  return {0, 0, error.mean, variance, 0, 0};
}

/// The errors of a constant, in the groups of `dims`; nothing if there are
/// none. `exact` is its range.
static std::optional<AbstractValue>
errorOfConstant(const WeightView &stored, const FloatFormat &format,
                ArrayRef<int64_t> dims, const AbstractValue &exact) {
  AbstractValue::Dims groups(stored.shape.size(), 1);
  if (dims.size() == groups.size())
    for (size_t axis = 0; axis < groups.size(); ++axis)
      if (dims[axis] == stored.shape[axis])
        groups[axis] = dims[axis];
  Sums sums = readErrors(stored, format, groups);
  StorageError all;
  double count = 0;
  for (auto [error, number] : llvm::zip(sums.errors, sums.counts)) {
    all.add(error);
    count += number;
  }
  if (all.square == 0)
    return std::nullopt;
  std::vector<Cell> cells;
  bool areGroups = exact.dims() == ArrayRef<int64_t>(groups);
  for (size_t group = 0; group < sums.errors.size(); ++group) {
    double number = sums.counts[group];
    StorageError mean;
    if (number > 0) {
      mean.add(sums.errors[group], 1 / number);
    } else if (areGroups) {
      Cell its = exact.cell(group);
      mean = storageErrorOf(its.mean, its.variance, format);
    } else {
      // A group of which nothing was read is like the others.
      mean.add(all, 1 / count);
    }
    cells.push_back(toCell(mean));
  }
  AbstractValue result(groups, cells);
  result.source = LikelySource::Weight;
  return result;
}

//===----------------------------------------------------------------------===//
// The error of a tensor
//===----------------------------------------------------------------------===//

/// The magnitude above which elements do not matter, as all that reads the
/// value is flat there; infinite if there is none.
static double cutFrom(Value value) {
  double most = 0;
  for (Operation *op : value.getUsers()) {
    if (hasRole(op, Role::Saturating) && op->getNumOperands() == 1) {
      constexpr double kFlat = 20; // the logistic function is 1 in FP16
      most = std::max(most, kFlat);
      continue;
    }
    if (!hasRole(op, Role::LimitsBelow) || !hasRole(op, Role::LimitsAbove) ||
        op->getNumOperands() != 3 || op->getOperand(0) != value)
      return kInfinity;
    for (Value limit : op->getOperands().drop_front()) {
      std::optional<double> number = getSplatConstant(limit);
      if (!number)
        return kInfinity;
      most = std::max(most, std::fabs(*number));
    }
  }
  return value.use_empty() ? kInfinity : most;
}

/// The error of scores of which a mask hides some, equal in all elements.
static std::optional<AbstractValue> errorOfMasked(const MaskedScores &scores,
                                                  const FloatFormat &format,
                                                  const AbstractValue &exact) {
  const Cell &live = scores.live;
  StorageError error = storageErrorOf(live.mean, live.variance, format,
                                      exact.integral, /*overflow=*/false);
  // Where a whole row is masked its scores still differ. No more is lost than
  // that: what rounds all of them alike a softmax does not see.
  StorageError masked = storageErrorOf(scores.masked, live.variance, format);
  masked.mean = 0;
  masked.square = std::min(masked.square, live.variance);
  error.add(masked, scores.fullRows);
  if (error.square == 0)
    return std::nullopt;
  AbstractValue result(AbstractValue::Dims(exact.rank(), 1), toCell(error));
  result.source = LikelySource::Propagated;
  return result;
}

/// Adds what is lost whole, and the error of the sum inside of the op.
static void addLosses(StorageError &error, const Cell &x, NonFinite::Lost lost,
                      const std::optional<InnerSum> &inner) {
  double all = x.mean * x.mean + x.variance;
  if (lost.share > 0) {
    double mean = std::clamp(x.mean, -lost.most, lost.most);
    error.add({-mean, std::min(all, lost.most * lost.most)}, lost.share);
  }
  if (inner) {
    error.mean += inner->ofResult.mean * x.mean;
    error.square += inner->ofResult.square * all;
  }
}

/// A cast that saturates clips: what it stores is its operand.
static Value getStored(Value value) {
  auto cast = value.getDefiningOp<mp::CastOp>();
  return cast && cast.getSaturate() ? cast.getInput() : value;
}

std::optional<AbstractValue> StorageErrors::errorOf(Value value,
                                                    NonFinite::Lost lost,
                                                    ArrayRef<int64_t> dims) {
  StorageFormat format = *getFloatFormat(getElementType(value));
  Value source = getStored(value);
  format.saturates |= source != value;
  const AbstractValue &exact = ranges.preRounding(source);
  TransferContext &context = ranges.context();
  if (std::optional<MaskedScores> scores = findMaskedScores(value, ranges))
    return errorOfMasked(*scores, *format.floats, exact);
  if (std::optional<WeightView> weights = context.weights(value);
      weights && !weights->roundings.empty() &&
      weights->shape.size() == exact.rank())
    return errorOfConstant(*weights, *format.floats, dims, exact);
  if (!exact.hasLikely()) {
    double most = std::ldexp(1.0, int(format.floats->digits));
    if (exact.integral && ranges.magnitudes(value).bound <= most)
      return std::nullopt;
    return AbstractValue::top(exact.rank());
  }
  AbstractValue result = AbstractValue::like(exact);
  std::optional<InnerSum> inner = findInnerSum(value.getDefiningOp(), ranges);
  double cut = cutFrom(value);
  double square = 0;
  MutableCells cells = result.mutableCells();
  for (size_t group = 0; group < cells.size(); ++group) {
    Cell x = exact.cell(group);
    if (x.mean * x.mean + x.variance > cut * cut) {
      // Elements that are cut off have no part in the error.
      x.mean = 0;
      x.variance = cut * cut;
    }
    double most =
        std::min(std::max(std::fabs(x.likelyLo), std::fabs(x.likelyHi)), cut);
    bool overflows = most >= format.overflowFrom().hi;
    StorageError error =
        storageErrorOf(x.mean, x.variance, format, exact.integral, overflows);
    // The moments say little of few elements that are far larger.
    if (overflows) {
      double count =
          std::max(context.elementsPerGroup(value, exact.groups()), 1.0);
      double lost = format.saturates ? most - format.ends().hi : most;
      error.square = std::max(error.square, lost * lost / count);
    }
    // A wrong result has nothing in common with the right one: the difference
    // of two independent numbers of one distribution has twice its variance.
    if (isWrong(value))
      error.square += 2 * x.variance;
    addLosses(error, x, lost, inner);
    square += error.square;
    cells[group] = toCell(error);
  }
  result.source = LikelySource::Propagated;
  if (square == 0)
    return std::nullopt;
  return result;
}
