//===- AccumulatorOverflow.cpp - MP606: a sum of products leaves 32 bits
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integer kernels add products of codes in 32 bits, which wrap. The extremes of
// a sum are those of its terms added up: each code at the end that the sign of
// its weight asks for. Not covered: weights that a run computes, and kernels
// with other accumulators.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/QuantizationScale.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/StorageTypes.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/ConstantText.h"
#include "mpopt/Propagate/IntegerProduct.h"
#include "mpopt/Ranges/Value/TransferContext.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_ACCUMULATOROVERFLOW
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct AccumulatorOverflow
    : RangeRule<AccumulatorOverflow, mpopt::impl::AccumulatorOverflowBase> {
  void judge(Operation *op, const RangeAnalysis &ranges);
};

/// The sums of one output channel: the extremes of all codes, and the one that
/// is expected.
struct ChannelSum {
  double least = 0, most = 0, expected = 0;
};
} // namespace

static std::optional<IntegerOperands> findProduct(Operation *op) {
  if (auto operands = getIntegerOperands(op))
    return operands;
  if (op->getNumOperands() < 2)
    return std::nullopt;
  MaybeShape shape = getShape(op->getOperand(1));
  auto lhs = getMaker<mp::DequantizeOp>(op->getOperand(0), Peel::Identities);
  auto rhs = getMaker<mp::DequantizeOp>(op->getOperand(1), Peel::Identities);
  std::optional<int64_t> axis =
      shape ? findChannelAxis(op->getOpOperand(1), int64_t(shape->size()))
            : std::nullopt;
  // Runtimes fuse pairs around products of 8 bits; wider ones are multiplied in
  // floats.
  auto isByte = [](Value codes) {
    return getElementType(codes).getIntOrFloatBitWidth() <= 8;
  };
  if (!lhs || !rhs || !axis || !isByte(lhs.getInput()) ||
      !isByte(rhs.getInput()))
    return std::nullopt;
  return IntegerOperands{lhs.getInput(), lhs.getZeroPoint(), rhs.getInput(),
                         rhs.getZeroPoint(), *axis};
}

static double numberOf(Value zeroPoint, const RangeAnalysis &ranges) {
  return zeroPoint ? ranges.of(zeroPoint).hull().mean : 0;
}

/// The sums of all channels; empty where the weights cannot be read or no sum
/// of so many terms leaves 32 bits.
static std::vector<ChannelSum> addUp(const IntegerOperands &product,
                                     const RangeAnalysis &ranges) {
  auto format = storageFormatOf(getElementType(product.lhs));
  auto weightFormat = storageFormatOf(getElementType(product.rhs));
  std::optional<WeightView> view = ranges.context().weights(product.rhs);
  std::optional<int64_t> axis =
      view ? normalizeAxis(product.axis, int64_t(view->shape.size()))
           : std::nullopt;
  if (!format || !weightFormat || format->floats || weightFormat->floats ||
      !axis || view->size() == 0)
    return {};
  double zero = numberOf(product.lhsZeroPoint, ranges),
         weightZero = numberOf(product.rhsZeroPoint, ranges);
  double lo = format->codes.lo - zero, hi = format->codes.hi - zero;
  int64_t channels = view->shape[*axis], inner = 1;
  for (int64_t dim : ArrayRef(view->shape).drop_front(*axis + 1))
    inner *= dim;
  int64_t terms = view->size() / channels;
  double largest =
      std::max(-lo, hi) * (weightFormat->codes.hi - weightFormat->codes.lo);
  if (double(terms) * largest < 0x1p31)
    return {};
  const AbstractValue &codes = ranges.of(product.lhs);
  double mean = codes.hasLikely() ? codes.hull().mean - zero : 0;
  std::vector<ChannelSum> sums(channels);
  auto add = [&](ChannelSum &sum, double code, double count) {
    double weight = (code - weightZero) * count;
    sum.most += std::max(weight * hi, weight * lo);
    sum.least += std::min(weight * hi, weight * lo);
    sum.expected += weight * mean;
  };
  // Elements read at a time: 8 KiB on the stack.
  constexpr int64_t kPiece = 1 << 10;
  double piece[kPiece];
  if (view->splat) {
    view->read(0, MutableArrayRef<double>(piece, 1));
    for (ChannelSum &sum : sums)
      add(sum, piece[0], double(terms));
    return sums;
  }
  for (int64_t first = 0; first < view->size(); first += kPiece) {
    MutableArrayRef<double> read(piece, std::min(kPiece, view->size() - first));
    view->read(first, read);
    for (auto [offset, code] : llvm::enumerate(read))
      add(sums[(first + int64_t(offset)) / inner % channels], code, 1);
  }
  return sums;
}

void AccumulatorOverflow::judge(Operation *op, const RangeAnalysis &ranges) {
  std::optional<IntegerOperands> product = findProduct(op);
  if (!product)
    return;
  size_t reachable = 0, expected = 0;
  ChannelSum worst;
  auto leaves = [](double sum) { return sum >= 0x1p31 || sum < -0x1p31; };
  for (const ChannelSum &sum : addUp(*product, ranges)) {
    reachable += leaves(sum.most) || leaves(sum.least);
    expected += leaves(sum.expected);
    if (std::max(sum.most, -sum.least) > std::max(worst.most, -worst.least))
      worst = sum;
  }
  if (reachable == 0)
    return;
  Value weights = product->rhs;
  FindingBuilder finding = report(
      op, op->getResult(0), expected ? Certainty::Likely : Certainty::Possible);
  finding.severity(Severity::Error)
      .message((expected ? std::to_string(expected) + " output channels are "
                                                      "expected to leave"
                         : std::to_string(reachable) +
                               " output channels can leave") +
               " 32 bits where products of codes are added, up to " +
               formatNumber(std::max(worst.most, -worst.least)))
      .cause(weights,
             "has the weights; a code at the end that the sign of each "
             "asks for attains the sum");
}
