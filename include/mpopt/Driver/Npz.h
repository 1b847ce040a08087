//===- Npz.h - Ranges from NumPy archives -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DRIVER_NPZ_H
#define MPOPT_DRIVER_NPZ_H

#include "mpopt/Report/Finding.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <optional>
#include <vector>

namespace mpopt {

/// A bound for each element or channel of an input, row-major; `shape`
/// broadcasts to the input's.
struct ElementBounds {
  std::vector<int64_t> shape;
  std::vector<double> lo, hi;
  /// The moments of the elements that a bound is for; empty where the file
  /// gives bounds.
  std::vector<double> mean = {}, std = {};
};

/// The values of a sample, row-major; of many, the first.
struct SampleValues {
  std::vector<int64_t> shape;
  std::vector<float> numbers;
};

/// The range of one input, from a file.
struct NpzRange {
  Interval bound;
  /// Set where the bounds differ from element to element, else null.
  std::shared_ptr<const ElementBounds> elements;
  /// Moments of a sample; absent if the file gives bounds.
  std::optional<double> mean, std;
  /// Shares of the classes from 0 on, which sum to 1: of a sample of integers,
  /// or given. Null if there are none.
  std::shared_ptr<const std::vector<double>> frequencies;
  /// The values themselves, of a sample that is not too large.
  std::shared_ptr<const SampleValues> samples;
};

/// The shapes that an archive states before any element is unpacked.
struct NpzShapes {
  /// The shape of bounds by element, broadcast to each other; absent for one
  /// bound.
  std::optional<std::vector<int64_t>> bounds;
  std::optional<std::vector<int64_t>> sample;
};

/// Reads the headers of the arrays that `readNpzRange` reads, so that an array
/// of the wrong shape costs nothing. The error is one line.
llvm::Expected<NpzShapes> readNpzShapes(llvm::StringRef file,
                                        llvm::StringRef input);

/// Reads the arrays `lo` and `hi` of an .npz file, broadcast to each other; or
/// the array `frequencies`, how often each class from 0 on occurs; or a sample:
/// the array `input`, whose least and greatest element are the bound.
/// The error is one line.
llvm::Expected<NpzRange> readNpzRange(llvm::StringRef file,
                                      llvm::StringRef input);

} // namespace mpopt

#endif // MPOPT_DRIVER_NPZ_H
