//===- Linear.cpp - Spreads of matrix products
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Families.h"

#include "lib/Gradients/Sums.h"
#include "mpopt/Dialect/EinsumSupport.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Numerics/Likely.h"
#include "mpopt/Ranges/Spread/SpreadInterface.h"
#include "mpopt/Ranges/Weights/ProductSupport.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// True if the value is the same for all samples: weights.
static bool isFixed(SpreadContext &ctx, Value value) {
  return !ctx.isGradient(value) && ctx.spread(value).axes.batch < 0;
}

/// Samples times known weights: every position is multiplied alike, so that
/// positions stay as alike as they are.
static Spread giveWeighted(SpreadContext &ctx, Value input, Value weight,
                           ArrayRef<int> labels, ArrayRef<int> result,
                           double terms) {
  const Spread &own = ctx.spread(input);
  Spread spread;
  spread.alike = own.alike;
  spread.steady = own.steady;
  spread.answerAs(own);
  spread.factors = terms < 4 ? own.factors : 1;
  spread.zeroRows = own.zeroRows;
  spread.zero = std::max(own.zeroRows, std::pow(own.zero, terms));
  for (auto [axis, label] : llvm::enumerate(result)) {
    const int *found = llvm::find(labels, label);
    if (found == labels.end() || axis >= 32)
      continue;
    int64_t from = found - labels.begin();
    if (from == own.axes.batch)
      spread.axes.batch = int(axis);
    // Axes that a product keeps, beside the channels that it makes, are
    // positions.
    else if (own.axes.isPosition(from) || axis + 1 < result.size())
      spread.axes.positions |= 1u << axis;
  }
  ctx.giveSpread(0, spread);
  if (!ctx.isGradient(input))
    return spread;
  auto &backward = cast<BackwardSpreadContext>(ctx);
  Losses losses = backward.losses(input);
  if (backward.hits(input)) {
    // Each row has one that is hit.
    losses.hit = losses.hit.both(losses.rest.ofSums(std::max(terms - 1, 0.0)));
    losses.rest = {};
  } else {
    losses.hit = losses.hit.ofSums(terms);
  }
  backward.giveLosses(0, losses);
  return spread;
}

/// Gives the result, a gradient, by channels along its last axis, and by the
/// rows in which `dy` has groups: what channels have in the mean of the rows is
/// in each as large as its own root mean square says, 0 where no gradient is.
static void giveChannels(SpreadContext &ctx, const AbstractValue &dy,
                         ArrayRef<double> mean, ArrayRef<double> variance,
                         ArrayRef<double> tail, double alpha,
                         const Spread &spread) {
  Value result = ctx.op()->getResult(0);
  AbstractValue rows =
      AbstractValue(AbstractValue::Dims(dy.rank(), 1), dy.hull());
  if (dy.rank() == TransferContext::rankOf(result))
    rows = dy.keeping(llvm::to_vector(llvm::seq<int64_t>(0, dy.rank() - 1)))
               .limited({std::max<size_t>(1, ctx.maxGroups() / mean.size())});
  double all = 0;
  for (const Cell &row : rows.cells())
    all += (row.mean * row.mean + row.variance) / double(rows.groups());
  double extreme = expectedExtreme(
      ctx.elementsPerGroup(result, rows.groups() * mean.size()));
  std::vector<Cell> cells;
  for (const Cell &row : rows.cells()) {
    double square = row.mean * row.mean + row.variance;
    double share = all > 0 && rows.groups() > 1 ? square / all : 1;
    double size = std::sqrt(share);
    for (auto [its, squares, most] : llvm::zip_equal(mean, variance, tail)) {
      Likely likely = likely::affine(
          likely::sum(its * size, squares * share, most * size, extreme), alpha,
          0);
      cells.push_back({likely.lo, likely.hi, likely.mean, likely.variance,
                       likely.lo, likely.hi});
    }
  }
  AbstractValue::Dims dims(rows.dims());
  dims.resize(TransferContext::rankOf(result), 1);
  dims.back() = int64_t(mean.size());
  AbstractValue value(dims, cells);
  value.source = LikelySource::Propagated;
  ctx.give(0, std::move(value), spread);
}

