//===- Expression.h - Values that depend on one number ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Activations that exporters write out, x sigmoid(x) or x (1 + erf(x / c)) / 2,
// are products of values that depend on each other. As functions of x they are
// no harder than a single one.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_VALUE_EXPRESSION_H
#define MPOPT_RANGES_VALUE_EXPRESSION_H

#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/FloatRange.h"
#include "mpopt/Numerics/Unary.h"

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace mpopt {

struct Relaxation;
class TransferContext;

/// The result of an elementwise op as a function of one value.
class Expression {
public:
  /// A part of a product: a value, its reciprocal, 1 where it is true or where
  /// it is not, or the derivative of a function at it; -1 if there is none.
  struct Factor {
    enum class Kind { Minus, Times, Over, If, Unless, Slope };
    Kind kind = Kind::Minus;
    mlir::Value of;
    Unary unary{UnaryFunction::Relu};
  };

  /// Nothing if the operands of the op depend on several values, or only one of
  /// them on any, so that the op itself says all.
  static std::optional<Expression> of(mlir::Operation *op);
  /// A product in a tensor of that shape; nothing if its factors depend on
  /// several values or on none.
  static std::optional<Expression> ofProduct(llvm::ArrayRef<Factor> factors,
                                             const MaybeShape &shape);
  /// A value that is computed of one other, element by element; nothing if it
  /// is computed of several or in another way. Of `variable`, if it is not
  /// null, of which numbers and itself are functions, too.
  static std::optional<Expression> ofValue(mlir::Value value,
                                           mlir::Value variable = {});
  /// The result of an op as a function of that operand, in any order of the
  /// elements; nothing if it depends on anything else. A choice between the
  /// operand and a number by something else is taken to choose the operand.
  static std::optional<Expression> ofOperand(mlir::Operation *op,
                                             mlir::Value operand);

  /// 1 / x.
  static Expression reciprocal(mlir::Value x);

  mlir::Value variable() const { return its; }
  /// The variable and the values that the steps compute.
  auto values() const { return llvm::make_first_range(known); }
  double evaluate(double x) const;
  /// The derivative at x, by a central difference of that step; `deviation` of
  /// the variable gives the one at 0.
  double slope(double x, double deviation) const;
  static double stepNear(double x, double deviation);
  /// The values at `points`, in an array as long; `asStored`: with each step of
  /// `ofValue` rounded to its dtype.
  void evaluate(llvm::ArrayRef<double> points,
                llvm::MutableArrayRef<double> values,
                bool asStored = false) const;
  /// The results, before their rounding, for every variable in `x`: each step
  /// may be stored or kept, and functions make that error. Anything where a
  /// step rounds to codes.
  FloatRange enclose(const FloatRange &x, const ComputeError &error) const;
  /// The same from narrow parts of `x`, for which bounds are narrow.
  FloatRange bound(const FloatRange &x, const ComputeError &error) const;
  /// Lines between which the results lie, as `UnaryKernel::relax` has them.
  std::optional<Relaxation> relax(const Interval &x, double near,
                                  const ComputeError &error) const;

private:
  enum class Kind {
    Variable,
    Number,
    Function,
    Slope,
    Add,
    Sub,
    Mul,
    Div,
    Pow,
    Max,
    Min,
    Greater,
    GreaterEqual,
    Less,
    LessEqual,
    Clip,
    Where
  };
  struct Step {
    Kind kind;
    /// Earlier steps.
    unsigned operands[3] = {0, 0, 0};
    double number = 0;
    /// In which the step is stored; null if that is no float.
    const FloatFormat *format = nullptr;
    Unary unary{UnaryFunction::Relu};
  };

  explicit Expression(mlir::Value variable) : its(variable) {}
  unsigned add(mlir::Value value);
  unsigned addNumber(double number);
  unsigned addFactor(const Factor &factor);
  static std::optional<Kind> kindOf(mlir::Operation *op);
  static bool isStep(mlir::Operation *op);
  static bool findVariable(mlir::Value value, const MaybeShape &shape,
                           unsigned depth, mlir::Value &variable);
  /// True if the value is an elementwise function of the variable, or a number.
  static bool dependsOnlyOn(mlir::Value variable, mlir::Value value,
                            const MaybeShape &shape);
  static mlir::Value findDominator(llvm::ArrayRef<mlir::Value> values,
                                   const MaybeShape &shape);
  /// The result of an op all of whose operands depend on the variable only.
  static Expression ofStep(mlir::Operation *op, mlir::Value variable);
  Step makeStep(mlir::Operation *op);
  static void combine(Kind kind, const double *lhs, const double *rhs,
                      double *out, size_t count);
  static FloatRange encloseStep(const Step &step,
                                llvm::ArrayRef<FloatRange> earlier,
                                const ComputeError &error);

  mlir::Value its;
  bool roundsToCodes = false;
  /// The last step is the result.
  llvm::SmallVector<Step, 8> steps;
  llvm::SmallDenseMap<mlir::Value, unsigned, 8> known;
};

/// The error of the least precise kernel among the steps.
ComputeError errorOfSteps(const Expression &expression, mlir::Value result,
                          TransferContext &ctx);

} // namespace mpopt

#endif // MPOPT_RANGES_VALUE_EXPRESSION_H
