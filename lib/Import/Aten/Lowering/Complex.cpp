//===- Complex.cpp - Complex numbers, from aten ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that make complex tensors of real ones, or real ones of them, and
// products. Functions of complex numbers (exp, sqrt) have no lowering.
//
//===----------------------------------------------------------------------===//

#include "Complex.h"

#include "Operands.h"
#include "ShapeValues.h"
#include "Subfamilies.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

bool aten::isComplex(Value value) {
  return isa<ComplexType>(getElementType(value));
}

std::optional<ComplexParts> aten::findParts(Value value) {
  auto op = value ? value.getDefiningOp<mp::OpaqueOp>() : nullptr;
  if (!op || op.getName() != kComplexName || op.getInputs().size() != 2)
    return std::nullopt;
  return ComplexParts{op.getInputs()[0], op.getInputs()[1]};
}

static Value makeComplex(OpBuilder &builder, Location location,
                         ComplexParts parts) {
  Type type = getTensorType(getShape(parts.real),
                            ComplexType::get(getElementType(parts.real)));
  return mp::OpaqueOp::create(builder, location, TypeRange(type), kComplexName,
                              ValueRange{parts.real, parts.imaginary}, 0)
      ->getResult(0);
}

Value aten::makeComplex(NodeContext &context, ComplexParts parts) {
  return ::makeComplex(context.builder(), context.loc(), parts);
}

Value aten::makeComplexOfPairs(OpBuilder &builder, Location location,
                               Value pairs,
                               llvm::function_ref<void(Operation *)> finish) {
  Type unknown = getUnknownTensor(builder.getContext());
  auto part = [&](int64_t index) -> Value {
    auto list = [&](int64_t number) {
      return builder.getDenseI64ArrayAttr({number});
    };
    auto cut = mp::SliceOp::create(
        builder, location, unknown, pairs, Value(), Value(), Value(), Value(),
        list(index), list(index + 1), list(-1), DenseI64ArrayAttr());
    finish(cut);
    auto flat = mp::SqueezeOp::create(builder, location, unknown,
                                      cut.getResult(), Value(), list(-1));
    finish(flat);
    return flat.getResult();
  };
  return ::makeComplex(builder, location, {part(0), part(1)});
}

/// The pairs that the part was cut from.
static Value pairsOf(Value part, int64_t index) {
  auto squeeze = part.getDefiningOp<mp::SqueezeOp>();
  auto cut =
      squeeze ? squeeze.getInput().getDefiningOp<mp::SliceOp>() : nullptr;
  if (!cut || !cut.getStarts() || !cut.getEnds() || !cut.getAxes() ||
      *cut.getStarts() != ArrayRef<int64_t>{index} ||
      *cut.getEnds() != ArrayRef<int64_t>{index + 1} ||
      *cut.getAxes() != ArrayRef<int64_t>{-1})
    return {};
  return cut.getInput();
}

Value aten::joinParts(NodeContext &context, ComplexParts parts) {
  Value pairs = pairsOf(parts.real, 0);
  if (pairs && pairs == pairsOf(parts.imaginary, 1))
    return pairs;
  std::optional<int64_t> rank = NodeContext::rankOf(parts.real);
  if (!rank)
    return {};
  return concat(context,
                {unsqueeze(context, parts.real, *rank),
                 unsqueeze(context, parts.imaginary, *rank)},
                *rank);
}

//===----------------------------------------------------------------------===//
// From real tensors and back
//===----------------------------------------------------------------------===//

static LogicalResult lowerViewAsComplex(NodeContext &context) {
  Value self = context.tensor("self");
  if (!self || !isa<FloatType>(getElementType(self)))
    return context.unsupported();
  Value result = makeComplexOfPairs(context.builder(), context.loc(), self,
                                    [&](Operation *op) { context.finish(op); });
  context.setOutputSharing(0, result, "self");
  return success();
}

static LogicalResult lowerViewAsReal(NodeContext &context) {
  std::optional<ComplexParts> parts = findParts(context.tensor("self"));
  Value pairs = parts ? joinParts(context, *parts) : Value();
  if (!pairs)
    return context.unsupported();
  context.setOutputSharing(0, pairs, "self");
  return success();
}

