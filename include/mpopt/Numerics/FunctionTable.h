//===- FunctionTable.h - Facts of functions of one number -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each function has one row, in lib/Numerics/Functions, in files by family.
// Everything else about a function follows from its row: the interval image,
// the range that a kernel computes, the transfer function of its op. A row is
// plain data and free functions, so that it can be handed to kernels that
// evaluate arrays.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_NUMERICS_FUNCTIONTABLE_H
#define MPOPT_NUMERICS_FUNCTIONTABLE_H

#include "mpopt/Numerics/Unary.h"

#include "llvm/ADT/SmallVector.h"

namespace mpopt {

/// A point at which a function gives an infinity, and the sign of that. At
/// zero, whose sign is not known, rsqrt and reciprocal may give either.
struct Pole {
  double at;
  bool posInf, negInf;
};

enum class Monotone : std::uint8_t { Increasing, Decreasing, InPieces };

struct FunctionFacts {
  /// The arguments that have a real value; open at a pole.
  Interval domain = Interval::whole();
  llvm::ArrayRef<Pole> poles;
  /// An interval that no value leaves, not even a kernel's.
  Interval range = Interval::whole();
  /// Relative error of `value`; 0 where `exactImage` gives the image.
  double margin = 0;
  KernelError kernel;
  /// Monotonicity over the domain; constant pieces count as either. InPieces:
  /// monotone between the row's `breaks`, and between phase + k spacing if
  /// `spacing` is not 0.
  Monotone monotone = Monotone::InPieces;
  double phase = 0, spacing = 0;
  /// f(0) = 0, no other zero nearby, and |f| grows away from it on both sides,
  /// so that the smallest non-zero value comes from the smallest operand.
  bool growsFromZero = false;
  /// Every result is an integer; `keepsIntegers`: for an integral operand.
  bool integral = false, keepsIntegers = false;
  /// |f(x)| <= |x|.
  bool contracts = false;
  /// A kernel gives NaN at an infinity: Inf times a factor that is exactly 0
  /// there, or Inf / Inf.
  bool nanAtPosInf = false, nanAtNegInf = false;
  /// Finite values that some kernels give for NaN, because a comparison with
  /// NaN is false: max(0, x) written x > 0 ? x : 0.
  Interval ofNaN = Interval::empty();
  /// Units of the computing format by which a kernel may pass the ends of
  /// `range`.
  double rangeUlps = 0;
  /// The function is a division or a square root, which GPUs approximate.
  bool divides = false;
  /// Kernels clamp the argument of an exponential, so that the error is
  /// absolute (ComputeError::absolute); `timesApproximated`: the function is x
  /// times such a one.
  bool approximated = false, timesApproximated = false;
};

/// How a function bends.
enum class Curvature : std::uint8_t { Linear, Convex, Concave };

/// A piece of the real line, up to the next one's `from`, on which a function
/// bends one way, as far as it is in the domain.
struct Bend {
  double from;
  Curvature curvature;
};

/// Names of the op's attributes that hold the numbers; empty where there are
/// none.
struct NumberNames {
  llvm::StringLiteral alpha = "", beta = "", threshold = "";
};

struct FunctionRow {
  /// The name of the op's class without Op: LeakyRelu is mp.leaky_relu.
  llvm::StringLiteral name;
  double (*value)(const Unary &unary, double x);
  double (*derivative)(const Unary &unary, double x);
  FunctionFacts facts;
  NumberNames numbers;
  /// Sets the facts that depend on the numbers in the formula.
  void (*adapt)(const Unary &unary, FunctionFacts &facts) = nullptr;
  /// The image of an interval within the domain, by interval arithmetic, which
  /// keeps exact results exact. Null: the image follows from the values at the
  /// ends and inside.
  Interval (*exactImage)(const Unary &unary, const Interval &x) = nullptr;
  /// The points at which the function turns or jumps.
  void (*breaks)(const Unary &unary,
                 llvm::SmallVectorImpl<double> &points) = nullptr;
  /// Values inside an interval that its ends do not show: both limits at a
  /// jump, the extremes of a period. Null: the values at the breaks.
  void (*interior)(const Unary &unary, const Interval &x,
                   llvm::SmallVectorImpl<double> &values) = nullptr;
  /// The pieces on which the function bends one way, the first from -Inf on; it
  /// is continuous where they meet. Null: not known.
  void (*bends)(const Unary &unary,
                llvm::SmallVectorImpl<Bend> &pieces) = nullptr;
};

/// True if the function takes all numbers and grows no faster than they do.
bool hasBoundedSlope(const Unary &unary);

/// The facts of the function's row, adapted to its numbers.
FunctionFacts getFacts(const Unary &unary);
llvm::SmallVector<double, 2> getBreaks(const Unary &unary);
/// The pieces on which it bends one way; none if they are not known.
llvm::SmallVector<Bend, 4> getBends(const Unary &unary);

} // namespace mpopt

#endif // MPOPT_NUMERICS_FUNCTIONTABLE_H
