//===- CommonScores.cpp - What the scores of a row share
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Ranges/Value/CommonScores.h"

#include "MaskedRows.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// Ops between a product and its softmax: scales, masks, casts and views.
static constexpr unsigned kMostSteps = 12;

/// The operand by its batch axes and channels, the last of its groups.
static AbstractValue byChannel(const AbstractValue &x, int64_t channels) {
  SmallVector<int64_t> kept =
      llvm::to_vector(llvm::seq<int64_t>(0, int64_t(x.rank()) - 2));
  kept.push_back(channels);
  AbstractValue result = x.keeping(kept);
  AbstractValue::Dims dims(result.dims().drop_back(2));
  dims.push_back(result.dims()[channels]);
  return result.withDims(dims);
}

/// The variance of the common part of a product's rows, by batch axes.
static std::optional<AbstractValue> commonOf(mp::MatMulOp op, ValueOf of) {
  const AbstractValue &query = of(op.getLhs()), &key = of(op.getRhs());
  int64_t rank = int64_t(query.rank());
  MaybeShape shape = getShape(op.getLhs());
  if (!query.hasLikely() || !key.hasLikely() || rank < 2 || !shape ||
      int64_t(key.rank()) != rank)
    return std::nullopt;
  int64_t channels = op.getTransA() ? rank - 2 : rank - 1;
  SmallVector<AbstractValue, 2> values = {
      byChannel(query, channels),
      byChannel(key, op.getTransB() ? rank - 1 : rank - 2)};
  AbstractValue::Dims dims =
      broadcastGroups(values, GroupLimit(1 << 14, 1 << 14));
  double alpha = op.getAlpha().convertToDouble();
  double each =
      alpha * alpha * double(std::max<int64_t>((*shape)[channels], 1));
  size_t depth = size_t(dims.back());
  std::vector<Cell> cells(countGroups(dims) / depth, Cell{});
  forEachGroup(dims, values, [&](size_t group, ArrayRef<size_t> at) {
    double mean = values[1].cell(at[1]).mean;
    cells[group / depth].variance +=
        each / double(depth) * values[0].cell(at[0]).variance * mean * mean;
  });
  dims.back() = 1;
  dims.push_back(1);
  AbstractValue result(dims, cells);
  result.source = LikelySource::Propagated;
  return result;
}

static std::optional<AbstractValue> commonOf(Value scores, ValueOf valueOf,
                                             unsigned steps) {
  Operation *op = scores.getDefiningOp();
  if (!op || op->getNumOperands() == 0 || steps == 0)
    return std::nullopt;
  auto of = [&](Value operand) {
    return commonOf(operand, valueOf, steps - 1);
  };
  if (auto product = dyn_cast<mp::MatMulOp>(op))
    return commonOf(product, valueOf);
  if (keepsRows(op)) {
    std::optional<AbstractValue> common = of(op->getOperand(0));
    size_t rank = TransferContext::rankOf(scores);
    if (common && !isa<mp::CastOp, mp::IdentityOp>(op))
      common = common->merged().withDims(AbstractValue::Dims(rank, 1));
    return common;
  }
  if (isa<mp::WhereOp>(op)) {
    std::optional<AbstractValue> common = of(op->getOperand(1));
    return common ? common : of(op->getOperand(2));
  }
  if (isa<mp::MaskedFillOp>(op))
    return of(op->getOperand(0));
  if (!hasRole(op, Role::Addition | Role::Subtraction | Role::Multiplication |
                       Role::Division) ||
      op->getNumOperands() != 2)
    return std::nullopt;
  bool isFactor = hasRole(op, Role::Multiplication | Role::Division);
  bool isFirst = !getSplatConstant(op->getOperand(0));
  if (!isFactor) {
    std::optional<AbstractValue> common = of(op->getOperand(0));
    return common ? common : of(op->getOperand(1));
  }
  std::optional<double> factor = getSplatConstant(op->getOperand(isFirst));
  std::optional<AbstractValue> common =
      factor ? of(op->getOperand(!isFirst)) : std::nullopt;
  if (!common || (hasRole(op, Role::Division) && (!isFirst || *factor == 0)))
    return std::nullopt;
  double square =
      hasRole(op, Role::Division) ? 1 / (*factor * *factor) : *factor * *factor;
  for (CellRef cell : common->mutableCells())
    cell.variance *= square;
  return common;
}

/// Keys differ by something, whatever the estimates leave.
static constexpr double kLeast = 1.0 / 64;

double mpopt::commonVariance(Value scores, ValueOf of) {
  const AbstractValue &x = of(scores);
  std::optional<AbstractValue> common = commonOf(scores, of, kMostSteps);
  double all = x.hull().variance, its = common ? common->hull().variance : 0;
  return std::isfinite(all) && std::isfinite(its)
             ? std::min(its, (1 - kLeast) * all)
             : 0;
}

void mpopt::removeCommon(AbstractValue &x, Value scores, ValueOf of) {
  std::optional<AbstractValue> common = commonOf(scores, of, kMostSteps);
  if (!common || !x.hasLikely() || common->rank() > x.rank())
    return;
  AbstractValue its = common->withRank(x.rank());
  SmallVector<int64_t> kept;
  for (auto [axis, dims] : llvm::enumerate(llvm::zip(its.dims(), x.dims())))
    if (std::get<0>(dims) == std::get<1>(dims))
      kept.push_back(int64_t(axis));
  its = its.keeping(kept);
  SmallVector<uint32_t> rowOf = getPositions(its.dims(), x.dims());
  MutableCells cells = x.mutableCells();
  for (auto [group, row] : llvm::enumerate(rowOf)) {
    CellRef cell = cells[group];
    double left = cell.variance - its.cell(row).variance;
    if (!(cell.variance > 0) || !std::isfinite(cell.variance) ||
        !(left < cell.variance))
      continue;
    double part = std::sqrt(std::max(left / cell.variance, kLeast));
    cell.variance *= part * part;
    cell.likelyLo = cell.mean + (cell.likelyLo - cell.mean) * part;
    cell.likelyHi = cell.mean + (cell.likelyHi - cell.mean) * part;
  }
}