static LogicalResult lowerComplex(NodeContext &context) {
  Value real = context.tensor("real"), imaginary = context.tensor("imag");
  if (!real || !imaginary || !isa<FloatType>(getElementType(real)) ||
      getElementType(real) != getElementType(imaginary))
    return context.unsupported();
  context.setOutput(
      0, makeComplex(context, {expandLike(context, real, imaginary),
                               expandLike(context, imaginary, real)}));
  return success();
}

/// abs (cos(angle) + i sin(angle)).
static LogicalResult lowerPolar(NodeContext &context) {
  Value abs = context.tensor("abs"), angle = context.tensor("angle");
  if (!abs || !angle || !isa<FloatType>(getElementType(abs)) ||
      getElementType(abs) != getElementType(angle))
    return context.unsupported();
  Value real = context.make<mp::MulOp>(abs, context.make<mp::CosOp>(angle)),
        imaginary =
            context.make<mp::MulOp>(abs, context.make<mp::SinOp>(angle));
  context.setOutput(0, makeComplex(context, {real, imaginary}));
  return success();
}

/// Gives real numbers as they are; false for complex ones.
static bool aliasReal(NodeContext &context) {
  Value self = context.tensor("self");
  if (!self || !isa<FloatType, IntegerType>(getElementType(self)))
    return false;
  context.setAlias(0, "self");
  return true;
}

/// A part, or its negation; of real numbers the numbers themselves.
static LogicalResult lowerReal(NodeContext &context) {
  if (aliasReal(context))
    return success();
  std::optional<ComplexParts> parts = findParts(context.tensor("self"));
  if (!parts)
    return context.unsupported();
  context.setOutputSharing(0, parts->real, "self");
  return success();
}

static LogicalResult lowerImaginary(NodeContext &context) {
  std::optional<ComplexParts> parts = findParts(context.tensor("self"));
  if (!parts)
    return context.unsupported();
  context.setOutputSharing(0, parts->imaginary, "self");
  return success();
}

static LogicalResult lowerConjugate(NodeContext &context) {
  if (aliasReal(context))
    return success();
  std::optional<ComplexParts> parts = findParts(context.tensor("self"));
  if (!parts)
    return context.unsupported();
  parts->imaginary = context.make<mp::NegOp>(parts->imaginary);
  context.setOutputSharing(0, makeComplex(context, *parts), "self");
  return success();
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// sqrt(a^2 + b^2), without the overflow that squares may have in between.
LogicalResult aten::lowerComplexAbs(NodeContext &context) {
  std::optional<ComplexParts> parts = findParts(context.tensor("self"));
  if (!parts)
    return context.unsupported();
  Value pairs = joinParts(context, *parts);
  if (!pairs)
    return context.unsupported();
  context.setOutput(0, context.make<mp::ReduceL2Op>(
                           pairs, Value(), intsAttr(context, {-1}), false));
  return success();
}

static LogicalResult lowerAngle(NodeContext &context) {
  std::optional<ComplexParts> parts = findParts(context.tensor("self"));
  if (!parts)
    return context.unsupported();
  context.setOutput(0,
                    context.make<mp::Atan2Op>(parts->imaginary, parts->real));
  return success();
}

LogicalResult aten::lowerComplexMul(NodeContext &context) {
  std::optional<ComplexParts> a = findParts(context.tensor("self")),
                              b = findParts(context.tensor("other"));
  if (!a || !b)
    return context.unsupported();
  auto mul = [&](Value lhs, Value rhs) {
    return context.make<mp::MulOp>(lhs, rhs);
  };
  Value real = context.make<mp::SubOp>(mul(a->real, b->real),
                                       mul(a->imaginary, b->imaginary));
  Value imaginary = context.make<mp::AddOp>(mul(a->real, b->imaginary),
                                            mul(a->imaginary, b->real));
  context.setOutput(0, makeComplex(context, {real, imaginary}));
  return success();
}

void aten::registerComplex(LoweringRegistry &registry) {
  registry.add("view_as_complex", lowerViewAsComplex);
  registry.add({"view_as_real", "_view_as_real"}, lowerViewAsReal);
  registry.add("complex", lowerComplex);
  registry.add("polar", lowerPolar);
  registry.add("real", lowerReal);
  registry.add("imag", lowerImaginary);
  registry.add({"conj", "_conj", "conj_physical", "resolve_conj"},
               lowerConjugate);
  registry.add("angle", lowerAngle);
}
