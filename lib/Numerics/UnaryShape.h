//===- UnaryShape.h - What a function's image needs to know -----*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_NUMERICS_UNARYSHAPE_H
#define MPOPT_LIB_NUMERICS_UNARYSHAPE_H

#include "mpopt/Numerics/Unary.h"

#include "llvm/ADT/SmallVector.h"

namespace mpopt {

struct UnaryShape {
  /// Where the function has a real value; open at a pole.
  Interval domain = Interval::whole();
  /// Where it gives an infinity and of which sign. At zero, whose sign is not
  /// known, rsqrt and reciprocal may give either.
  struct Pole {
    double at;
    bool posInf, negInf;
  };
  llvm::SmallVector<Pole, 2> poles;
  /// No value lies outside, not even a kernel's.
  Interval range = Interval::whole();
  /// Relative error of `evaluate`; 0 where image() uses interval arithmetic.
  double margin = 0;
  KernelError kernel;
  /// f(0) = 0, no other zero nearby, and |f| grows away from it on both sides,
  /// so that the smallest non-zero value comes from the smallest operand.
  bool growsFromZero = false;
  /// Every result is an integer; for an integral operand.
  bool integral = false, keepsIntegers = false;
};

UnaryShape getShape(const Unary &unary);

/// Values inside `x` that the ends do not show: at stationary points, and both
/// limits at jumps.
void getInteriorValues(const Unary &unary, const Interval &x,
                       llvm::SmallVectorImpl<double> &values);

/// What a kernel gives for an infinity.
FloatRange applyToInfinity(const Unary &unary, bool negative);

/// Finite values that some kernels give for NaN, because a comparison with NaN
/// is false: max(0, x) written x > 0 ? x : 0.
Interval getValuesOfNaN(const Unary &unary);

} // namespace mpopt

#endif // MPOPT_LIB_NUMERICS_UNARYSHAPE_H
