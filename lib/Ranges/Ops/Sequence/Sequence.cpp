//===- Sequence.cpp - Ranges of lists, optionals, strings and images
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A list has one value: what holds of each of its elements.
//
//===----------------------------------------------------------------------===//

#include "lib/Ranges/Ops/Families.h"
#include "mpopt/Ranges/Value/CellSupport.h"

#include "mpopt/Dialect/Ops/SequenceOps.h"
#include "mpopt/Ranges/RangeInterface.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::cells;

/// More elements than a list has.
static constexpr double kLongest = 0x1p31;

static AbstractValue nothing() {
  AbstractValue value(AbstractValue::Dims(), Cell{kInfinity, -kInfinity});
  value.source = LikelySource::Weight;
  value.claimIntegral();
  return value;
}

static bool isNothing(const AbstractValue &value) {
  return !value.mayBeNonFinite() && value.groups() == 1 &&
         value.cell(0).empty();
}

/// The elements of either.
static AbstractValue both(const AbstractValue &a, const AbstractValue &b) {
  if (isNothing(a))
    return b;
  return isNothing(b) ? a : a.join(b);
}

static void transferConstruct(mp::SequenceConstructOp op,
                              TransferContext &ctx) {
  AbstractValue all = nothing();
  for (Value element : op.getElements())
    all = both(all, spread(ctx.of(element), op.getResult()));
  ctx.result(0, std::move(all));
}

static void transferEmpty(mp::SequenceEmptyOp, TransferContext &ctx) {
  ctx.result(0, nothing());
}

static void transferInsert(mp::SequenceInsertOp op, TransferContext &ctx) {
  ctx.result(0, both(spread(ctx.of(op.getSequence()), op.getResult()),
                     spread(ctx.of(op.getElement()), op.getResult())));
}

/// Facts about the first operand's elements hold for the result.
static void transferElement(Operation *op, TransferContext &ctx) {
  ctx.result(0, spread(ctx.operand(0), op->getResult(0)));
}

static void transferLength(mp::SequenceLengthOp op, TransferContext &ctx) {
  Elements known = ctx.shapes().elements(op.getResult());
  if (known && known->size() == 1 && known->front())
    return ctx.result(0, integers(double(*known->front()),
                                  double(*known->front()), op.getResult()));
  AbstractValue value = integers(0, kLongest, op.getResult());
  value.source = LikelySource::Unknown;
  ctx.result(0, std::move(value));
}

static void transferMap(mp::SequenceMapOp op, TransferContext &ctx) {
  for (auto [argument, input] :
       llvm::zip(op.getBody().getArguments(), op.getInputs())) {
    bool element = input.getType() != argument.getType();
    ctx.setArgument(argument,
                    element ? spread(ctx.of(input), argument) : ctx.of(input));
  }
  ctx.walk(op.getBody());
  Operation *yield = op.getBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(yield->getOperands()))
    ctx.result(i, spread(ctx.of(value), op->getResult(i)));
}

static void transferOptional(mp::OptionalOp op, TransferContext &ctx) {
  ctx.result(0, op.getInput() ? spread(ctx.of(op.getInput()), op.getResult())
                              : nothing());
}

static void transferTruth(Operation *op, TransferContext &ctx) {
  ctx.result(0, integers(0, 1, op->getResult(0)));
}

//===----------------------------------------------------------------------===//
// Strings and images
//===----------------------------------------------------------------------===//

/// Strings are no numbers; numbers beside them count.
static void transferStrings(Operation *op, TransferContext &ctx) {
  for (OpResult result : op->getResults()) {
    if (!isa<IntegerType>(getElementType(result))) {
      ctx.unknown(result.getResultNumber());
      continue;
    }
    AbstractValue value = integers(0, kLongest, result);
    value.mutableCells().front() = Cell{0, kLongest, 1, 1, 0, 16};
    ctx.result(result.getResultNumber(), std::move(value));
  }
}

/// No more n-grams of one kind than start at each token, for each number of
/// skipped ones.
static void transferTfIdf(mp::TfIdfVectorizerOp op, TransferContext &ctx) {
  MaybeShape shape = getShape(op.getInput());
  double most = kInfinity;
  if (shape && !shape->empty() && shape->back() >= 0)
    most = double(shape->back()) * double(op.getMaxSkipCount() + 1);
  double lo = 1, hi = 1;
  if (std::optional<ArrayRef<double>> weights = op.getWeights();
      weights && op.getMode() != "TF") {
    for (double weight : *weights) {
      lo = std::min(lo, weight);
      hi = std::max(hi, weight);
    }
  }
  Interval count = {0, op.getMode() == "IDF" ? 1 : most};
  Interval all = hull(count * Interval{lo, hi}, 0.0).widened(1e-6);
  AbstractValue value(AbstractValue::Dims(ctx.rankOf(op.getResult()), 1),
                      make(all, 0.1, 0.1, hull(Interval{lo, hi}, 0.0)));
  value.source = LikelySource::Propagated;
  ctx.result(0, std::move(value));
}

static void transferImageDecoder(mp::ImageDecoderOp op, TransferContext &ctx) {
  ctx.result(0, integers(0, 255, op.getResult()));
}

void mpopt::attachSequenceTransfers(MLIRContext *context) {
  attachTransfer<transferConstruct, mp::SequenceConstructOp>(context);
  attachTransfer<transferEmpty, mp::SequenceEmptyOp>(context);
  attachTransfer<transferInsert, mp::SequenceInsertOp>(context);
  attachTransfer<transferElement, mp::SequenceEraseOp, mp::SequenceAtOp,
                 mp::SplitToSequenceOp, mp::ConcatFromSequenceOp,
                 mp::OptionalGetElementOp>(context);
  attachTransfer<transferLength, mp::SequenceLengthOp>(context);
  attachTransfer<transferMap, mp::SequenceMapOp>(context);
  attachTransfer<transferOptional, mp::OptionalOp>(context);
  attachTransfer<transferTruth, mp::OptionalHasElementOp, mp::RegexFullMatchOp>(
      context);
  attachTransfer<transferStrings, mp::StringConcatOp, mp::StringNormalizerOp,
                 mp::StringSplitOp>(context);
  attachTransfer<transferTfIdf, mp::TfIdfVectorizerOp>(context);
  attachTransfer<transferImageDecoder, mp::ImageDecoderOp>(context);
}
