//===- SquaredDistance.cpp - Distances by expanded squares
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// |u|^2 + |v|^2 - 2 u . v is |u - v|^2: nearest entries of a codebook, kernels
// of all pairs, contrastive losses. Its three terms depend on each other; were
// they independent, half of the distances near 0 would be expected below it.
// The estimate only, since rounding may take more than a small distance.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Ranges/Relations/RelationSupport.h"

#include "SumOfProducts.h"
#include "mpopt/Ranges/Value/CellSupport.h"
#include "mpopt/Ranges/Value/Number.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::relations;

namespace {
struct Term {
  Value value;
  bool negative = false;
  /// The bias of a Gemm, which is a term of its own.
  Value bias;
};
} // namespace

/// The terms of a sum, of which there are at most three.
static SmallVector<Term, 3> splitSum(Operation *op) {
  constexpr size_t kMost = 3;
  SmallVector<Term, 3> terms = {{op->getResult(0)}};
  for (size_t index = 0; index < terms.size() && terms.size() < kMost;) {
    auto [value, negative, bias] = terms[index];
    Operation *sum = mpopt::peel(value, Peel::CastsAndViews).getDefiningOp();
    auto product = dyn_cast_if_present<mp::GemmOp>(sum);
    if (product && product.getBias() && product.getBeta().isExactlyValue(1)) {
      terms[index++].bias = product.getBias();
      terms.push_back({product.getBias(), negative});
      continue;
    }
    bool subtracts = isa_and_present<mp::SubOp>(sum);
    if (!subtracts && !isa_and_present<mp::AddOp>(sum)) {
      ++index;
      continue;
    }
    terms[index] = {sum->getOperand(0), negative};
    terms.push_back({sum->getOperand(1), negative != subtracts});
  }
  return terms;
}

/// The rows whose squares a term adds up, and how many elements a row has, 0 if
/// that is not known; null for other terms.
static std::pair<Value, double> findSquared(Value term, TransferContext &ctx) {
  Operation *op = mpopt::peel(term, Peel::CastsAndViews).getDefiningOp();
  if (!isa_and_present<mp::ReduceSumOp, mp::ReduceSumSquareOp>(op))
    return {};
  Value rows = op->getOperand(0);
  std::optional<Axes> axes = getReducedAxes(op, ctx.shapes());
  double length = axes ? rowLength(rows, *axes).value_or(0) : 0;
  if (isa<mp::ReduceSumOp>(op))
    rows = relations::getSquared(
        mpopt::peel(rows, Peel::CastsAndViews).getDefiningOp(), ctx);
  return {rows ? mpopt::peel(rows, Peel::CastsAndViews) : rows, length};
}

void relations::expectSquaredDistance(Value result, AbstractValue &value,
                                      TransferContext &ctx) {
  if (!value.hasLikely())
    return;
  SmallVector<Value, 2> squared;
  double length = 0;
  std::optional<Term> product;
  for (Term term : splitSum(result.getDefiningOp())) {
    auto [rows, elements] =
        term.negative ? std::pair(Value(), 0.0) : findSquared(term.value, ctx);
    if (rows) {
      squared.push_back(rows);
      length = std::max(length, elements);
    } else if (!product)
      product = term;
  }
  if (squared.size() != 2 || !product || length == 0)
    return;
  SumOfProducts dot = SumOfProducts::of(product->value, squared, ctx);
  if (dot.sums != 1 || dot.factors.size() != 2 || dot.bias != product->bias ||
      dot.number != (product->negative ? 2 : -2) ||
      !std::is_permutation(squared.begin(), squared.end(), dot.factors.begin()))
    return;
  Number difference = numberOf(squared[0], ctx) - numberOf(squared[1], ctx);
  AbstractValue expected =
      sumOf(square(difference), length, length).value(result);
  if (!expected.hasLikely() || expected.rank() != value.rank())
    return;
  expected = expected.regrouped(value.dims());
  // Rows of few directions may be next to each other, and a row is no distance
  // away from itself: the least distance is not raised above that of
  // independent terms, or that of refineDistance.
  for (auto [group, cell] : llvm::enumerate(value.mutableCells())) {
    Likely likely = cells::getLikely(expected.cell(group));
    likely.lo = std::max(0.0, std::min(likely.lo, cell.likelyLo));
    cells::setLikely(cell, likely);
  }
}
