//===- OperatorNorm.cpp - A Gram bound of the operator norm
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For the Gram matrix G of W's shorter side, sigma_max(W)^2 = lambda_max(G). A
// few steps of Lanczos estimate it from below; t slightly above it is an upper
// bound if t I - G has a Cholesky factor. One that is computed in floating
// point, from a matrix M to its end, proves
//   lambda_min(M) >= -gamma_(n+1) / (1 - gamma_(n+1)) trace(M)
// (Higham, 10.3; Rump, "Verification of positive definiteness", 2006), which is
// added to t. G is scaled to |G|_F < 1 by a power of two. Where no t is proved,
// |G|_F is the bound.
//
//===----------------------------------------------------------------------===//

#include "OperatorNorm.h"

#include "mpopt/Numerics/Rounding.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mpopt;
using namespace mpopt::kernels;

/// Steps of the estimate, and the last ones, by which it shows how near it is.
static constexpr size_t kSteps = 18, kLastSteps = 3;
/// How far above the estimate a bound is tried: at least so much, and farther
/// by a factor each time that it is not proved.
static constexpr double kLeastMargin = 0x1p-30, kMostMargin = 2, kFarther = 8;
/// So much of n^3 / 2 multiplications the budget counts for the proof; it takes
/// less while the matrix stays in a core's caches.
static constexpr uint64_t kProof = 4;
/// Terms of a sum before it is added up: rows in the first-level cache.
static constexpr size_t kSlab = 64;

namespace {
class GramBound {
public:
  GramBound(size_t n) : n(n), size((n + 7) / 8 * 8), matrix(size * size, 0) {}

  /// Adds `rows` rows of n, padded to `width()`.
  void add(const double *rows, size_t count) {
    loops().gram(rows, count, size, matrix.data());
    terms += count;
  }
  size_t width() const { return size; }
  /// An upper bound of the norm of the matrix whose rows were added.
  double finish();

private:
  /// Copies the upper half, and returns at least the Frobenius norm.
  double complete();
  /// About the largest eigenvalue, mostly a little less; `margin` becomes what
  /// it may lack, relative to it.
  double estimate(double &margin) const;
  /// An upper bound of the largest eigenvalue, for a Frobenius norm below 1;
  /// infinite if none is proved.
  double prove() const;
  double gamma(size_t count) const {
    return 1.01 * (double(count) + 2) * 0x1p-53;
  }

  size_t n, size, terms = 0;
  std::vector<double> matrix;
};
} // namespace

double GramBound::complete() {
  double squares = 0;
  for (size_t i = 0; i < size; ++i)
    for (size_t j = 0; j < size; ++j) {
      if (j < i)
        matrix[i * size + j] = matrix[j * size + i];
      squares += matrix[i * size + j] * matrix[i * size + j];
    }
  double count = double(size) * double(size);
  // Squares that underflow are at most 2^-1074 each.
  return sqrtUp(addUp(mulUp(squares, addUp(1, mulUp(count + 4, 0x1p-52))),
                      mulUp(count, 0x1p-1073)));
}

/// The largest eigenvalue of a symmetric tridiagonal matrix, nearly: the number
/// of eigenvalues above a point is known from the signs of the pivots there.
static double largestOf(llvm::ArrayRef<double> diagonal,
                        llvm::ArrayRef<double> beside) {
  double low = diagonal.front(), high = low;
  for (size_t i = 0; i < diagonal.size(); ++i) {
    double reach =
        (i ? beside[i - 1] : 0) + (i + 1 < diagonal.size() ? beside[i] : 0);
    low = std::max(low, diagonal[i]);
    high = std::max(high, diagonal[i] + reach);
  }
  while (high - low > 0x1p-40 * high) {
    double middle = (low + high) / 2, pivot = 1;
    bool above = false;
    for (size_t i = 0; i < diagonal.size() && !above; ++i) {
      double left = i ? beside[i - 1] * beside[i - 1] / pivot : 0;
      pivot = diagonal[i] - middle - left;
      above = pivot >= 0;
    }
    (above ? low : high) = middle;
  }
  return high;
}

double GramBound::estimate(double &margin) const {
  std::vector<double> before(size, 0), at(size, 0), next(size);
  auto dot = [&](const std::vector<double> &x, const std::vector<double> &y) {
    double sum = 0;
    for (size_t i = 0; i < size; ++i)
      sum += x[i] * y[i];
    return sum;
  };
  // Not orthogonal to an eigenvector but by chance.
  for (size_t i = 0; i < n; ++i)
    at[i] = 1 + std::fmod(double(i) * 0.6180339887498949, 1);
  double length = std::sqrt(dot(at, at));
  llvm::SmallVector<double, kSteps> diagonal, beside;
  double coupling = 0;
  for (size_t step = 0; step < std::min(kSteps, n); ++step) {
    for (double &number : at)
      number /= length;
    loops().multiply(matrix.data(), size, at.data(), next.data());
    double along = dot(next, at);
    for (size_t i = 0; i < size; ++i)
      next[i] -= along * at[i] + coupling * before[i];
    diagonal.push_back(along);
    coupling = length = std::sqrt(dot(next, next));
    beside.push_back(coupling);
    if (!(coupling > 0x1p-20 * along))
      break;
    std::swap(before, at);
    std::swap(at, next);
  }
  double most = largestOf(diagonal, beside);
  double earlier = largestOf(llvm::ArrayRef(diagonal).drop_back(
                                 std::min(kLastSteps, diagonal.size() - 1)),
                             beside);
  bool isWhole = diagonal.size() < kSteps;
  margin = std::max(kLeastMargin, isWhole ? 0 : (most - earlier) / most);
  return most;
}

