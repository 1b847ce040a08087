//===- RunningSumParts.cpp - Elements of a running sum
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With c the running sum of x, c_i adds up the terms up to i, and c_j - c_i
// those between: sums over windows and over sorted segments are written so. As
// independent numbers they would be as large as the whole sum, and what
// rounding takes from them a small part. The estimate only.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Ranges/Relations/RelationSupport.h"

#include "mpopt/Ranges/Value/CellSupport.h"
#include "mpopt/Ranges/Value/RowSupport.h"
#include "mpopt/Ranges/Value/ShapeSupport.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Numerics/Likely.h"

#include "llvm/Support/Endian.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::relations;

namespace {
/// A value whose elements along one axis are those of a running sum that lie at
/// these places.
struct Places {
  mp::CumSumOp sum;
  int64_t axis = 0;
  std::vector<int64_t> at;

  static std::optional<Places> of(Value value, TransferContext &ctx,
                                  unsigned depth = 4);
  /// False for what is taken along another axis, too.
  bool take(mp::SliceOp slice, TransferContext &ctx);
  bool take(mp::GatherOp gather);
};

/// How many terms are added up.
struct Lengths {
  double mean = 0, square = 0, least = kInfinity, most = 0;

  void add(double length, size_t count) {
    mean += length / double(count);
    square += length * length / double(count);
    least = std::min(least, length);
    most = std::max(most, length);
  }
};
} // namespace

bool Places::take(mp::SliceOp slice, TransferContext &ctx) {
  MaybeShape from = getShape(slice.getInput());
  auto parts = from && axis < int64_t(from->size()) ? partsOf(slice, *from, ctx)
                                                    : std::nullopt;
  if (!parts)
    return false;
  for (auto [index, part] : llvm::enumerate(*parts))
    if (int64_t(index) != axis && !part.isWhole())
      return false;
  const AxisSlice &own = (*parts)[axis];
  if (own.stride < 1 || own.size != int64_t(at.size()))
    return false;
  std::vector<int64_t> taken;
  for (int64_t i = 0; i < own.count; ++i)
    taken.push_back(at[size_t(own.of(i))]);
  at = std::move(taken);
  return true;
}

bool Places::take(mp::GatherOp gather) {
  auto indices = gather.getIndices().getDefiningOp<mp::ConstantOp>();
  MaybeShape shape = getShape(gather.getIndices());
  int64_t rank = TransferContext::rankOf(gather.getInput());
  std::optional<ConstantBytes> bytes =
      indices ? getConstantBytes(indices) : std::nullopt;
  if (!bytes || bytes->splat || !shape || shape->size() != 1 ||
      normalizeAxis(gather.getAxis(), rank) != axis ||
      !getElementType(gather.getIndices()).isInteger(64))
    return false;
  std::vector<int64_t> taken;
  for (size_t byte = 0; byte < bytes->data.size(); byte += sizeof(int64_t)) {
    int64_t index = llvm::support::endian::read64le(&bytes->data[byte]);
    index += index < 0 ? at.size() : 0;
    if (index < 0 || size_t(index) >= at.size())
      return false;
    taken.push_back(at[size_t(index)]);
  }
  at = std::move(taken);
  return !at.empty();
}

std::optional<Places> Places::of(Value value, TransferContext &ctx,
                                 unsigned depth) {
  constexpr int64_t kMost = 1 << 20; // places of a list in memory
  Operation *op = peel(value, Peel::Rounded).getDefiningOp();
  if (auto sum = dyn_cast_if_present<mp::CumSumOp>(op)) {
    auto axis = cells::findAxis(ctx, sum.getInput(), sum.getAxis(),
                                sum.getDynamicAxis());
    MaybeShape shape = getShape(sum.getResult());
    if (!axis || !shape || (*shape)[*axis] < 2 || (*shape)[*axis] > kMost ||
        sum.getReverse())
      return std::nullopt;
    Places all{sum, *axis, std::vector<int64_t>((*shape)[*axis])};
    std::iota(all.at.begin(), all.at.end(), sum.getExclusive() ? 0 : 1);
    return all;
  }
  if (depth == 0 || !isa_and_present<mp::SliceOp, mp::GatherOp>(op))
    return std::nullopt;
  std::optional<Places> inner = of(op->getOperand(0), ctx, depth - 1);
  auto slice = dyn_cast<mp::SliceOp>(op);
  bool taken = inner && (slice ? inner->take(slice, ctx)
                               : inner->take(cast<mp::GatherOp>(op)));
  return taken ? std::move(inner) : std::nullopt;
}

