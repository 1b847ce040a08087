//===- UnaryKernel.h - Results of a kernel for one function -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The facts of the row and the numbers of the formula as the kernel rounds them
// do not depend on the operand: they are looked up once, for all groups of a
// tensor.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_NUMERICS_UNARYKERNEL_H
#define MPOPT_NUMERICS_UNARYKERNEL_H

#include "mpopt/Numerics/ComputeError.h"
#include "mpopt/Numerics/FloatRange.h"
#include "mpopt/Numerics/FunctionTable.h"

namespace mpopt {

/// The real image of a function, its numbers given.
class UnaryImage {
public:
  explicit UnaryImage(const Unary &unary)
      : UnaryImage(unary, getFacts(unary)) {}
  /// With facts of numbers that are nearly those of `unary`.
  UnaryImage(const Unary &unary, const FunctionFacts &facts)
      : unary(unary), facts(facts), breaks(getBreaks(unary)) {}

  /// The image of the part of `x` that lies in the domain. It includes libm's
  /// error, not a kernel's.
  Interval operator()(const Interval &x) const;
  /// The same for an `x` in the domain that is not empty.
  Interval ofDomain(const Interval &x) const;

  const Unary unary;
  const FunctionFacts facts;

private:
  void addInterior(const Interval &x,
                   llvm::SmallVectorImpl<double> &values) const;

  llvm::SmallVector<double, 2> breaks;
};

/// slope x + offset.
struct Line {
  double slope = 0, offset = 0;
};

/// Lines between which the results lie.
struct Relaxation {
  Line lower, upper;
};

/// A point of a function's graph.
struct Sample {
  double x, y;
};
/// The slope at `point` of the upper hull of samples, or of the lower one.
double supportSlope(llvm::ArrayRef<Sample> samples, double point, bool above);

/// The results of a kernel that makes an error, before the final rounding.
class UnaryKernel {
public:
  UnaryKernel(const Unary &unary, const ComputeError &error);

  FloatRange operator()(const FloatRange &x) const;
  /// Lines between which the results for the operands in `x` lie, nearest to
  /// the function at that share of the way from one end to the other; nothing
  /// where there are none, as around a pole (Relaxation.cpp).
  std::optional<Relaxation> relax(const Interval &x, double near = 0.5) const;

private:
  /// An upper bound of the kernel's error on `x`, which is in the domain, where
  /// no exact value is larger than `most`.
  double errorOn(const Interval &x, double most) const;
  ComputeError appliedOn(const Interval &x) const;
  Interval computeFinite(const FloatRange &x) const;
  Interval computePart(const Interval &part) const;
  double getSmallest(const FloatRange &x) const;
  FloatRange atInfinity(double infinity, bool nan) const;
  FloatRange atSpecials(const FloatRange &x) const;

  UnaryImage exact;
  /// With the numbers of the formula rounded to the kernel's format; nothing if
  /// that changes none.
  std::optional<UnaryImage> rounded;
  ComputeError error;
  KernelError kernel;
};

} // namespace mpopt

#endif // MPOPT_NUMERICS_UNARYKERNEL_H
