//===- Reader.h - Weights decoded into tiles --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_RANGES_WEIGHTS_KERNELS_READER_H
#define MPOPT_LIB_RANGES_WEIGHTS_KERNELS_READER_H

#include "Tile.h"

#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/Weights/Kernels/Weights.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <array>
#include <cmath>

namespace mpopt::kernels {

class WeightReader {
public:
  explicit WeightReader(const WeightTensor &weights);

  /// Every weight minus its zero point is a float without rounding. Zero points
  /// of other types than 8-bit integers may be none.
  bool fitsFloat() const {
    return inFloat && (weights.zeroPoints.empty() ||
                       (!weights.format && weights.bits() <= 8));
  }

  /// Loops for the bytes as they lie, if no tile is needed; else null.
  const SumLoops<float> *direct() const;

  using Mark = llvm::function_ref<void(size_t offset, uint8_t flag)>;
  /// `count` weights from `index` on, rounded to the storage format, without
  /// zero points. `mark` hears of those that have a flag; the ones that are not
  /// finite are read as 0.
  template <typename T>
  void read(size_t index, size_t count, T *to, Mark mark) const;

private:
  void readFloats(size_t index, size_t count, float *to, Mark mark) const;
  void readDoubles(size_t index, size_t count, double *to, Mark mark) const;
  double decode(size_t index) const;

  const WeightTensor &weights;
  Element element = Element::F64;
  bool inFloat = true, rounds = false, limits = false;
  Rounding rounding;
  /// Values of all bytes of an 8-bit float, of all halves of a 4-bit type.
  std::array<float, 256> table;
};

/// `value` as a T, or the next larger one.
template <typename T> T roundedUp(double value) {
  T nearest = T(value);
  if (double(nearest) < value)
    nearest = std::nextafter(nearest, T(kInfinity));
  return nearest;
}

/// The loops for tiles of Ts.
template <typename T> const SumLoops<T> &tileLoops() {
  if constexpr (std::is_same_v<T, float>)
    return loops().f32;
  else
    return loops().f64;
}

/// Has the pages of a file's bytes mapped before they are read, or what is
/// fetched ahead would not arrive. MADV_POPULATE_READ costs more, above all
/// where they are mapped already.
void mapPages(llvm::ArrayRef<char> bytes);

/// Calls `task` with 0 to count - 1, on a thread for each core that the process
/// may use. The work is `bytes` large; little work stays on the calling thread.
void forEachTask(size_t count, uint64_t bytes,
                 llvm::function_ref<void(size_t)> task);

} // namespace mpopt::kernels

#endif // MPOPT_LIB_RANGES_WEIGHTS_KERNELS_READER_H
