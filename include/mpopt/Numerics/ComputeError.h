//===- ComputeError.h - How far a kernel is off -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel computes in some format, often wider than its operands', and only
// then rounds. +, -, *, / and sqrt are rounded correctly there; rounding again
// to a format of at most half as many digits (f32 to f16 or bf16) gives what
// one rounding would, so they add no error to a range that is still to be
// stored. The other functions are off by some units in the last place, as libm,
// CUDA's device functions and their vectorised kin are; the formulas that
// cancel (GELU is x/2 (1 + erf)) are off by units of an operand or of 1
// instead.
//
// The model does not cover fast approximations past these units (a target
// states them with `scale` and `absolute`), and kernels of fused functions
// whose intermediates overflow where the function does not (log(1 + e^x) for
// softplus).
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_NUMERICS_COMPUTEERROR_H
#define MPOPT_NUMERICS_COMPUTEERROR_H

#include "mpopt/Numerics/FloatFormat.h"
#include "mpopt/Numerics/Interval.h"

namespace mpopt {

/// The error of one function. Each field counts units of the computing format;
/// a unit is 2^(1 - digits) of the number that the error is relative to.
struct KernelError {
  double ulps = 0;      ///< Error relative to the result.
  double unitUlps = 0;  ///< Error relative to 1.
  double inputUlps = 0; ///< Error relative to the input, up to `inputCap`.
  double inputCap = 0;
  /// The error where an intermediate e^-x overflows, in units of the smallest
  /// normal number; `inputNormals` is multiplied by the input (up to 800).
  double normals = 0, inputNormals = 0;
  /// The result has the sign of the exact one, or is zero.
  bool keepsSign = true;
};

/// The format in which a kernel computes, and its errors there.
struct ComputeError {
  const FloatFormat *format = &FloatFormat::f32();
  /// Factor on every function's units; 0 leaves the real image.
  double scale = 1;
  /// Error of division and square root, in units in the last place (approximate
  /// GPU forms).
  double divisionUlps = 0;
  /// Error of the transcendental functions beyond the units, for kernels that
  /// clamp their argument (a sigmoid that is 1.5e-8 from -18 down).
  double absolute = 0;

  static ComputeError in(const FloatFormat &format) {
    ComputeError error;
    error.format = &format;
    return error;
  }
  /// The computation in real numbers, without error.
  static ComputeError none() {
    ComputeError error;
    error.scale = 0;
    return error;
  }

  /// Widens `real`, the exact image of inputs of magnitude `inputMagnitude` at
  /// most, by the kernel's error.
  Interval widen(const Interval &real, const KernelError &kernel,
                 double inputMagnitude) const;
  /// Widens `real` by `ulps` units in the last place of the result.
  Interval widen(const Interval &real, double ulps) const;
  /// `value` where the kernel holds a constant exactly; else the interval of
  /// the numbers that it may hold instead.
  Interval constant(double value) const;
};

} // namespace mpopt

#endif // MPOPT_NUMERICS_COMPUTEERROR_H
