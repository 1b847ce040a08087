//===- ProductSupport.cpp - From sums of products to results
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bias and alpha count as further terms of the sum: where a kernel applies them
// in the accumulator their errors are those of further additions.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Ranges/Weights/ProductSupport.h"

#include "mpopt/Numerics/BiasEvidence.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Likely.h"
#include "mpopt/Numerics/Rounding.h"
#include "mpopt/Numerics/StorageFormat.h"
#include "mpopt/Ranges/Value/ElementwiseSupport.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// Constants of more elements are not copied: their summary has to do.
static constexpr uint64_t kMaxOwned = 1 << 22;

//===----------------------------------------------------------------------===//
// Weights and inputs
//===----------------------------------------------------------------------===//

uint64_t WeightSource::size() const {
  uint64_t count = 1;
  for (int64_t dim : shape)
    count *= dim;
  return count;
}

/// Roundings that change something after the ones before them.
static SmallVector<const FloatFormat *, 2>
effectiveRoundings(const WeightView &view) {
  SmallVector<const FloatFormat *, 2> result;
  const FloatFormat *now = getFloatFormat(view.elementType);
  for (const FloatFormat *next : view.roundings) {
    if (now && StorageFormat(*next).holds(*now))
      continue;
    result.push_back(next);
    now = next;
  }
  return result;
}

std::optional<WeightTensor> mpopt::getTensor(const WeightView &view) {
  WeightTensor tensor;
  tensor.format = getFloatFormat(view.elementType);
  unsigned width = 0;
  if (auto integer = dyn_cast<IntegerType>(view.elementType)) {
    width = integer.getWidth();
    tensor.integerBits = width;
    tensor.isSigned = !integer.isUnsigned();
  }
  SmallVector<const FloatFormat *, 2> roundings = effectiveRoundings(view);
  bool readable = tensor.format || width == 4 || width == 8 || width == 16 ||
                  width == 32 || width == 64;
  if (view.splat || !readable || roundings.size() > 1)
    return std::nullopt;
  tensor.bytes = view.data;
  tensor.limits = view.limits;
  if (!roundings.empty())
    tensor.storage = roundings.front();
  return tensor;
}

static std::optional<WeightSource>
makeSource(const std::optional<WeightView> &view) {
  if (!view)
    return std::nullopt;
  WeightSource source;
  source.shape = view->shape;
  if (std::optional<WeightTensor> tensor = getTensor(*view)) {
    source.tensor = *tensor;
    return source;
  }
  if (source.size() > kMaxOwned)
    return std::nullopt;
  source.owned.resize(source.size());
  view->read(0, source.owned);
  source.tensor.format = &FloatFormat::f64();
  source.tensor.bytes =
      ArrayRef(reinterpret_cast<const char *>(source.owned.data()),
               source.owned.size() * sizeof(double));
  return source;
}

std::optional<WeightSource> mpopt::getWeightSource(TransferContext &ctx,
                                                   Value value) {
  return makeSource(ctx.weights(value));
}

std::optional<WeightSource> mpopt::getMatrixSource(TransferContext &ctx,
                                                   Value value, bool &swapped) {
  return makeSource(ctx.matrixWeights(value, swapped));
}

void InputLists::add(const Cell &cell) {
  Interval bound = cells::bound(cell);
  bool bounded = bound.isBounded();
  centre.push_back(!bounded || bound.isEmpty() ? 0 : bound.midpoint());
  radius.push_back(!bounded ? kInfinity : bound.isEmpty() ? 0 : bound.radius());
  mean.push_back(cell.mean);
  variance.push_back(cell.variance);
  halfRange.push_back((cell.likelyHi - cell.likelyLo) / 2);
}

void InputLists::compress() {
  for (std::vector<double> *list :
       {&centre, &radius, &mean, &variance, &halfRange})
    if (list->size() > 1 && llvm::all_equal(*list))
      list->resize(1);
}

bool InputLists::unbounded() const {
  return llvm::all_of(radius, [](double value) { return value == kInfinity; });
}

