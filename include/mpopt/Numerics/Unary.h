//===- Unary.h - Images under functions of one number -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_NUMERICS_UNARY_H
#define MPOPT_NUMERICS_UNARY_H

#include "mpopt/Numerics/ComputeError.h"
#include "mpopt/Numerics/FloatRange.h"

#include <optional>
#include <string>

namespace mpopt {

struct FunctionRow;

/// A function of one number: a row of the table in FunctionTable.h.
class UnaryFunction {
public:
  explicit constexpr UnaryFunction(const FunctionRow &row) : its(&row) {}
  const FunctionRow &row() const { return *its; }
  bool operator==(const UnaryFunction &other) const = default;

  // The functions that formulas use, named as enumerators are; an op finds its
  // own by name.
  // NOLINTBEGIN(readability-identifier-naming)
  static const UnaryFunction Abs, Elu, Exp, Gelu, HardSigmoid, HardTanh,
      LeakyRelu, Log, Log1p, Relu, Round, Rsqrt, Sigmoid, Silu, Softplus,
      Softsign, Sqrt, Square, Tanh, ThresholdedRelu;
  // NOLINTEND(readability-identifier-naming)

private:
  const FunctionRow *its;
};

/// The mnemonic of the function's op; `gelu_tanh` is mp.gelu with approximate =
/// "tanh".
std::string toString(UnaryFunction function);
/// The function of that mnemonic; nothing if there is none.
std::optional<UnaryFunction> parseUnaryFunction(llvm::StringRef mnemonic);
llvm::ArrayRef<UnaryFunction> getUnaryFunctions();

/// A function and the numbers in its formula.
struct Unary {
  UnaryFunction function;
  /// leaky_relu, thresholded_relu, hard_sigmoid, elu, celu, selu, silu,
  /// quick_gelu: `alpha`. hard_tanh: `low`. shrink: `lambd`. softplus: `beta`.
  double alpha = 1;
  /// hard_sigmoid: `beta`. selu: `gamma`. hard_tanh: `high`. shrink: `bias`.
  double beta = 0;
  /// softplus: x itself is the result where beta x is above it.
  double threshold = kInfinity;
};

/// The function's value in double, NaN outside the domain. At an infinity it is
/// the limit, which a kernel may miss (x sigmoid(x) at -Inf is NaN in
/// practice).
double evaluate(const Unary &unary, double x);

/// The slope at x: NaN outside the domain, infinite where the tangent is
/// vertical, and the limit at an infinity. Where the function has a kink or a
/// jump it is the number that PyTorch's backward functions take there.
double derivative(const Unary &unary, double x);

/// The real image of the part of an interval that lies in the domain. It
/// includes libm's error, not a kernel's.
Interval image(const Unary &unary, const Interval &x);

/// The results of a kernel before the final rounding, for every value of `x`.
FloatRange apply(const Unary &unary, const FloatRange &x,
                 const ComputeError &error);

} // namespace mpopt

#endif // MPOPT_NUMERICS_UNARY_H