/// Products of a gradient whose elements add up to 0 along the sum: what all
/// rows of the weights have in common meets 0. The weights are taken less the
/// mean of their rows, each row weighted as it varies. One element of shares p
/// is hit and the others make up for it: the covariance is diag(p) - p p', each
/// variance p (1 - p), so that w' C w = sum of p (w - mean)^2, of 1 / (1 - p)
/// of the variances.
static bool giveCentred(SpreadContext &ctx, Value input, Value weight,
                        bool transposed, double alpha, const Spread &spread) {
  int64_t rank = TransferContext::rankOf(input);
  if (!ctx.isGradient(input) || ctx.spread(input).zeroSum != rank - 1)
    return false;
  bool swapped;
  std::optional<WeightSource> source = getMatrixSource(ctx, weight, swapped);
  const AbstractValue &dy = ctx.of(input);
  if (!source || source->shape.size() != 2 || dy.rank() != size_t(rank))
    return false;
  bool flipped = transposed != swapped;
  LinearRequest request;
  request.weights = source->tensor;
  request.k = uint64_t(source->shape[flipped ? 1 : 0]);
  request.n = uint64_t(source->shape[flipped ? 0 : 1]);
  request.transposed = flipped;
  AbstractValue classes = dy.keeping({rank - 1});
  std::vector<double> shares, mean, variance, reach;
  double all = 0;
  for (const Cell &cell : classes.cells()) {
    mean.push_back(cell.mean);
    variance.push_back(cell.variance);
    reach.push_back((cell.likelyHi - cell.likelyLo) / 2);
    shares.push_back(cell.variance);
    all += cell.variance;
  }
  if (!(all > 0) || !std::isfinite(all))
    return false;
  double repeated = shares.size() == 1 ? double(request.k) : 1;
  for (double &share : shares)
    share /= all * repeated;
  request.inputs.mean = shares;
  std::vector<double> centre = linearSums(request, ctx.sharedSums()).mean;
  request.weights.zeroPoints = centre;
  request.inputs.mean = mean;
  // No share of variances passes a half, that of two elements.
  for (auto [varies, share] : llvm::zip(variance, shares))
    varies /= 1 - std::min(share, 0.5);
  request.inputs.variance = variance;
  request.inputs.halfRange = reach;
  LinearSums sums = linearSums(request, ctx.sharedSums());
  giveChannels(ctx, dy, sums.mean, sums.variance, sums.tail, alpha, spread);
  return true;
}

//===----------------------------------------------------------------------===//
// A sample of large weights
//===----------------------------------------------------------------------===//

/// Terms of each sum that are read of large weights.
static constexpr int64_t kSampled = 256;

namespace {
/// The variance of each term of a sum, and the square of how far it reaches.
struct TermMoments {
  std::vector<double> variance, square;

  /// Adds one term of many sums: the expected squares, and sixth powers of the
  /// extremes.
  void addTerm(ArrayRef<double> weights, size_t term,
               MutableArrayRef<double> squares,
               MutableArrayRef<double> sixths) const {
    double v = variance[term], r = square[term];
    for (size_t at = 0; at < weights.size(); ++at) {
      double w = weights[at] * weights[at], far = w * r;
      squares[at] += w * v;
      sixths[at] += far * far * far;
    }
  }

  /// Adds terms of one sum, from `first` on: a multiple of what a vector holds.
  void addSum(ArrayRef<double> weights, size_t first, double &squares,
              double &sixths) const {
    constexpr size_t kLanes = 8;
    static_assert(kSampled % kLanes == 0);
    double v[kLanes] = {}, far[kLanes] = {};
    for (size_t at = 0; at < weights.size(); at += kLanes)
      for (size_t lane = 0; lane < kLanes; ++lane) {
        double w = weights[at + lane] * weights[at + lane];
        double own = w * square[first + at + lane];
        v[lane] += w * variance[first + at + lane];
        far[lane] += own * own * own;
      }
    for (size_t lane = 0; lane < kLanes; ++lane) {
      squares += v[lane];
      sixths += far[lane];
    }
  }
};
} // namespace