double GramBound::prove() const {
  double margin = 0;
  double least = estimate(margin);
  while (margin < kMostMargin) {
    double bound = least * (1 + margin);
    margin *= kFarther;
    std::vector<double> rest(matrix);
    for (double &value : rest)
      value = -value;
    for (size_t i = 0; i < size; ++i)
      rest[i * size + i] += bound;
    if (!loops().factor(rest.data(), size))
      continue;
    // A pivot that is positive was rounded by less than half a unit of the
    // bound. Products that underflow lose 2^-1074 each.
    double part = addUp(0x1p-52, mulUp(double(size), 2 * gamma(size + 1)));
    return addUp(mulUp(bound, addUp(1, part)),
                 mulUp(double(size) * double(size), 0x1p-1060));
  }
  return kInfinity;
}

double GramBound::finish() {
  // lambda_max(G) <= lambda_max(computed) + gamma trace(G): |W^T||W| has no
  // larger Frobenius norm than |W|_F^2.
  double trace = 0;
  for (size_t i = 0; i < size; ++i)
    trace = addUp(trace, matrix[i * size + i]);
  trace = mulUp(trace, 1 + 4 * gamma(terms));
  double slack = addUp(mulUp(gamma(terms), trace),
                       mulUp(double(terms) * double(n), 0x1p-1073));
  double frobenius = complete();
  double lambda = frobenius;
  if (frobenius > 0x1p-400 && frobenius < 0x1p400) {
    double scale = std::ldexp(1.0, std::ilogb(frobenius) + 1);
    for (double &value : matrix)
      value /= scale; // what underflows is covered by the absolute term
    lambda = std::min(lambda, mulUp(scale, prove()));
  }
  return sqrtUp(addUp(lambda, slack));
}

bool mpopt::kernels::isWithinGramBudget(const LinearRequest &request) {
  uint64_t side = std::min(request.n, request.k),
           longer = std::max(request.n, request.k);
  if (side < 2 || side > request.gramBudget)
    return false;
  uint64_t cost = side * side / 2;
  return cost <= request.gramBudget &&
         cost * (longer + kProof * side) <=
             request.gramBudget / std::max<uint64_t>(request.matrices, 1);
}

void mpopt::kernels::boundByGram(const LinearRequest &request,
                                 const WeightReader &reader,
                                 std::vector<double> &norms) {
  if (!isWithinGramBudget(request))
    return;
  // In memory a matrix has `outer` rows of `inner`.
  uint64_t outer = request.transposed ? request.n : request.k;
  uint64_t inner = request.transposed ? request.k : request.n;
  uint64_t side = std::min(outer, inner);
  auto ignore = [](size_t, uint8_t) {};
  llvm::ArrayRef<double> zeros = request.weights.zeroPoints;
  for (uint64_t matrix = 0; matrix < request.matrices; ++matrix) {
    auto zero = [&](uint64_t channel) {
      if (zeros.size() == 1)
        return zeros.front();
      return zeros[zeros.size() == request.n ? channel
                                             : matrix * request.n + channel];
    };
    GramBound gram(side);
    std::vector<double> whole(inner), slab(kSlab * gram.width(), 0);
    bool wide = inner > side;
    // A wide matrix is transposed first: it is small.
    std::vector<double> copy(wide ? inner * gram.width() : 0, 0);
    size_t filled = 0;
    for (uint64_t row = 0; row < outer; ++row) {
      reader.read((matrix * outer + row) * inner, inner, whole.data(), ignore);
      for (uint64_t at = 0; !zeros.empty() && at < inner; ++at)
        whole[at] -= zero(request.transposed ? row : at);
      if (wide) {
        for (uint64_t at = 0; at < inner; ++at)
          copy[at * gram.width() + row] = whole[at];
        continue;
      }
      llvm::copy(whole, slab.begin() + filled * gram.width());
      if (++filled == kSlab || row + 1 == outer) {
        gram.add(slab.data(), filled);
        filled = 0;
      }
    }
    for (uint64_t at = 0; wide && at < inner; at += kSlab)
      gram.add(copy.data() + at * gram.width(),
               std::min<uint64_t>(kSlab, inner - at));
    norms[matrix] = std::min(norms[matrix], gram.finish());
  }
}
