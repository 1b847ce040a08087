//===- SoftmaxRows.cpp - Moments of rows of probabilities
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Gradients/SoftmaxRows.h"
#include "mpopt/Dialect/Match.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Numerics/Collisions.h"
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

/// The collisions, and which part of them many elements have: n e^-v for small
/// variances v of the logits against, for large ones, the gap between the
/// greatest two logits, 1 - m / sigma with m the expected greatest of n.
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
  return {expectedCollisions(count, variance),
          many > 0 ? many / (many + contended) : 0};
}

double mpopt::collisionsOf(double count, double variance) {
  return expectedCollisions(count, variance);
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
  // Bisections: more than the 53 bits of a double tell apart.
  constexpr int kSteps = 60;
  for (int step = 0; step < kSteps; ++step) {
    double middle = (lo + hi) / 2;
    (collisionsOf(count, middle) < collisions ? lo : hi) = middle;
  }
  return hi;
}

std::vector<double> mpopt::chooseRows(double rows) {
  double kept = std::min(rows, kMostRows), distance = rows / kept;
  std::vector<double> chosen;
  for (size_t row = 0; row < size_t(kept); ++row)
    chosen.push_back(std::round((double(row) + 0.5) * distance - 0.5));
  return chosen;
}

/// Rows of those lengths. `squares` is the sum over columns of the square of
/// their weight, which is the sum of 1 / length over the rows that have it: the
/// chances that two rows meet, and each with itself.
static MaskRows rowsThatMeet(std::vector<double> lengths, double squares) {
  double rows = double(lengths.size()), own = 0;
  for (double length : lengths)
    own += 1 / length;
  double meeting =
      rows > 1 ? std::max(squares - own, 0.0) / (rows * (rows - 1)) : own;
  return {std::move(lengths), meeting, 0};
}

MaskRows MaskRows::ofSpans(ArrayRef<std::pair<double, double>> spans) {
  // A column's weight changes at the ends of spans alone.
  std::map<double, double> steps;
  std::vector<double> lengths;
  for (auto [first, last] : spans) {
    double length = last - first + 1;
    if (length < 1)
      continue;
    lengths.push_back(length);
    steps[first] += 1 / length;
    steps[last + 1] -= 1 / length;
  }
  double weight = 0, from = 0, squares = 0;
  for (auto [column, step] : steps) {
    squares += weight * weight * (column - from);
    weight += step;
    from = column;
  }
  return rowsThatMeet(std::move(lengths), squares);
}

MaskRows MaskRows::causal(double rows, double count) {
  std::vector<std::pair<double, double>> spans;
  for (double row : chooseRows(rows))
    spans.push_back({0, std::min(row, count - 1)});
  return ofSpans(spans);
}

MaskRows MaskRows::both(MaskRows lhs, MaskRows rhs) {
  auto mean = [](const MaskRows &rows) {
    double sum = 0;
    for (double length : rows.lengths)
      sum += length;
    return sum / double(rows.lengths.size());
  };
  if (lhs.empty() || rhs.empty())
    return lhs.empty() ? rhs : lhs;
  double variance = lhs.variance + rhs.variance;
  MaskRows shorter = mean(rhs) < mean(lhs) ? std::move(rhs) : std::move(lhs);
  shorter.variance = variance;
  return shorter;
}

MaskRows mpopt::guessRows(double share, const MaybeShape &shape, double count) {
  double causal = (count + 1) / (2 * count);
  bool square = shape && shape->size() >= 2 &&
                (*shape)[shape->size() - 2] == shape->back();
  if (square && std::fabs(share - causal) <= 0.02)
    return MaskRows::causal(count, count);
  double length = std::max(1.0, std::round(share * count));
  // Columns of as many elements each meet by chance.
  bool moves = square && count > 1;
  return {{length}, moves ? (1 - 1 / length) / (count - 1) : 1 / length};
}

