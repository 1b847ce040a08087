//===- LinearPass.h - The pass over the weights of a product ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The inputs as coefficients, and the sums of weights times coefficients; what
// they prove is Linear.cpp's.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RANGES_WEIGHTS_KERNELS_LINEARPASS_H
#define MPOPT_LIB_RANGES_WEIGHTS_KERNELS_LINEARPASS_H

#include "Reader.h"

#include "mpopt/Ranges/Weights/Kernels/Linear.h"

#include <algorithm>
#include <cmath>

namespace mpopt::kernels {

/// The number as the likely tier may compute with it.
inline double clamped(double value) {
  return std::isnan(value) ? 0 : std::clamp(value, -0x1p500, 0x1p500);
}

struct InputAt {
  const LinearRequest &request;

  double get(llvm::ArrayRef<double> list, uint64_t matrix, uint64_t k) const {
    if (list.size() <= 1)
      return list.empty() ? 0 : list.front();
    return list[list.size() == request.k ? k : matrix * request.k + k];
  }
  bool unbounded(uint64_t matrix, uint64_t k) const {
    return !std::isfinite(get(request.inputs.centre, matrix, k)) ||
           !std::isfinite(get(request.inputs.radius, matrix, k));
  }
};

/// The inputs as factors of the weights; none if they are the same for all k.
template <typename T> struct Coefficients {
  explicit Coefficients(const LinearRequest &request);
  Coefficients(const Coefficients &) = delete; // `base` depends on the address

  const T *of(uint64_t matrix) const {
    if (uniform)
      return nullptr;
    return base() + (perMatrix ? matrix * kCoefficients * stride : 0);
  }

  /// Where a cache line begins, and so does each coefficient's list: a vector
  /// that straddles two lines costs two reads.
  const T *base() const {
    auto address = reinterpret_cast<uintptr_t>(values.data());
    size_t skipped = (-address % kLine) / sizeof(T);
    return values.data() + skipped;
  }

  // Bytes of a cache line.
  static constexpr uintptr_t kLine = 64;
  bool uniform = true, perMatrix = false, anyUnbounded = false;
  size_t stride = 0;
  std::vector<T> values;
  /// The divisors of the coefficients: c, r and a; mean; variance; h.
  double boundScale = 1, meanScale = 1, varianceScale = 1, rangeScale = 1;
};

/// The sums of the pass; lists are by output channel of all matrices.
struct Raw {
  std::vector<double> sums[kSums];
  /// For norms: sum_n |w| by matrix and k.
  std::vector<double> across;
  std::vector<uint8_t> flags;
};

template <typename T> class LinearPass {
public:
  LinearPass(const LinearRequest &request, const WeightReader &reader,
             const Coefficients<T> &coefficients, Raw &raw)
      : request(request), reader(reader), coefficients(coefficients), raw(raw) {
    if constexpr (std::is_same_v<T, float>)
      if (request.weights.zeroPoints.empty())
        direct = reader.direct();
  }

  void run() { request.transposed ? runRows() : runColumns(); }

private:
  struct Task {
    uint64_t matrix, begin, end, firstRow, lastRow;
    std::vector<double> sums, across;
    /// By column of the task; empty if there are none.
    std::vector<uint8_t> flags;
  };

  void runColumns();
  void runRows();
  void sumColumns(Task &task, const SumLoops<T> *direct) const;
  void sumRows(Task &task, const SumLoops<T> *direct) const;
  const char *bytesAt(uint64_t index) const {
    return request.weights.bytes.data() + index * (request.weights.bits() / 8);
  }
  void subtractZero(T *values, size_t count, uint64_t channel,
                    uint64_t step) const;

  uint64_t bytes() const {
    return request.matrices * request.k * request.n * request.weights.bits() /
           8;
  }

  const LinearRequest &request;
  const WeightReader &reader;
  const Coefficients<T> &coefficients;
  Raw &raw;
  /// For weights that need no tile, or null.
  const SumLoops<T> *direct = nullptr;
};

extern template struct Coefficients<float>;
extern template struct Coefficients<double>;
extern template class LinearPass<float>;
extern template class LinearPass<double>;

} // namespace mpopt::kernels

#endif // MPOPT_LIB_RANGES_WEIGHTS_KERNELS_LINEARPASS_H
