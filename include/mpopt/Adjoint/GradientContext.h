//===- GradientContext.h - What a gradient is built with --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_ADJOINT_GRADIENTCONTEXT_H
#define MPOPT_ADJOINT_GRADIENTCONTEXT_H

#include "mpopt/Dialect/Interfaces/ShapeFacts.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mpopt {

class GradientContext;
class Reverse;

/// A value in a formula: `ctx.dy() * ctx.y()` makes an mp.mul. Numbers take the
/// dtype of the value that they meet.
class Term {
public:
  Term(GradientContext &ctx, mlir::Value value) : ctx(&ctx), its(value) {}
  operator mlir::Value() const { return its; }
  mlir::Value value() const { return its; }

  Term operator-() const;
  friend Term operator+(Term lhs, Term rhs);
  friend Term operator-(Term lhs, Term rhs);
  friend Term operator*(Term lhs, Term rhs);
  friend Term operator/(Term lhs, Term rhs);
  friend Term operator+(Term lhs, double rhs);
  friend Term operator-(double lhs, Term rhs);
  friend Term operator*(Term lhs, double rhs);
  friend Term operator/(Term lhs, double rhs);

  GradientContext &context() const { return *ctx; }

private:
  GradientContext *ctx;
  mlir::Value its;
};

/// Writes the gradient of one op: its operands and results, the gradients that
/// arrive at the results, and a builder whose ops get inferred types and the
/// op's location.
class GradientContext {
public:
  /// Where the gradients of values are added up.
  using Sink = llvm::function_ref<void(mlir::Value, mlir::Value)>;

  GradientContext(mlir::OpBuilder &builder, ShapeFacts &facts,
                  mlir::Operation *op, llvm::ArrayRef<mlir::Value> gradients,
                  llvm::function_ref<bool(mlir::Value)> active, Sink sink);

  mlir::Operation *op() const { return its; }
  mlir::OpBuilder &builder() { return opBuilder; }
  mlir::Location loc() const { return location; }
  const ShapeFacts &facts() const { return shapeFacts; }
  ShapeFacts &facts() { return shapeFacts; }

  /// Operands and results of the op.
  Term x(unsigned index = 0) { return {*this, its->getOperand(index)}; }
  Term y(unsigned index = 0) { return {*this, its->getResult(index)}; }

  /// The gradient of a result; null if none arrives there.
  mlir::Value gradient(unsigned index = 0) const { return gradients[index]; }
  /// The same, zeros if none arrives.
  Term dy(unsigned index = 0);

  /// True if somebody asks for the gradient of the operand, or of the value.
  bool wants(unsigned operand) const {
    return active(its->getOperand(operand));
  }
  bool wants(mlir::Value value) const { return value && active(value); }

  /// Adds `gradient` to that of an operand, or of a value that a body of the op
  /// reads. It is summed over dims along which the value was broadcast, and
  /// cast to the value's dtype. Ignored where nobody asks for it.
  void give(unsigned operand, mlir::Value gradient) {
    give(its->getOperand(operand), gradient);
  }
  void give(mlir::Value value, mlir::Value gradient);

  /// Says that there is a gradient, but no formula for this form of the op.
  void lack() { isLacking = true; }
  bool lacks() const { return isLacking; }
  /// The accumulation that the op is part of, for ops with bodies.
  Reverse *reverse = nullptr;

  /// True if the inference of an op failed, which it has reported.
  bool failed() const { return hasFailed; }
  void fail() { hasFailed = true; }

  //===--------------------------------------------------------------------===//
  // Ops
  //===--------------------------------------------------------------------===//