/// The moments of `count` terms if a few of them stand for all: none is far
/// larger than the others, and means do not count, which add up by their signs.
static std::optional<TermMoments> findEvenTerms(const AbstractValue &terms,
                                                size_t count) {
  if (terms.groups() != 1 && terms.groups() != count)
    return std::nullopt;
  TermMoments found;
  double most = 0, sum = 0;
  for (const Cell &cell : terms.cells()) {
    // A mean of at most a tenth of the deviation is 1 % of the square.
    constexpr double kSmall = 0.01;
    if (!(cell.mean * cell.mean <= kSmall * cell.variance))
      return std::nullopt;
    found.variance.push_back(cell.variance);
    found.square.push_back(std::pow((cell.likelyHi - cell.likelyLo) / 2, 2));
    most = std::max(most, cell.variance);
    sum += cell.variance;
  }
  // The largest variance as a multiple of the mean one: a bound on how few
  // terms may hold the whole sum.
  constexpr double kEven = 8;
  if (!(most > 0) || !(most * double(terms.groups()) <= kEven * sum))
    return std::nullopt;
  // One group is all of them.
  found.variance.resize(count, found.variance.front());
  found.square.resize(count, found.square.front());
  return found;
}

/// Products with weights so large that some terms of each sum stand for the
/// others: 256 give the sum of squares within 9 %. Pieces of rows or whole rows
/// are read, as they lie in memory.
static bool giveSampled(SpreadContext &ctx, Value input, Value weight,
                        bool transposed, double alpha, const Spread &spread) {
  std::optional<WeightView> view = ctx.weights(weight);
  if (!ctx.isGradient(input) || cast<BackwardSpreadContext>(ctx).readsAll() ||
      !view || view->splat || view->shape.size() != 2 ||
      view->size() < kLargeWeights)
    return false;
  int64_t rows = view->shape[0], columns = view->shape[1];
  int64_t terms = transposed ? columns : rows;
  int64_t outputs = transposed ? rows : columns;
  const AbstractValue &dy = ctx.of(input);
  if (terms < 2 * kSampled || !dy.hasLikely() || dy.rank() < 1)
    return false;
  std::optional<TermMoments> moments =
      findEvenTerms(dy.keeping({int64_t(dy.rank()) - 1}), size_t(terms));
  if (!moments)
    return false;
  std::vector<double> mean(outputs), variance(outputs), tail(outputs);
  // Multiples of the golden ratio are even whatever the count.
  auto spreadOut = [](int64_t index, int64_t count) {
    constexpr double kGolden = 0.6180339887498949;
    double part = double(index) * kGolden;
    return std::min(count - 1,
                    int64_t((part - std::floor(part)) * double(count)));
  };
  std::vector<double> buffer(transposed ? kSampled : columns);
  for (int64_t i = 0; i < (transposed ? rows : kSampled); ++i) {
    int64_t first = transposed ? spreadOut(i, columns - kSampled + 1) : 0;
    int64_t row = transposed ? i : i * rows / kSampled;
    view->read(row * columns + first, buffer);
    if (transposed)
      moments->addSum(buffer, first, variance[row], tail[row]);
    else
      moments->addTerm(buffer, row, variance, tail);
  }
  double scale = double(terms) / double(kSampled);
  for (int64_t output = 0; output < outputs; ++output) {
    variance[output] *= scale;
    tail[output] = likely::tailFromPower(tail[output] * scale);
    if (!std::isfinite(variance[output]) || !std::isfinite(tail[output]))
      return false;
  }
  giveChannels(ctx, dy, mean, variance, tail, alpha, spread);
  return true;
}

