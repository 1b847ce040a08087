//===- CodeSums.cpp - Sums of products of codes
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Not covered: neighbours that are alike (the three colours of a pixel), whose
// pairs saturate more often than those of independent codes, and depthwise
// convolutions, which use other instructions.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Propagate/CodeSums.h"

#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/StorageTypes.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/Normal.h"
#include "mpopt/Ranges/Value/TransferContext.h"

#include <array>
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace mpopt;

static double numberOf(Value value, const RangeAnalysis &ranges) {
  return value ? ranges.of(value).hull().mean : 0;
}

/// Whole numbers alone have kernels that add in whole numbers.
static std::optional<StorageFormat> codesOf(Value value) {
  auto format = storageFormatOf(getElementType(value));
  return format && !format->floats ? format : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Extremes
//===----------------------------------------------------------------------===//

std::vector<ChannelSum> mpopt::addUpCodes(const IntegerOperands &product,
                                          const RangeAnalysis &ranges,
                                          double limit) {
  auto format = codesOf(product.lhs), weightFormat = codesOf(product.rhs);
  std::optional<WeightView> view = ranges.context().weights(product.rhs);
  std::optional<int64_t> axis =
      view ? normalizeAxis(product.axis, int64_t(view->shape.size()))
           : std::nullopt;
  if (!format || !weightFormat || !axis || view->size() == 0)
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
  if (double(terms) * largest < limit)
    return {};
  const AbstractValue &codes = ranges.of(product.lhs);
  double mean = codes.hasLikely() ? codes.hull().mean - zero : 0;
  std::vector<ChannelSum> sums(channels);
  auto add = [&](ChannelSum &sum, double code, int64_t count) {
    double weight = (code - weightZero) * double(count);
    sum.most += std::max(weight * hi, weight * lo);
    sum.least += std::min(weight * hi, weight * lo);
    sum.expected += weight * mean;
    sum.positive += weight > 0 ? count : 0;
    sum.negative += weight < 0 ? count : 0;
  };
  // Elements read at a time: 8 KiB on the stack.
  constexpr int64_t kPiece = 1 << 10;
  double piece[kPiece];
  if (view->splat) {
    view->read(0, MutableArrayRef<double>(piece, 1));
    for (ChannelSum &sum : sums)
      add(sum, piece[0], terms);
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

//===----------------------------------------------------------------------===//
// Pairs
//===----------------------------------------------------------------------===//

namespace {
/// A code as a normal number that is cut at the ends, at points of it that
/// reach to where one in a million lies.
struct CodePoints {
  static constexpr int kCount = 21;
  std::array<double, kCount> at, weights;

  CodePoints(double mean, double deviation, double lo, double hi);
};

/// Pairs of weights in the order in which kernels add: rows of a matrix; of a
/// filter channels, then its taps.
class PairWalk {
public:
  PairWalk(const WeightView &view, bool byRow, int64_t taps)
      : view(view), byRow(byRow), taps(taps),
        channels(view.shape[byRow ? 1 : 0]), terms(view.size() / channels) {}

  int64_t getChannels() const { return channels; }
  int64_t getTerms() const { return terms; }
  /// The index of a term's activations among the input's channels.
  int64_t inputOf(int64_t term) const { return term % (terms / taps); }

  /// Calls `visit(channel, first term, weight, next weight)`.
  template <typename Visit> void forEach(Visit visit) const;

private:
  const WeightView &view;
  bool byRow;
  int64_t taps, channels, terms;
};

/// The average loss of one pair.
struct LostPair {
  double share = 0, mean = 0, square = 0;
};
} // namespace

CodePoints::CodePoints(double mean, double deviation, double lo, double hi) {
  double sum = 0;
  for (int i = 0; i < kCount; ++i) {
    double z = -5 + 10.0 * i / (kCount - 1);
    at[i] = std::clamp(mean + deviation * z, lo, hi);
    sum += weights[i] = normalDensity(z);
  }
  for (double &weight : weights)
    weight /= sum;
}

template <typename Visit> void PairWalk::forEach(Visit visit) const {
  // A last term without a neighbour is added to a zero.
  auto read = [&](int64_t first, std::vector<double> &into) {
    if (first >= view.size())
      return llvm::fill(into, 0.0);
    if (!view.splat)
      return view.read(first, into);
    view.read(0, MutableArrayRef(into).take_front(1));
    llvm::fill(into, into.front());
  };
  if (byRow) {
    std::vector<double> row(channels), next(channels);
    for (int64_t term = 0; term < terms; term += 2) {
      read(term * channels, row);
      read((term + 1) * channels, next);
      for (int64_t channel = 0; channel < channels; ++channel)
        visit(channel, term, row[channel], next[channel]);
    }
    return;
  }
  std::vector<double> filter(terms);
  auto weightOf = [&](int64_t term) {
    return filter[inputOf(term) * taps + term / (terms / taps)];
  };
  for (int64_t channel = 0; channel < channels; ++channel) {
    read(channel * terms, filter);
    for (int64_t term = 0; term < terms; term += 2)
      visit(channel, term, weightOf(term),
            term + 1 < terms ? weightOf(term + 1) : 0.0);
  }
}

/// The normal number whose part above 0 has that mean and variance, which a
/// rectifier leaves: mean = s (phi(a) + a Phi(a)), mean square = s^2 ((1 + a^2)
/// Phi(a) + a phi(a)) for the mean s a.
static std::pair<double, double> beforeRectifier(double mean, double variance) {
  double wanted = (mean * mean + variance) / (mean * mean);
  auto momentsAt = [](double a) {
    double first = normalDensity(a) + a * normalShareBelow(a);
    double second = (1 + a * a) * normalShareBelow(a) + a * normalDensity(a);
    return std::pair(first, second);
  };
  double lo = -4, hi = 8; // ratios from 36 to 1.02
  for (int step = 0; step < 40; ++step) {
    double middle = (lo + hi) / 2;
    auto [first, second] = momentsAt(middle);
    (second / (first * first) > wanted ? lo : hi) = middle;
  }
  double deviation = mean / momentsAt(lo).first;
  return {deviation * lo, deviation};
}

/// The distribution of each input channel's codes, as unsigned numbers.
static std::vector<CodePoints> describeCodes(const IntegerOperands &product,
                                             int64_t axis, double offset,
                                             const RangeAnalysis &ranges) {
  const AbstractValue &codes = ranges.of(product.lhs);
  double zero = numberOf(product.lhsZeroPoint, ranges);
  StorageFormat format = *codesOf(product.lhs);
  AbstractValue channels = codes.keeping({axis});
  std::vector<CodePoints> points;
  for (const Cell &cell : channels.cells()) {
    double mean = cell.mean, deviation = std::sqrt(cell.variance);
    double lo = std::max(format.codes.lo, cell.likelyLo),
           hi = std::min(format.codes.hi, cell.likelyHi);
    if (lo >= zero && mean > zero && mean - zero < 2 * deviation) {
      auto [before, its] = beforeRectifier(mean - zero, cell.variance);
      mean = zero + before;
      deviation = its;
      lo = zero;
    }
    points.push_back(CodePoints(mean + offset, deviation, lo + offset,
                                std::max(lo, hi) + offset));
  }
  return points;
}

static LostPair expectLoss(double one, double two, const CodePoints &x,
                           const CodePoints &y, double lo, double hi) {
  LostPair lost;
  for (int i = 0; i < CodePoints::kCount; ++i)
    for (int j = 0; j < CodePoints::kCount; ++j) {
      double sum = one * x.at[i] + two * y.at[j];
      double past = sum - std::clamp(sum, lo, hi);
      double weight = x.weights[i] * y.weights[j];
      lost.share += past != 0 ? weight : 0;
      lost.mean -= past * weight;
      lost.square += past * past * weight;
    }
  return lost;
}

/// True if a pair of those weights passes an end for some codes.
static bool canPass(double one, double two, double lo, double hi) {
  constexpr double kMost = 255;
  return kMost * (std::max(one, 0.0) + std::max(two, 0.0)) > hi ||
         kMost * (std::min(one, 0.0) + std::min(two, 0.0)) < lo;
}

/// The pairs of a product with weights in two dims, or of a filter.
static std::optional<PairWalk> walkPairs(Operation *op,
                                         const IntegerOperands &product,
                                         const WeightView &view) {
  int64_t rank = int64_t(view.shape.size());
  std::optional<int64_t> axis = normalizeAxis(product.axis, rank);
  int64_t group = 1, taps = 1;
  if (auto conv = dyn_cast<mp::ConvOp>(op))
    group = conv.getGroup();
  else if (auto conv = dyn_cast<mp::ConvIntegerOp>(op))
    group = conv.getGroup();
  else if (rank != 2)
    return std::nullopt;
  if (!axis || group != 1 || rank < 2 || *axis > 1 ||
      (*axis == 1 && rank > 2) || view.size() == 0)
    return std::nullopt;
  for (int64_t dim : ArrayRef(view.shape).drop_front(2))
    taps *= dim;
  return PairWalk(view, /*byRow=*/*axis == 1, taps);
}

/// Adds to `sums` what is expected of the pairs that can saturate.
static void expectPairs(PairSums &sums, const PairWalk &walk,
                        ArrayRef<CodePoints> points, double lo, double hi) {
  // So many pairs tell a mean; a bound on time.
  constexpr double kMostPairs = 1 << 10;
  double stride = std::ceil(sums.possible / kMostPairs), skipped = 0;
  std::vector<double> most(walk.getTerms());
  walk.forEach([&](int64_t channel, int64_t term, double one, double two) {
    if (!canPass(one, two, lo, hi) || ++skipped < stride)
      return;
    skipped = 0;
    auto pointsOf = [&](int64_t at) -> const CodePoints & {
      return points[size_t(walk.inputOf(at)) % points.size()];
    };
    LostPair lost =
        expectLoss(one, two, pointsOf(term),
                   pointsOf(std::min(term + 1, walk.getTerms() - 1)), lo, hi);
    sums.expected += stride * lost.share;
    sums.mean[channel] += stride * lost.mean;
    sums.variance[channel] += stride * (lost.square - lost.mean * lost.mean);
    most[term] = std::max(most[term], lost.share);
  });
  sums.hits = std::accumulate(most.begin(), most.end(), 0.0);
}

std::optional<PairSums> mpopt::findPairs(Operation *op,
                                         const IntegerOperands &product,
                                         const RangeAnalysis &ranges,
                                         const CodeArithmetic &target) {
  auto codes = codesOf(product.lhs), weightCodes = codesOf(product.rhs);
  std::optional<WeightView> view = ranges.context().weights(product.rhs);
  auto isByte = [](const StorageFormat &format, double lo) {
    return format.codes.lo == lo && format.codes.hi - lo == 255;
  };
  bool isUnsigned = codes && isByte(*codes, 0),
       isOffset = codes && isByte(*codes, -128) && target.pairsSigned;
  if (target.pairBits == 0 || !(isUnsigned || isOffset) || !weightCodes ||
      !isByte(*weightCodes, -128) || !view ||
      !ranges.of(product.lhs).hasLikely())
    return std::nullopt;
  std::optional<PairWalk> walk = walkPairs(op, product, *view);
  size_t rank = ranges.of(product.lhs).rank();
  if (!walk || rank == 0)
    return std::nullopt;
  double hi = std::ldexp(1.0, int(target.pairBits) - 1) - 1, lo = -hi - 1;
  PairSums sums;
  sums.mean.resize(walk->getChannels());
  sums.variance.resize(walk->getChannels());
  walk->forEach([&](int64_t, int64_t, double one, double two) {
    ++sums.count;
    sums.possible += canPass(one, two, lo, hi);
  });
  bool isConv = isa<mp::ConvOp, mp::ConvIntegerOp>(op);
  if (sums.possible > 0)
    expectPairs(sums, *walk,
                describeCodes(product, isConv ? 1 : int64_t(rank) - 1,
                              isOffset ? 128 : 0, ranges),
                lo, hi);
  return sums;
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

std::optional<CodeSumError> mpopt::errorOfSums(Operation *op,
                                               const IntegerOperands &product,
                                               const RangeAnalysis &ranges) {
  if (!product.lhsScale || !product.rhsScale)
    return std::nullopt;
  std::vector<double> mean, variance;
  double hits = 0;
  if (auto pairs = findPairs(op, product, ranges, ranges.target().codes());
      pairs && pairs->expected > 0) {
    mean = std::move(pairs->mean);
    hits = pairs->hits;
    variance = std::move(pairs->variance);
  }
  // A sum that wraps is off by a whole number of the accumulator's range.
  double range = std::ldexp(1.0, int(ranges.target().codes().accumulatorBits));
  std::vector<ChannelSum> sums = addUpCodes(product, ranges, range / 2);
  bool wraps = llvm::any_of(sums, [&](const ChannelSum &sum) {
    return std::fabs(sum.expected) >= range / 2;
  });
  if (wraps) {
    hits = 0;
    mean.resize(sums.size());
    variance.resize(sums.size());
    for (auto [its, sum] : llvm::zip(mean, sums))
      its -= range * std::round(sum.expected / range);
  }
  int64_t rank = TransferContext::rankOf(op->getResult(0));
  if (mean.empty() || rank <= 0)
    return std::nullopt;
  const AbstractValue &scales = ranges.of(product.rhsScale);
  double scale = numberOf(product.lhsScale, ranges);
  bool isList = scales.rank() == 1 && scales.groups() == mean.size();
  std::vector<Cell> cells;
  for (size_t channel = 0; channel < mean.size(); ++channel) {
    double by =
        scale * (isList ? scales.cell(channel).mean : scales.hull().mean);
    cells.push_back(
        {0, 0, mean[channel] * by, variance[channel] * by * by, 0, 0});
  }
  AbstractValue::Dims dims(rank, 1);
  bool isConv = isa<mp::ConvOp, mp::ConvIntegerOp, mp::ConvTransposeOp>(op);
  dims[isConv ? 1 : rank - 1] = int64_t(cells.size());
  AbstractValue error(dims, cells);
  error.source = LikelySource::Propagated;
  int64_t elements = getNumElements(getShape(op->getResult(0))).value_or(0);
  return CodeSumError{std::move(error),
                      hits * double(elements) / double(cells.size())};
}