LinearInputs InputLists::get() const {
  return {centre, radius, mean, variance, halfRange};
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

ProductSum ProductSum::of(const LinearSums &sums, size_t channel,
                          uint64_t count) {
  return {sums.bound(channel), sums.terms[channel],    count,
          sums.mean[channel],  sums.variance[channel], sums.tail[channel]};
}

ProductSum ProductSum::of(const DotRange &dot, uint64_t count) {
  return {dot.bound, dot.terms, count, dot.mean, dot.variance, dot.tail};
}

void ProductSum::scaleEstimate(double factor) {
  mean *= factor;
  variance *= factor * factor;
  tail *= factor;
  mostReach *= factor;
}

void ProductSum::limit(double norm) {
  if (std::isnan(norm))
    return;
  bound = intersect(bound, Interval::symmetric(norm));
  terms = std::min(terms, norm);
}

double mpopt::scaleByBias(ArrayRef<double> means,
                          llvm::function_ref<Cell(size_t)> biasOf) {
  SmallVector<double> biases;
  for (size_t channel = 0; channel < means.size(); ++channel) {
    Cell bias = biasOf(channel);
    // Learnt numbers, one for each channel.
    if (bias.likelyLo != bias.likelyHi)
      return 1;
    biases.push_back(bias.mean);
  }
  return scaleByBias(means, biases);
}

bool mpopt::areShaped(const AbstractValue &weights, double count) {
  if (weights.source != LikelySource::Weight || weights.groups() == 0)
    return false;
  double reach = 0, cells = 0;
  for (const Cell &cell : weights.cells()) {
    if (!(cell.variance > 0))
      continue;
    reach += std::max(cell.hi - cell.mean, cell.mean - cell.lo) /
             std::sqrt(cell.variance);
    ++cells;
  }
  // Few weights are far out by chance, or by hand.
  constexpr double kFewest = 256;
  return cells * count >= kFewest && reach / cells > expectedExtreme(count);
}

ProductResult::ProductResult(TransferContext &ctx, Value operand, Value result)
    : accumulator(getFloatFormat(getElementType(operand))
                      ? &ctx.productFormat(operand)
                      : nullptr),
      reach(expectedExtreme(ctx.elementsPerGroup(result, 1), /*draws=*/1)),
      leastReach(reach) {}

void ProductResult::addOperand(const AbstractValue &value) {
  // Inf times 0, or minus another Inf, is NaN.
  nan |= value.mayBeNonFinite();
  posInf |= value.mayBeInf();
  negInf |= value.mayBeInf();
  integral &= value.integral;
  source = std::max(source, value.source);
}

void ProductResult::addBias(const AbstractValue &value) {
  nan |= value.nan || (value.mayBeInf() && (posInf || negInf));
  posInf |= value.posInf;
  negInf |= value.negInf;
  integral &= value.integral;
  source = std::max(source, value.source);
}

void ProductResult::addWeights(const AbstractValue &weights,
                               ArrayRef<uint8_t> flags) {
  integral &= weights.integral;
  addFlags(flags);
}

void ProductResult::addFlags(ArrayRef<uint8_t> flags) {
  for (uint8_t flag : flags)
    if (flag)
      nan = posInf = negInf = true;
  integral &= flags.empty();
}

Cell ProductResult::finish(ProductSum sum, double alpha,
                           std::optional<Cell> bias, double beta) {
  if (alpha != 1) {
    // Kernels scale the finished sum, which may have overflowed.
    if (accumulator) {
      double edge = accumulator->overflowFrom * (1 - 1e-3);
      bool up = !((sum.terms + sum.bound.hi) / 2 < edge);
      bool down = !((sum.terms - sum.bound.lo) / 2 < edge);
      nan |= alpha == 0 ? up || down : up && down;
      posInf |= alpha > 0 ? up : alpha < 0 && down;
      negInf |= alpha > 0 ? down : alpha < 0 && up;
    }
    sum.bound = sum.bound * alpha;
    sum.terms = alpha == 0 ? 0 : mulUp(sum.terms, std::fabs(alpha));
    sum.mean *= alpha;
    sum.variance *= alpha * alpha;
    sum.tail *= std::fabs(alpha);
    sum.mostReach *= alpha == 0 ? 1 : std::fabs(alpha);
    ++sum.count;
    integral = false;
  }
  bool nonNegative =
      sum.nonNegative && alpha >= 0 && (!bias || (bias->lo >= 0 && beta >= 0));
  double spread = sum.tail;
  // A sum of positive terms is near 0 where all of them are, which is rarer
  // than a normal distribution has it.
  double least = -kInfinity;
  if (nonNegative && sum.mean > 0)
    least = expectedLeast(sum.mean, sum.variance, leastReach);
  if (bias && beta != 0) {
    least += std::max(0.0, beta * bias->likelyLo);
    Interval added = cells::bound(*bias) * beta;
    if (!added.isEmpty()) {
      sum.bound = sum.bound + added;
      sum.terms = addUp(sum.terms, added.maxAbs());
    }
    sum.count += 1 + (beta != 1);
    sum.mean += beta * bias->mean;
    sum.variance += beta * beta * bias->variance;
    double half = std::fabs(beta) * (bias->likelyHi - bias->likelyLo) / 2;
    spread = std::max(spread, half);
    sum.mostReach += half;
    integral &= beta == std::trunc(beta);
  }
  if (accumulator) {
    if (!rounding || sum.count != roundedCount) {
      rounding.emplace(Accumulator{accumulator}, double(sum.count));
      roundedCount = sum.count;
    }
    double error = rounding->of(sum.terms);
    if (std::isnan(error))
      error = kInfinity;
    largestError = std::max(largestError, error);
    // Partial sums lie between the sum of all negative and of all positive
    // terms, whatever the order.
    double positive = (sum.terms + sum.bound.hi) / 2 + error;
    double negative = (sum.terms - sum.bound.lo) / 2 + error;
    double edge = accumulator->overflowFrom;
    bool up = !(positive * (1 + 1e-12) < edge);
    bool down = !(negative * (1 + 1e-12) < edge);
    nan |= up && down;
    posInf |= up;
    negInf |= down;
    sum.bound = error < kInfinity ? sum.bound + Interval::symmetric(error)
                                  : Interval::whole();
    if (nonNegative)
      sum.bound.lo = std::max(sum.bound.lo, 0.0);
  }
  Likely likely =
      likely::sum(sum.mean, std::max(0.0, sum.variance), spread, reach);
  double mostReach = std::max(sum.mostReach, spread);
  likely.lo = std::max({likely.lo, likely.mean - mostReach, least});
  likely.hi = std::min(likely.hi, likely.mean + mostReach);
  Cell cell{sum.bound.lo, sum.bound.hi};
  cells::setLikely(cell, likely);
  return cell;
}

void ProductResult::setNorm(AbstractValue &value, int64_t axis, int64_t count,
                            double bound, double error) {
  if (count <= 0)
    return;
  double whole = (bound + std::sqrt(double(count)) * error) * (1 + 1e-12);
  value.norm.reset();
  if (whole < rowNorm(value, axis, count))
    value.claimNorm(axis, whole, count);
}

AbstractValue ProductResult::take(AbstractValue::Dims dims, Cells cells) const {
  AbstractValue result(std::move(dims), std::move(cells));
  result.setNonFinite(nan, posInf, negInf);
  result.integral = integral;
  result.source =
      source == LikelySource::Unknown || source == LikelySource::Weight
          ? source
          : LikelySource::Propagated;
  return result;
}

AbstractValue mpopt::unboundedProducts(TransferContext &,
                                       const AbstractValue &lhs,
                                       const AbstractValue &rhs, size_t rank) {
  Interval term = cells::bound(lhs.hull()) * cells::bound(rhs.hull());
  bool zero = term.isEmpty() || (term.lo == 0 && term.hi == 0);
  bool nonFinite = lhs.mayBeNonFinite() || rhs.mayBeNonFinite();
  AbstractValue result =
      AbstractValue::within(zero || term.lo >= 0 ? 0 : -kInfinity,
                            zero || term.hi <= 0 ? 0 : kInfinity, rank);
  result.posInf = (!zero && term.hi > 0) || nonFinite;
  result.negInf = (!zero && term.lo < 0) || nonFinite;
  result.nan = (result.posInf && result.negInf) || nonFinite;
  result.integral = lhs.integral && rhs.integral;
  return result;
}

AbstractValue mpopt::broadcastBias(const AbstractValue &bias,
                                   ArrayRef<int64_t> dims) {
  AbstractValue::Dims target(dims);
  for (auto [own, wanted] : llvm::zip_equal(bias.dims(), target))
    if (own != wanted && own != 1)
      wanted = 1;
  return bias.regrouped(target).regrouped(dims);
}

AbstractValue mpopt::minusZero(const AbstractValue &value,
                               const AbstractValue &zero) {
  Cell off = zero.hull();
  AbstractValue result = AbstractValue::boundedLike(value);
  result.keepsIntegral(value); // Zero points are integers.
  for (CellRef cell : result.mutableCells()) {
    Interval bound = cells::bound(cell) - cells::bound(off);
    cell.lo = bound.lo;
    cell.hi = bound.hi;
    cell.mean -= off.mean;
    cell.likelyLo -= off.mean;
    cell.likelyHi -= off.mean;
  }
  return result;
}
