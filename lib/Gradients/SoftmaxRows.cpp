//===- SoftmaxRows.cpp - Moments of rows of probabilities
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpopt/Gradients/SoftmaxRows.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Numerics/Likely.h"

#include "mlir/IR/BuiltinAttributes.h"

#include <cmath>
#include <map>

using namespace mlir;
using namespace mpopt;

/// Elements of masks that are read.
static constexpr int64_t kMostMask = 1 << 22;
/// Rows of a causal mask that are looked at one by one.
static constexpr double kMostRows = 4096;

namespace {
/// The collisions of a row, and the part of their inverse that is due to many
/// elements that share the row, not to a few that contend for it.
struct RowShares {
  double collisions, many;
};
} // namespace

/// The expected sum of squares of a row of `count` probabilities whose logits
/// have that variance v. Between two limits, n e^-v for small ones and, for
/// large ones, the gap between the greatest two logits, 1 - m / sigma with m
/// the expected greatest of n, their inverses are added; simulations of rows of
/// 8 to 1,024 are within a factor 2 of it everywhere, and within 1.3 mostly.
static RowShares sharesOf(double count, double variance) {
  if (count <= 1)
    return {1, 0};
  double decay = std::exp(-variance);
  double many = (count - 1) * decay, few = 0;
  if (variance > 0) {
    double ratio = expectedMaximum(count) / std::sqrt(variance);
    few = (1 - decay) * ratio * (1 + 1.4 * ratio);
  }
  // Simulations are within 1.4 of the square with this weight.
  double contended = (1 - decay) * few;
  return {1 / std::min(1 + many + few, count),
          many > 0 ? many / (many + contended) : 0};
}

double mpopt::collisionsOf(double count, double variance) {
  return sharesOf(count, variance).collisions;
}

/// E 1 / max(a, b) over two different rows: the chance that both pick the same
/// element, if each picks evenly among its first ones.
static double meetingOf(std::vector<double> lengths) {
  if (lengths.size() < 2)
    return 1 / lengths.front();
  llvm::sort(lengths);
  double sum = 0, pairs = 0;
  for (size_t i = 1; i < lengths.size(); ++i) {
    sum += double(i) / lengths[i];
    pairs += double(i);
  }
  return sum / pairs;
}

Moments mpopt::probabilitiesOf(const MaskRows &rows, double count,
                               double variance) {
  double collisions = 0;
  for (double length : rows.lengths)
    collisions += collisionsOf(length, variance) / double(rows.lengths.size());
  return {1 / count, rows.meeting / count, collisions / count};
}

double mpopt::productInRow(const Moments &probability, double count) {
  double collisions = std::min(probability.square * count, 1.0);
  return count > 1 ? (1 - collisions) / (count * (count - 1)) : 0;
}

// y (g - sum y g): what the elements of a row share cancels. With v what g
// varies by within the row, E sum y^2 (g - sum y g)^2 = v (K + K^2 - 2 sum
// y^3), K the collisions. In a row that nearly all elements share, sum y^3 is
// about K^2 and the factor K (1 - K). Weights of exponentials of independent
// normal numbers that vary widely have the Poisson-Dirichlet distribution with
// parameter m = 1 - E K (the random energy model): E sum y^3 = (1 - m)(2 - m) /
// 2 and E K^2 = (1 - m)(6 - 4 m) / 6, which makes it K (1 - K) / 3.
double mpopt::logitSquare(ArrayRef<double> lengths, double count,
                          double variance) {
  double square = 0;
  for (double length : lengths) {
    auto [collisions, many] = sharesOf(length, variance);
    square += collisions * (1 - collisions) * (many + (1 - many) / 3);
  }
  return square / double(lengths.size()) / count;
}

double mpopt::logitVariance(double count, double collisions) {
  double lo = 0, hi = 1;
  while (hi < 1e12 && collisionsOf(count, hi) < collisions)
    hi *= 4;
  constexpr int kSteps = 60;
  for (int step = 0; step < kSteps; ++step) {
    double middle = (lo + hi) / 2;
    (collisionsOf(count, middle) < collisions ? lo : hi) = middle;
  }
  return hi;
}