/// Expects sums of so many terms. The variance of the whole sum beyond that of
/// independent terms is common to its positions.
static void expectSums(Value result, AbstractValue &value, Places &places,
                       const Lengths &lengths, double sign,
                       TransferContext &ctx) {
  const AbstractValue &terms = ctx.of(places.sum.getInput());
  const AbstractValue &sums = ctx.of(places.sum.getResult());
  if (!value.hasLikely() || !terms.hasLikely() || !sums.hasLikely() ||
      terms.rank() != value.rank())
    return;
  MaybeShape shape = getShape(places.sum.getResult());
  double n = double((*shape)[places.axis]);
  Cell one = terms.hull(), all = sums.hull();
  double alone = n / 2 * one.variance + n * n / 12 * one.mean * one.mean;
  double common = std::max(0.0, all.variance - alone) * 3 / (n * n);
  common = std::min(common, one.variance);
  AbstractValue by = terms.merging(places.axis).regrouped(value.dims());
  double draws = ctx.elementsPerGroup(result, value.groups());
  for (auto [group, cell] : llvm::enumerate(value.mutableCells())) {
    Cell term = by.cell(group);
    double own = std::max(0.0, term.variance - common);
    double spread = lengths.square - lengths.mean * lengths.mean;
    double variance = lengths.mean * own + lengths.square * common +
                      std::max(0.0, spread) * term.mean * term.mean;
    double reach =
        expectedExtreme(draws) *
        std::sqrt(lengths.most * own + lengths.most * lengths.most * common);
    double ends[] = {lengths.least * term.mean, lengths.most * term.mean};
    Likely expected{lengths.mean * term.mean, variance,
                    std::min(ends[0], ends[1]) - reach,
                    std::max(ends[0], ends[1]) + reach};
    expected = expected.within(
        {term.lo < 0 ? -kInfinity : 0, term.hi > 0 ? kInfinity : 0});
    expected = likely::affine(expected, sign, 0);
    if (std::isfinite(expected.lo) && std::isfinite(expected.hi))
      cells::setLikely(cell, expected);
  }
}

void relations::expectPartOfSum(Operation *op, AbstractValue &value,
                                TransferContext &ctx) {
  Value result = op->getResult(0);
  Lengths lengths;
  if (!isa<mp::SubOp>(op)) {
    std::optional<Places> places = Places::of(result, ctx);
    // Groups of places have their own sums.
    if (!places || value.rank() <= size_t(places->axis) ||
        value.dims()[places->axis] > 1)
      return;
    for (int64_t at : places->at)
      lengths.add(double(at), places->at.size());
    return expectSums(result, value, *places, lengths, 1, ctx);
  }
  std::optional<Places> to = Places::of(op->getOperand(0), ctx);
  auto from = to ? Places::of(op->getOperand(1), ctx) : std::nullopt;
  if (!from || to->sum != from->sum || to->at.size() != from->at.size())
    return;
  double sign = to->at.front() < from->at.front() ? -1 : 1;
  for (auto [last, first] : llvm::zip_equal(to->at, from->at)) {
    double length = sign * double(last - first);
    if (length < 0)
      return;
    lengths.add(length, to->at.size());
  }
  expectSums(result, value, *to, lengths, sign, ctx);
}