  /// An op with inferred result types; null operands are optional ones that are
  /// not there.
  template <typename OpTy>
  OpTy makeOp(llvm::ArrayRef<mlir::Value> operands,
              llvm::ArrayRef<mlir::NamedAttribute> attributes = {},
              unsigned results = 1, mlir::Type elementType = {}) {
    constexpr bool segmented =
        OpTy::template hasTrait<mlir::OpTrait::AttrSizedOperandSegments>();
    return llvm::cast<OpTy>(makeGeneric(OpTy::getOperationName(), operands,
                                        segmented, attributes, results,
                                        elementType));
  }
  /// The same with one result.
  template <typename OpTy>
  Term make(llvm::ArrayRef<mlir::Value> operands,
            llvm::ArrayRef<mlir::NamedAttribute> attributes = {},
            mlir::Type elementType = {}) {
    return {*this, makeOp<OpTy>(operands, attributes, 1, elementType)
                       .getOperation()
                       ->getResult(0)};
  }
  mlir::Operation *makeGeneric(llvm::StringRef name,
                               llvm::ArrayRef<mlir::Value> operands,
                               bool segmented,
                               llvm::ArrayRef<mlir::NamedAttribute> attributes,
                               unsigned results, mlir::Type elementType);

  // Attributes.
  mlir::NamedAttribute number(llvm::StringRef name, double value);
  mlir::NamedAttribute integer(llvm::StringRef name, int64_t value);
  mlir::NamedAttribute integers(llvm::StringRef name,
                                llvm::ArrayRef<int64_t> values);
  mlir::NamedAttribute flag(llvm::StringRef name, bool value = true);
  mlir::NamedAttribute unit(llvm::StringRef name);
  mlir::NamedAttribute word(llvm::StringRef name, llvm::StringRef value);

  // Constants: a scalar, one of i64, a list of i64, a tensor of one number.
  Term scalar(double value, mlir::Type elementType);
  Term index(int64_t value);
  Term indices(llvm::ArrayRef<int64_t> values);
  /// A tensor of the shape and dtype of `like`, or of a type whose dims are
  /// known.
  Term filled(double value, mlir::Value like);
  Term filled(double value, mlir::RankedTensorType type);
  Term zeros(mlir::Value like) { return filled(0, like); }
  Term ones(mlir::Value like) { return filled(1, like); }

  /// The dims of `value` as i64: a constant where they are known.
  Term shapeOf(mlir::Value value);
  /// The same of `value` as a list of its elements.
  Term flatShapeOf(mlir::Value value);
  /// `value` over or times a number that its dtype may not hold: the number
  /// stays wide, as a kernel's scalar does.
  Term scaled(mlir::Value value, double factor);

  /// `value` over the number of elements of `from` for each element of `to`.
  Term dividedByCount(mlir::Value value, mlir::Value from, mlir::Value to);

  Term cast(mlir::Value value, mlir::Type elementType);
  /// `value` where the condition holds, else 0.
  Term where(mlir::Value condition, mlir::Value value);
  Term where(mlir::Value condition, mlir::Value value, mlir::Value otherwise);
  Term reshaped(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  /// With the shape of `like`, of as many elements.
  Term reshapedLike(mlir::Value value, mlir::Value like);
  Term expandedLike(mlir::Value value, mlir::Value like);
  /// Sums along `axes`, without those dims unless `keepDims`.
  Term sum(mlir::Value value, llvm::ArrayRef<int64_t> axes, bool keepDims);
  Term mean(mlir::Value value, llvm::ArrayRef<int64_t> axes, bool keepDims);
  Term transposed(mlir::Value value, llvm::ArrayRef<int64_t> perm);
  /// Summed over the dims along which `like` was broadcast to `value`.
  Term unbroadcast(mlir::Value value, mlir::Value like);

private:
  mlir::OpBuilder &opBuilder;
  ShapeFacts &shapeFacts;
  mlir::Operation *its;
  mlir::Location location;
  llvm::SmallVector<mlir::Value> gradients;
  llvm::function_ref<bool(mlir::Value)> active;
  Sink sink;
  bool isLacking = false, hasFailed = false;
};

} // namespace mpopt

#endif // MPOPT_ADJOINT_GRADIENTCONTEXT_H