Value mpopt::skipCopies(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<mp::CastOp, mp::IdentityOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

std::vector<double> mpopt::chooseRows(double rows) {
  double kept = std::min(rows, kMostRows), distance = rows / kept;
  std::vector<double> chosen;
  for (size_t row = 0; row < size_t(kept); ++row)
    chosen.push_back(std::round((double(row) + 0.5) * distance - 0.5));
  return chosen;
}

std::vector<double> mpopt::causalLengths(double rows, double count) {
  std::vector<double> lengths = chooseRows(rows);
  for (double &length : lengths)
    length = std::min(length + 1, count);
  return lengths;
}

namespace {
/// Adds up the weights of a column over rows that pick evenly among their own
/// elements. The squares of these sums are the chances that two rows meet.
class ColumnWeights {
public:
  explicit ColumnWeights(double count) : weights(size_t(count), 0.0) {}

  void add(llvm::function_ref<bool(size_t)> isLive);
  MaskRows finish() &&;

private:
  std::vector<double> weights;
  std::vector<double> lengths;
};
} // namespace

void ColumnWeights::add(llvm::function_ref<bool(size_t)> isLive) {
  double length = 0;
  for (size_t at = 0; at < weights.size(); ++at)
    length += isLive(at);
  if (length == 0)
    return;
  lengths.push_back(length);
  for (size_t at = 0; at < weights.size(); ++at)
    weights[at] += isLive(at) ? 1 / length : 0;
}

MaskRows ColumnWeights::finish() && {
  double met = 0, rows = double(lengths.size());
  for (double weight : weights)
    met += weight * weight;
  for (double length : lengths)
    met -= 1 / length;
  MaskRows result{std::move(lengths)};
  if (rows == 1)
    result.meeting = 1 / result.lengths.front();
  else if (rows > 1)
    result.meeting = std::max(met, 0.0) / (rows * (rows - 1));
  return result;
}

MaskRows MaskRows::ofFirst(std::vector<double> lengths) {
  llvm::erase(lengths, 0.0);
  MaskRows result{std::move(lengths)};
  if (!result.empty())
    result.meeting = meetingOf(result.lengths);
  return result;
}

MaskRows MaskRows::ofSpans(ArrayRef<std::pair<double, double>> spans) {
  // A column's weight changes at the ends of spans alone.
  std::map<double, double> steps;
  MaskRows result;
  double own = 0;
  for (auto [first, last] : spans) {
    double length = last - first + 1;
    if (length < 1)
      continue;
    result.lengths.push_back(length);
    steps[first] += 1 / length;
    steps[last + 1] -= 1 / length;
    own += 1 / length;
  }
  double rows = double(result.lengths.size()), weight = 0, from = 0, met = -own;
  for (auto [column, step] : steps) {
    met += weight * weight * (column - from);
    weight += step;
    from = column;
  }
  result.meeting = rows > 1 ? std::max(met, 0.0) / (rows * (rows - 1)) : own;
  return result;
}

MaskRows mpopt::guessRows(double share, const MaybeShape &shape, double count) {
  double causal = (count + 1) / (2 * count);
  bool square = shape && shape->size() >= 2 &&
                (*shape)[shape->size() - 2] == shape->back();
  if (square && std::fabs(share - causal) <= 0.02)
    return MaskRows::ofFirst(causalLengths(count, count));
  double length = std::max(1.0, std::round(share * count));
  // Columns of as many elements each meet by chance.
  bool moves = square && count > 1;
  return {{length}, moves ? (1 - 1 / length) / (count - 1) : 1 / length};
}

MaskRows mpopt::countLive(SpreadContext &ctx, Value mask, int64_t count,
                          llvm::function_ref<bool(double)> isLive) {
  mask = skipCopies(mask);
  auto constant = mask.getDefiningOp<mp::ConstantOp>();
  // Bits are not stored as a file would store them.
  if (auto dense = constant
                       ? dyn_cast<DenseIntElementsAttr>(constant.getValue())
                       : DenseIntElementsAttr();
      dense && dense.getElementType().isInteger(1)) {
    ArrayRef<int64_t> shape = dense.getType().getShape();
    if (shape.empty() || shape.back() != count ||
        dense.getNumElements() > kMostMask)
      return {};
    ColumnWeights rows{double(count)};
    auto bits = dense.value_begin<bool>();
    for (int64_t first = 0; first < dense.getNumElements(); first += count)
      rows.add([&](size_t at) { return isLive(bits[first + int64_t(at)]); });
    return std::move(rows).finish();
  }
  std::optional<WeightView> view = ctx.weights(mask);
  if (!view || view->shape.empty() || view->shape.back() != count ||
      view->size() > kMostMask)
    return {};
  ColumnWeights rows{double(count)};
  std::vector<double> row(count);
  for (int64_t first = 0; first < view->size(); first += count) {
    view->read(first, row);
    rows.add([&](size_t at) { return isLive(row[at]); });
  }
  return std::move(rows).finish();
}
