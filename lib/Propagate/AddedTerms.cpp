//===- AddedTerms.cpp - How many terms an op adds, and where
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Not covered: recurrent cells, bilinear forms, sums inside of single losses.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Propagate/AddedTerms.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/EinsumSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/AttentionOps.h"
#include "mpopt/Dialect/Ops/ControlFlowOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Ops/LossOps.h"
#include "mpopt/Dialect/Ops/NormalizationOps.h"
#include "mpopt/Dialect/Ops/PoolingOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/ProductOperands.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpopt;

using MaybeCount = std::optional<int64_t>;

/// The name by which a target knows the op's kernel.
static StringRef getKernel(Operation *op) {
  return op->getName().stripDialect();
}

/// The size of an axis, counted from the end if negative.
static MaybeCount getDim(Value value, int64_t axis) {
  MaybeShape shape = getShape(value);
  std::optional<int64_t> at =
      shape ? normalizeAxis(axis, shape->size()) : std::nullopt;
  if (!at || (*shape)[*at] < 0)
    return std::nullopt;
  return (*shape)[*at];
}

/// The product of the dims from `first` on.
static MaybeCount countFrom(Value value, size_t first) {
  MaybeShape shape = getShape(value);
  if (!shape || shape->size() < first)
    return std::nullopt;
  shape->erase(shape->begin(), shape->begin() + first);
  return getNumElements(shape);
}