double mpopt::shareMasked(const Cell &cell) {
  if (cell.likelyLo > maskedBelow())
    return 0;
  if (cell.likelyHi < maskedBelow())
    return 1;
  double share = (cell.likelyHi - cell.mean) / (cell.likelyHi - cell.likelyLo);
  return std::clamp(share, 0.0, 1.0);
}

namespace {
/// Adds up the rows of a mask.
class RowCounter {
public:
  RowCounter(int64_t count, LiveElements live) : weights(count), live(live) {}

  void add(ArrayRef<double> row);
  MaskRows finish() &&;

private:
  bool isLive(double held) const;

  std::vector<double> weights, lengths;
  /// The sum over rows of the variance of their live elements.
  double variance = 0;
  LiveElements live;
};
} // namespace

bool RowCounter::isLive(double held) const {
  switch (live) {
  case LiveElements::AboveMasked:
    return held > maskedBelow();
  case LiveElements::NonZero:
    return held != 0;
  case LiveElements::Zero:
    return held == 0;
  }
  llvm_unreachable("no such elements");
}

void RowCounter::add(ArrayRef<double> row) {
  auto length =
      double(llvm::count_if(row, [&](double held) { return isLive(held); }));
  if (length == 0)
    return;
  lengths.push_back(length);
  double sum = 0, squares = 0;
  for (auto [weight, held] : llvm::zip_equal(weights, row))
    if (isLive(held)) {
      weight += 1 / length;
      sum += held / length;
      squares += held * held / length;
    }
  if (live == LiveElements::AboveMasked && std::isfinite(squares))
    variance += std::max(squares - sum * sum, 0.0);
}

MaskRows RowCounter::finish() && {
  double squares = 0;
  for (double weight : weights)
    squares += weight * weight;
  double each = lengths.empty() ? 0 : variance / double(lengths.size());
  MaskRows rows = rowsThatMeet(std::move(lengths), squares);
  rows.variance = each;
  return rows;
}

static MaskRows
countRows(int64_t size, int64_t count, LiveElements live,
          llvm::function_ref<void(int64_t, MutableArrayRef<double>)> read) {
  RowCounter counter(count, live);
  std::vector<double> row(count);
  for (int64_t first = 0; first < size; first += count) {
    read(first, row);
    counter.add(row);
  }
  return std::move(counter).finish();
}

static MaskRows countConstant(SpreadContext &ctx, mp::ConstantOp mask,
                              int64_t count, LiveElements live) {
  std::optional<int64_t> size = getNumElements(getShape(mask.getResult()));
  if (!size || *size > kMostMask)
    return {};
  // Bits are not stored as a file would store them.
  if (auto dense = dyn_cast<DenseIntElementsAttr>(mask.getValue());
      dense && dense.getElementType().isInteger(1)) {
    auto bits = dense.value_begin<bool>();
    return countRows(*size, count, live,
                     [&](int64_t first, MutableArrayRef<double> row) {
                       std::copy_n(bits + first, count, row.begin());
                     });
  }
  std::optional<WeightView> view = ctx.weights(mask.getResult());
  if (!view)
    return {};
  return countRows(*size, count, live,
                   [&](int64_t first, MutableArrayRef<double> row) {
                     view->read(first, row);
                   });
}

MaskRows mpopt::countLive(SpreadContext &ctx, Value mask, int64_t count,
                          LiveElements live) {
  auto constant = getMaker<mp::ConstantOp>(mask);
  MaybeShape shape = constant ? getShape(constant.getResult()) : std::nullopt;
  if (!shape || shape->empty() || shape->back() != count)
    return {};
  Memo *memo = ctx.sharedSums().memo;
  if (!memo)
    return countConstant(ctx, constant, count, live);
  MemoKey key;
  key.add('M');
  key.add(constant.getValue().getAsOpaquePointer());
  key.add(live);
  if (auto known = memo->find<MaskRows>(key))
    return *known;
  auto rows = std::make_shared<const MaskRows>(
      countConstant(ctx, constant, count, live));
  memo->keep(key, rows, rows->lengths.size() * sizeof(double));
  return *rows;
}
