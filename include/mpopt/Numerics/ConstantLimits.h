//===- ConstantLimits.h - Magnitudes that constants are written with *- C++
//-*-//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_NUMERICS_CONSTANTLIMITS_H
#define MPOPT_NUMERICS_CONSTANTLIMITS_H

#include "mpopt/Numerics/Infinity.h"

#include <cmath>

namespace mpopt {

/// A converter writes finite constants with magnitudes of `least` to `most`: 0,
/// Inf, NaN and signs stay (convert_np_to_float16 of onnxconverter-common and
/// of ONNX Runtime).
struct ConstantLimits {
  double least = 0, most = kInfinity;

  explicit operator bool() const { return least > 0 || most < kInfinity; }

  template <typename T> T apply(T value) const {
    T magnitude = std::fabs(value);
    if (magnitude > T(most) && std::isfinite(value))
      return std::copysign(T(most), value);
    if (magnitude > 0 && magnitude < T(least))
      return std::copysign(T(least), value);
    return value;
  }
};

} // namespace mpopt

#endif // MPOPT_NUMERICS_CONSTANTLIMITS_H
