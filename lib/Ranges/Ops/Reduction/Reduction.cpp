//===- Reduction.cpp - Ranges of reductions
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops, by what becomes of a row of each (ReductionFunctions.h).
//
//===----------------------------------------------------------------------===//

#include "ReductionFunctions.h"
#include "lib/Ranges/Ops/Families.h"

#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Numerics/Accumulation.h"
#include "mpopt/Numerics/Rounding.h"
#include "mpopt/Ranges/RangeInterface.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::cells;
using namespace mpopt::reduction;

template <typename OpTy>
static std::optional<llvm::SmallBitVector> axesOf(OpTy op,
                                                  TransferContext &ctx) {
  size_t rank = ctx.rankOf(op.getInput());
  if (!op.getDynamicAxes())
    return reducedAxes(op.getAxes().value_or(ArrayRef<int64_t>()), rank);
  std::optional<SmallVector<int64_t>> axes =
      ctx.shapes().constants(op.getDynamicAxes());
  if (!axes)
    return std::nullopt;
  return reducedAxes(*axes, rank);
}

template <typename OpTy> static double parameterOf(OpTy op) {
  if constexpr (requires { op.getCorrection(); })
    return op.getCorrection().convertToDouble();
  else if constexpr (requires { op.getOrd(); })
    return op.getOrd().convertToDouble();
  else
    return 0;
}

/// True if an intermediate sum of an integer kernel may wrap.
static bool mayWrap(Value input, const AbstractValue &x, bool squares) {
  double most = cells::bound(x.hull()).maxAbs();
  if (squares)
    most *= most;
  for (int64_t dim : getShape(input).value_or(Shape{kDynamic}))
    most *= dim < 0 ? kInfinity : double(dim);
  return most > 0 && !(most <= TransferContext::anything(input).cell(0).hi);
}

/// True if the tensor has no element, whatever its unknown dims are.
static bool isEmpty(Value input) {
  MaybeShape shape = getShape(input);
  return shape && llvm::is_contained(*shape, 0);
}

/// True if the reduction of no elements is 0. For the other reductions the
/// maximum, the mean and the product of no elements are -Inf, NaN and 1, or
/// depend on the runtime.
template <typename OpTy>
static constexpr bool kEmptyIsZero =
    llvm::is_one_of<OpTy, mp::ReduceSumOp, mp::ReduceL1Op, mp::ReduceL2Op,
                    mp::ReduceSumSquareOp, mp::ReduceAllOp, mp::ReduceAnyOp,
                    mp::CountNonzeroOp>::value;

/// The sum of as many rows as are reduced.
static std::optional<RowSumFact>
rowSumOfSums(mp::ReduceSumOp op, const AbstractValue &x,
             const std::optional<llvm::SmallBitVector> &axes,
             TransferContext &ctx) {
  MaybeShape shape = getShape(op.getInput());
  if (!x.rowSum || !axes || !shape || axes->test(x.rowSum->axis))
    return std::nullopt;
  RowSumFact fact = *x.rowSum;
  double count = 1;
  for (unsigned axis : axes->set_bits()) {
    if ((*shape)[axis] <= 0)
      return std::nullopt;
    count *= double((*shape)[axis]);
    fact.axis -= !op.getKeepDims() && int64_t(axis) < x.rowSum->axis;
  }
  double error = relativeSumError(ctx.sumFormat(op.getInput()), count, 2);
  fact.lo = mulDown(fact.lo * count, 1 - error);
  fact.hi = mulUp(fact.hi * count, 1 + error);
  return fact;
}

template <auto function, typename OpTy>
static void transferReduce(OpTy op, TransferContext &ctx) {
  const AbstractValue &x = ctx.operand(0);
  // Integers are added without rounding. What wraps is the driver's to know,
  // but for sums that a function brings back into range.
  bool integers = isa<IntegerType>(getElementType(op.getInput()));
  constexpr bool isMean = std::is_same_v<OpTy, mp::ReduceMeanOp>;
  constexpr bool ofSum = isMean || std::is_same_v<OpTy, mp::ReduceL2Op> ||
                         std::is_same_v<OpTy, mp::ReduceLogSumOp> ||
                         std::is_same_v<OpTy, mp::ReduceLogSumExpOp>;
  if (ofSum && integers && mayWrap(op.getInput(), x, !isMean))
    return ctx.unknown();
  if (!kEmptyIsZero<OpTy> && isEmpty(op.getInput()))
    return ctx.unknown();
  Reducing state{x,
                 integers ? FloatFormat::f64() : ctx.sumFormat(op.getInput()),
                 parameterOf(op)};
  AbstractValue value =
      reduceRows(ctx, op.getInput(), axesOf(op, ctx), op.getKeepDims(),
                 op.getResult(), state, function);
  constexpr bool selects = std::is_same_v<OpTy, mp::ReduceMaxOp> ||
                           std::is_same_v<OpTy, mp::ReduceMinOp>;
  if (selects) {
    value.keepsMinNonZero(x);
    value.keepsIntegral(x);
  }
  if constexpr (std::is_same_v<OpTy, mp::ReduceSumOp>)
    value.rowSum = rowSumOfSums(op, x, axesOf(op, ctx), ctx);
  if (ofSum && integers)
    for (CellRef cell : value.mutableCells()) {
      cell.lo = std::floor(cell.lo);
      cell.hi = std::ceil(cell.hi);
    }
  ctx.result(0, std::move(value));
}

template <auto function, typename... Ops>
static void attachReduce(MLIRContext *context) {
  (attachTransfer<transferReduce<function, Ops>, Ops>(context), ...);
}

void mpopt::attachReductionTransfers(MLIRContext *context) {
  attachReduce<sumRow, mp::ReduceSumOp>(context);
  attachReduce<meanRow, mp::ReduceMeanOp>(context);
  attachReduce<maxRow, mp::ReduceMaxOp>(context);
  attachReduce<minRow, mp::ReduceMinOp>(context);
  attachReduce<productRow, mp::ReduceProdOp>(context);
  attachReduce<absSumRow, mp::ReduceL1Op>(context);
  attachReduce<l2Row, mp::ReduceL2Op>(context);
  attachReduce<sumSquareRow, mp::ReduceSumSquareOp>(context);
  attachReduce<logSumRow, mp::ReduceLogSumOp>(context);
  attachReduce<logSumExpRow, mp::ReduceLogSumExpOp>(context);
  attachReduce<normRow, mp::NormOp>(context);
  attachReduce<varianceRow, mp::VarianceOp>(context);
  attachReduce<stdRow, mp::StdOp>(context);
  attachReduce<allRow, mp::ReduceAllOp>(context);
  attachReduce<anyRow, mp::ReduceAnyOp>(context);
  attachReduce<countRow, mp::CountNonzeroOp>(context);
}