/// Nothing if it does not fit, too.
static MaybeCount operator*(MaybeCount a, MaybeCount b) {
  return a && b ? llvm::checkedMul(*a, *b) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// The sizes of the labels that the result does not have.
static MaybeCount countContracted(mp::EinsumOp op) {
  std::optional<EinsumEquation> equation =
      EinsumEquation::parse(op.getEquation());
  if (!equation || equation->operands.size() != op.getInputs().size())
    return std::nullopt;
  MaybeCount count = 1;
  std::string seen = equation->result;
  for (auto [labels, input] : llvm::zip(equation->operands, op.getInputs())) {
    if (StringRef(labels).contains('.'))
      return std::nullopt;
    for (auto [axis, label] : llvm::enumerate(labels)) {
      if (StringRef(seen).contains(label))
        continue;
      seen += label;
      MaybeCount dim = getDim(input, axis);
      if (!dim)
        return std::nullopt;
      count = count * dim;
    }
  }
  return count;
}

/// An output element takes part in 1 of `stride` positions along each axis.
static MaybeCount countTaps(mp::ConvTransposeOp op) {
  MaybeShape filter = getShape(op.getFilter());
  if (!filter || filter->size() < 2 || (*filter)[0] < 0)
    return std::nullopt;
  MaybeCount count = (*filter)[0] / std::max<int64_t>(op.getGroup(), 1);
  ArrayRef<int64_t> strides = op.getStrides();
  for (size_t axis = 2; axis < filter->size(); ++axis) {
    int64_t stride = axis - 2 < strides.size() ? strides[axis - 2] : 1;
    if ((*filter)[axis] < 0 || stride <= 0)
      return std::nullopt;
    count = count * int64_t(llvm::divideCeil(uint64_t((*filter)[axis]),
                                             uint64_t(stride)));
  }
  return count;
}

/// The longer of its two products: over the head's width and over the keys.
static MaybeCount countAttended(mp::AttentionOp op) {
  MaybeShape key = getShape(op.getKey());
  if (!key || key->size() < 2)
    return std::nullopt;
  MaybeCount width = getDim(op.getKey(), -1);
  if (key->size() == 3 && op.getNumHeads() > 0 && width) {
    int64_t heads =
        op.getKvNumHeads() > 0 ? op.getKvNumHeads() : op.getNumHeads();
    width = *width / heads;
  }
  MaybeCount length = getDim(op.getKey(), -2);
  if (!width || !length)
    return width ? width : length;
  return std::max(*width, *length);
}

std::optional<int64_t> mpopt::countProducts(Operation *op) {
  return llvm::TypeSwitch<Operation *, MaybeCount>(op)
      .Case([](mp::MatMulOp op) {
        MaybeShape shape = getShape(op.getLhs());
        bool swapped = op.getTransA() && shape && shape->size() > 1;
        return getDim(op.getLhs(), swapped ? -2 : -1);
      })
      .Case([](mp::GemmOp op) {
        return getDim(op.getLhs(), op.getTransA() ? 0 : 1);
      })
      .Case([](mp::LinearOp op) { return getDim(op.getInput(), -1); })
      .Case<mp::ConvOp, mp::DeformConvOp>(
          [](auto op) { return countFrom(op.getFilter(), 1); })
      .Case([](mp::ConvTransposeOp op) { return countTaps(op); })
      .Case([](mp::EinsumOp op) { return countContracted(op); })
      .Case([](mp::AttentionOp op) { return countAttended(op); })
      .Default(MaybeCount());
}

//===----------------------------------------------------------------------===//
// Row sums of composites
//===----------------------------------------------------------------------===//

static int64_t getAxis(Operation *op) {
  auto axis = op->getAttrOfType<IntegerAttr>("axis");
  return axis ? axis.getInt() : -1;
}

/// The elements of operand 0 for one of the result: along `axes`, or all that
/// the result does not keep.
static MaybeCount countReduced(Operation *op) {
  Value input = op->getOperand(0);
  if (auto axes = op->getAttrOfType<DenseI64ArrayAttr>("axes")) {
    MaybeCount count = 1;
    for (int64_t axis : axes.asArrayRef())
      count = count * getDim(input, axis);
    if (!axes.empty())
      return count;
  }
  MaybeCount all = getNumElements(getShape(input));
  MaybeCount left = getNumElements(getShape(op->getResult(0)));
  if (!all || !left || *left == 0)
    return std::nullopt;
  return *all / *left;
}

static MaybeCount countWindow(ArrayRef<int64_t> kernel) {
  MaybeCount count = 1;
  for (int64_t size : kernel)
    count = count * size;
  return count;
}

/// The powers of elements, or of differences, under the root of a length.
static MaybeCount countPowers(Operation *op) {
  Value input = op->getOperand(0);
  if (hasRole(op, Role::Reduction) && hasRole(op, Role::Statistic))
    return countReduced(op);
  return llvm::TypeSwitch<Operation *, MaybeCount>(op)
      .Case<mp::LpNormalizeOp, mp::CosineSimilarityOp>(
          [&](auto op) { return getDim(input, op.getAxis()); })
      .Case<mp::PdistOp, mp::CdistOp>([&](auto) { return getDim(input, -1); })
      .Case([&](mp::DistOp) { return getNumElements(getShape(input)); })
      .Case([&](mp::RenormOp op) {
        MaybeCount all = getNumElements(getShape(input));
        MaybeCount slices = getDim(input, op.getAxis());
        return all && slices && *slices > 0 ? MaybeCount(*all / *slices)
                                            : std::nullopt;
      })
      .Case([](mp::LRNOp op) { return op.getSize(); })
      .Case([](mp::LpPoolOp op) { return countWindow(op.getKernelShape()); })
      .Case([&](mp::GlobalLpPoolOp) { return countFrom(input, 2); })
      .Case([&](mp::MeanVarianceNormOp) { return countReduced(op); })
      .Default(MaybeCount());
}

static MaybeCount countRow(Operation *op) {
  Value input = op->getOperand(0);
  if (hasRole(op, Role::Softmax))
    return getDim(input, getAxis(op));
  if (MaybeCount count = countPowers(op))
    return count;
  MaybeShape shape = getShape(input);
  if (!shape)
    return std::nullopt;
  if (isa<mp::LayerNormOp, mp::RMSNormOp>(op)) {
    std::optional<int64_t> axis = normalizeAxis(getAxis(op), shape->size());
    return axis ? countFrom(input, *axis) : std::nullopt;
  }
  if (isa<mp::InstanceNormOp>(op))
    return countFrom(input, 2);
  if (auto norm = dyn_cast<mp::GroupNormOp>(op)) {
    int64_t groups = norm.getNumGroups();
    MaybeCount all = countFrom(input, 1);
    if (groups > 0 && all)
      return *all / groups;
  }
  return std::nullopt;
}

/// The format of a composite's sums, if the model states it; else null.
static const FloatFormat *getStated(Operation *op) {
  for (StringRef name : {"stash_type", "softmax_type"})
    if (auto stated = op->getAttrOfType<TypeAttr>(name))
      return getFloatFormat(stated.getValue());
  return nullptr;
}

/// The products that are added before a scale of their block is multiplied in.
static int64_t countOfBlock(Operation *op) {
  std::optional<ScaledOperand> scaled = getScaledOperand(op->getOperand(0));
  return scaled && scaled->scaling.grain == OperandScaling::Grain::Block
             ? scaled->scaling.size
             : std::numeric_limits<int64_t>::max();
}

std::optional<AddedTerms> mpopt::getInnerTerms(Operation *op,
                                               const TargetProfile &target) {
  if (op->getNumOperands() == 0)
    return std::nullopt;
  const FloatFormat *own = getFloatFormat(getElementType(op->getOperand(0)));
  if (!own)
    return std::nullopt;
  MaybeCount count = countProducts(op);
  if (const FloatFormat *codes = getSumOfCodes(op, target))
    return AddedTerms{std::min(*count, countOfBlock(op)), codes};
  if (count)
    return AddedTerms{*count, &target.products(*own, getKernel(op))};
  if (MaybeCount count = countRow(op)) {
    // A model may ask for a narrower sum than the target's. A wider one is what
    // exporters write by default, and no kernel of a target that has none.
    const FloatFormat *stated = getStated(op);
    const FloatFormat *sums = &target.sums(*own, getKernel(op));
    return AddedTerms{*count,
                      stated && stated->digits < sums->digits ? stated : sums};
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// The losses that a mean or a sum is of: one of each target of a class, or of
/// each element.
static MaybeCount countLosses(Operation *op) {
  auto reduction = op->getAttrOfType<StringAttr>("reduction");
  if (!reduction || reduction.getValue() == "none")
    return std::nullopt;
  MaybeCount most;
  bool ofClasses = op->getNumOperands() > 1 &&
                   isa<IntegerType>(getElementType(op->getOperand(1)));
  if (ofClasses)
    return getNumElements(getShape(op->getOperand(1)));
  for (Value operand : op->getOperands())
    if (MaybeCount count = getNumElements(getShape(operand)))
      most = std::max(most, count);
  return most;
}

static MaybeCount countWritten(Operation *op) {
  // The norms of order 0 and infinity count and compare.
  if (auto norm = dyn_cast<mp::NormOp>(op))
    if (norm.getOrd().isZero() || norm.getOrd().isInfinity())
      return std::nullopt;
  if (hasRole(op, Role::Reduction) &&
      hasRole(op, Role::Sum | Role::MagnitudeSum))
    return countReduced(op);
  if (isa<mp::GlobalAveragePoolOp>(op))
    return countFrom(op->getOperand(0), 2);
  if (isa<mp::AdaptiveAvgPoolOp>(op))
    return countReduced(op);
  if (hasRole(op, Role::Loss))
    return countLosses(op);
  if (auto pool = dyn_cast<mp::AveragePoolOp>(op))
    return countWindow(pool.getKernelShape());
  if (isa<mp::MeanNOp>(op))
    return op->getNumOperands();
  if (auto sum = dyn_cast<mp::CumSumOp>(op))
    if (std::optional<int64_t> axis = sum.getAxis())
      return getDim(sum.getInput(), *axis);
  return std::nullopt;
}

/// How often the body of `loop` runs, and the values that it carries: the block
/// argument and what it becomes.
static MaybeCount
getCarried(Operation *loop,
           SmallVectorImpl<std::pair<BlockArgument, Value>> &carried) {
  MaybeCount count;
  size_t states = 0, first = 0, skipped = 0;
  Block *body = nullptr;
  if (auto op = dyn_cast_if_present<mp::LoopOp>(loop)) {
    count = op.getKnownTripCount(ShapeFacts());
    states = op.getInitial().size();
    first = 2;   // the iteration number and the condition
    skipped = 1; // the condition
    body = &op.getBody().front();
  } else if (auto op = dyn_cast_if_present<mp::ScanOp>(loop)) {
    if (!op.getInputs().empty() && !op.getBatched())
      count = getDim(op.getInputs().front(), op.getInputAxis(0));
    states = op.getInitial().size();
    body = &op.getBody().front();
  }
  if (!body || body->empty() || !body->back().hasTrait<OpTrait::IsTerminator>())
    return std::nullopt;
  Operation &yield = body->back();
  for (size_t i = 0; i < states; ++i)
    if (first + i < body->getNumArguments() &&
        skipped + i < yield.getNumOperands())
      carried.push_back(
          {body->getArgument(first + i), yield.getOperand(skipped + i)});
  return count;
}

static std::optional<AddedTerms> getLoopTerms(Operation *op) {
  if (!hasRole(op, Role::Addition | Role::Subtraction) ||
      op->getNumOperands() != 2)
    return std::nullopt;
  SmallVector<std::pair<BlockArgument, Value>> carried;
  MaybeCount count = getCarried(op->getParentOp(), carried);
  Value result = op->getResult(0);
  const FloatFormat *format = getFloatFormat(getElementType(result));
  if (!count || !format)
    return std::nullopt;
  for (auto [argument, next] : carried) {
    if (peel(next) != result)
      continue;
    for (unsigned index : {0u, 1u})
      if (peel(op->getOperand(index)) == argument)
        return AddedTerms{*count, format, op->getOperand(1 - index)};
  }
  return std::nullopt;
}

std::optional<AddedTerms> mpopt::getWrittenTerms(Operation *op,
                                                 const TargetProfile &target) {
  if (op->getNumOperands() == 0)
    return std::nullopt;
  if (std::optional<AddedTerms> terms = getLoopTerms(op))
    return terms;
  Value summed = op->getOperand(0);
  const FloatFormat *own = getFloatFormat(getElementType(summed));
  MaybeCount count = own ? countWritten(op) : std::nullopt;
  if (!count)
    return std::nullopt;
  return AddedTerms{*count, &target.sums(*own, getKernel(op)), summed,
                    hasRole(op, Role::MagnitudeSum)};
}