/// Labels of a product of matrices: rows -1, sums -2, columns -3, batch dims
/// from the right.
static void giveProduct(SpreadContext &ctx, Value a, Value b, bool transA,
                        bool transB, double alpha) {
  int64_t rankA = TransferContext::rankOf(a),
          rankB = TransferContext::rankOf(b);
  MaybeShape shapeA = getShape(a), shapeB = getShape(b);
  if (rankA < 2 || rankB < 2)
    return;
  // Labels of the matrix axes; those of the leading axes are 0 and above.
  constexpr int kRow = -1, kInner = -2, kColumn = -3;
  SmallVector<int> left, right, result;
  for (int64_t axis = 0; axis < rankA - 2; ++axis)
    left.push_back(int(rankA - 3 - axis));
  for (int64_t axis = 0; axis < rankB - 2; ++axis)
    right.push_back(int(rankB - 3 - axis));
  result = rankA >= rankB ? left : right;
  left.append({transA ? kInner : kRow, transA ? kRow : kInner});
  right.append({transB ? kColumn : kInner, transB ? kInner : kColumn});
  result.append({kRow, kColumn});
  int64_t inner = (*shapeA)[transA ? rankA - 2 : rankA - 1];
  double terms = double(std::max<int64_t>(inner, 1));
  // Weights have known dims: what lost its samples on the way is none.
  if (inner < 0)
    return giveContraction(ctx, 0, makeFactor(ctx, a, left),
                           makeFactor(ctx, b, right), result, alpha);
  if (isFixed(ctx, b)) {
    Spread spread = giveWeighted(ctx, a, b, left, result, terms);
    if (!transA && !giveSampled(ctx, a, b, transB, alpha, spread))
      giveCentred(ctx, a, b, transB, alpha, spread);
    return;
  }
  if (isFixed(ctx, a)) {
    giveWeighted(ctx, b, a, right, result, terms);
    return;
  }
  giveContraction(ctx, 0, makeFactor(ctx, a, left), makeFactor(ctx, b, right),
                  result, alpha);
}

static void spreadMatMul(mp::MatMulOp op, SpreadContext &ctx) {
  giveProduct(ctx, op.getLhs(), op.getRhs(), op.getTransA(), op.getTransB(),
              op.getAlpha().convertToDouble());
}
static void spreadGemm(mp::GemmOp op, SpreadContext &ctx) {
  giveProduct(ctx, op.getLhs(), op.getRhs(), op.getTransA(), op.getTransB(),
              op.getAlpha().convertToDouble());
}
static void spreadLinear(mp::LinearOp op, SpreadContext &ctx) {
  int64_t rank = TransferContext::rankOf(op.getInput());
  MaybeShape weight = getShape(op.getWeight());
  if (rank < 1 || !weight || weight->size() != 2)
    return;
  SmallVector<int> labels, result;
  for (int64_t axis = 0; axis < rank; ++axis)
    labels.push_back(int(axis));
  result = labels;
  result.back() = -3;
  if (!isFixed(ctx, op.getWeight()))
    return;
  Spread spread =
      giveWeighted(ctx, op.getInput(), op.getWeight(), labels, result,
                   double(std::max<int64_t>((*weight)[1], 1)));
  giveSampled(ctx, op.getInput(), op.getWeight(), /*transposed=*/true,
              /*alpha=*/1, spread);
}

/// A product of two operands; with more, the others are known and the gradient
/// is again a product of two.
static void spreadEinsum(mp::EinsumOp op, SpreadContext &ctx) {
  std::optional<EinsumEquation> equation =
      EinsumEquation::parse(op.getEquation());
  if (!equation || op.getInputs().size() != 2 || op.getEquation().contains('.'))
    return;
  auto labelsOf = [](StringRef text) {
    SmallVector<int> labels;
    for (char label : text)
      labels.push_back(label);
    return labels;
  };
  SmallVector<int> left = labelsOf(equation->operands[0]),
                   right = labelsOf(equation->operands[1]),
                   result = labelsOf(equation->result);
  Value a = op.getInputs()[0], b = op.getInputs()[1];
  if (TransferContext::rankOf(a) != left.size() ||
      TransferContext::rankOf(b) != right.size() || isFixed(ctx, a) ||
      isFixed(ctx, b))
    return;
  giveContraction(ctx, 0, makeFactor(ctx, a, left), makeFactor(ctx, b, right),
                  result);
}

void mpopt::attachLinearSpreads(MLIRContext *context) {
  attachSpread<spreadMatMul, mp::MatMulOp>(context);
  attachSpread<spreadGemm, mp::GemmOp>(context);
  attachSpread<spreadLinear, mp::LinearOp>(context);
  attachSpread<spreadEinsum, mp::EinsumOp>(context);
}
