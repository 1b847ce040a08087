//===- OperatorNorm.cpp - A Gram bound of the operator norm
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For the Gram matrix G of W's shorter side, and A_0 = G, A_(p+1) = A_p^2,
//   sigma_max(W)^2 = lambda_max(G) <= |A_p|_F^(1 / 2^p),
// from above for every p, and within n^(1 / 2^(p+1)) of it. Power iteration
// would give a lower bound. The computed square B of a symmetric A has
// |B - A^2|_F <= gamma_n |A|_F^2 (Higham, 3.5), so by Weyl
//   lambda_max(A)^2 <= lambda_max(B) + gamma_n |A|_F^2,
// which is what each step pays; A is scaled to |A|_F < 1 by a power of two, and
// the symmetric half that is not computed is a copy.
//
//===----------------------------------------------------------------------===//

#include "OperatorNorm.h"

#include "mpopt/Numerics/Rounding.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mpopt;
using namespace mpopt::kernels;

/// Squarings after which the bound is within 1.2 for n = 512.
static constexpr unsigned kSquarings = 4;
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
  // Undoing step p: lambda = scale * sqrt(below + error).
  double scales[kSquarings], errors[kSquarings];
  unsigned steps = 0;
  double last = frobenius;
  for (; steps < kSquarings && last > 0x1p-400 && last < 0x1p400; ++steps) {
    double scale = std::ldexp(1.0, std::ilogb(last) + 1);
    for (double &value : matrix)
      value /= scale; // what underflows is covered by the absolute term
    scales[steps] = scale;
    double scaled = last / scale;
    errors[steps] = addUp(mulUp(gamma(n), mulUp(scaled, scaled)),
                          mulUp(double(size) * double(size), 0x1p-1060));
    std::vector<double> square(size * size, 0);
    for (size_t k = 0; k < size; k += kSlab)
      loops().gram(matrix.data() + k * size, std::min(kSlab, size - k), size,
                   square.data());
    matrix = std::move(square);
    last = complete();
  }
  double lambda = last;
  while (steps--)
    lambda = mulUp(scales[steps], sqrtUp(addUp(lambda, errors[steps])));
  return sqrtUp(addUp(std::min(lambda, frobenius), slack));
}

bool mpopt::kernels::isWithinGramBudget(const LinearRequest &request) {
  uint64_t side = std::min(request.n, request.k),
           longer = std::max(request.n, request.k);
  if (side < 2 || side > request.gramBudget)
    return false;
  uint64_t cost = side * side / 2;
  return cost <= request.gramBudget &&
         cost * (longer + kSquarings * side) <=
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
      if (zeros.size() <= 1)
        return zeros.empty() ? 0 : zeros.front();
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
      for (uint64_t at = 0; at < inner; ++at)
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
