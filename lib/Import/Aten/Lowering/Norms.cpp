//===- Norms.cpp - Norms of vectors and matrices, from aten ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Not covered: norms of matrices that need singular values (nuclear, 2, -2).
//
//===----------------------------------------------------------------------===//

#include "Norms.h"

#include "Operands.h"
#include "Subfamilies.h"

#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

/// Axes of an optional `int[] dim`; null for all.
static FailureOr<DenseI64ArrayAttr> readDims(NodeContext &context) {
  if (!context.has("dim"))
    return DenseI64ArrayAttr();
  auto dims = context.findInts("dim");
  if (!dims)
    return failure();
  return dims->empty() ? DenseI64ArrayAttr() : intsAttr(context, *dims);
}

Value aten::makeVectorNorm(NodeContext &context, Value input, double order,
                           DenseI64ArrayAttr axes, bool keep) {
  BoolAttr keepDims = context.builder().getBoolAttr(keep);
  if (order == 1)
    return context.make<mp::ReduceL1Op>(input, Value(), axes, keepDims);
  if (order == 2)
    return context.make<mp::ReduceL2Op>(input, Value(), axes, keepDims);
  return context.make<mp::NormOp>(input, Value(), axes, keepDims,
                                  context.builder().getF64FloatAttr(order));
}

/// The floats that a norm is taken of; null for complex numbers, whose norm is
/// real.
static Value readInput(NodeContext &context) {
  Value input = context.tensor("self");
  if (input)
    input = toDtype(context, input);
  if (!input || isa<ComplexType>(getElementType(input)) || isIntegral(input))
    return {};
  return input;
}

/// norm, linalg_vector_norm: the order is `p` or `ord`, 2 without one.
static LogicalResult lowerVectorNorm(NodeContext &context) {
  StringRef order = oneOf(context, "p", "ord");
  Value input = readInput(context);
  FailureOr<DenseI64ArrayAttr> axes = readDims(context);
  if (!input || failed(axes) || context.isDynamic(order))
    return context.unsupported();
  context.setOutput(0,
                    makeVectorNorm(context, input, context.getNumber(order, 2),
                                   *axes, context.getBool("keepdim")));
  return success();
}

/// The norm of the matrices in two dims: by rows (inf) or columns (1), or as of
/// a vector.
static Value makeMatrixNorm(NodeContext &context, Value input, double order,
                            ArrayRef<int64_t> dims) {
  bool keep = context.getBool("keepdim");
  Builder &builder = context.builder();
  bool byRows = std::isinf(order);
  if (!byRows && std::fabs(order) != 1)
    return {};
  // Sums of |x| over one dim, then the largest (the smallest) of them.
  std::optional<int64_t> summed =
                             NodeContext::axisOf(input, dims[byRows ? 1 : 0]),
                         left =
                             NodeContext::axisOf(input, dims[byRows ? 0 : 1]);
  if (!summed || !left)
    return {};
  Value sums = context.make<mp::ReduceL1Op>(
      input, Value(), intsAttr(context, {*summed}), builder.getBoolAttr(true));
  DenseI64ArrayAttr both = intsAttr(context, {*summed, *left});
  return order > 0 ? context.make<mp::ReduceMaxOp>(sums, Value(), both,
                                                   builder.getBoolAttr(keep))
                   : context.make<mp::ReduceMinOp>(sums, Value(), both,
                                                   builder.getBoolAttr(keep));
}

/// linalg_norm, linalg_matrix_norm: of a matrix if two dims (or a tensor of
/// rank 2) are given together with an order.
static LogicalResult lowerMatrixNorm(NodeContext &context) {
  Value input = readInput(context);
  FailureOr<DenseI64ArrayAttr> axes = readDims(context);
  if (!input || failed(axes))
    return context.unsupported();
  bool keep = context.getBool("keepdim");
  std::optional<StringRef> name = context.findString("ord");
  std::optional<double> order = context.findNumber("ord");
  if (!context.has("ord") || name == "fro") {
    context.setOutput(0, makeVectorNorm(context, input, 2, *axes, keep));
    return success();
  }
  if (!order)
    return context.unsupported();
  SmallVector<int64_t> dims;
  if (*axes)
    dims.assign((*axes).asArrayRef().begin(), (*axes).asArrayRef().end());
  else if (std::optional<int64_t> rank = NodeContext::rankOf(input))
    for (int64_t dim = 0; dim < *rank; ++dim)
      dims.push_back(dim);
  Value result;
  if (dims.size() == 1)
    result = makeVectorNorm(context, input, *order, *axes, keep);
  else if (dims.size() == 2)
    result = makeMatrixNorm(context, input, *order, dims);
  if (!result)
    return context.unsupported();
  context.setOutput(0, result);
  return success();
}

//===----------------------------------------------------------------------===//
// Weight normalisation
//===----------------------------------------------------------------------===//

/// The norms of what is left when `dim` is taken out, with all dims kept.
static Value makeNormExcept(NodeContext &context, Value input, double order) {
  std::optional<int64_t> rank = NodeContext::rankOf(input),
                         dim = context.findInt("dim");
  if (!dim || (!rank && *dim != -1))
    return {};
  DenseI64ArrayAttr axes;
  if (*dim != -1) {
    std::optional<int64_t> kept = NodeContext::axisOf(input, *dim);
    SmallVector<int64_t> others;
    for (int64_t axis = 0; axis < *rank; ++axis)
      if (axis != kept)
        others.push_back(axis);
    if (others.empty())
      return {};
    axes = intsAttr(context, others);
  }
  return makeVectorNorm(context, input, order, axes, *dim != -1);
}

static LogicalResult lowerNormExcept(NodeContext &context) {
  Value input = context.tensor("v");
  Value norm = input && !context.isDynamic("pow")
                   ? makeNormExcept(context, input, context.getNumber("pow", 2))
                   : Value();
  if (!norm)
    return context.unsupported();
  context.setOutput(0, norm);
  return success();
}

/// v * (g / |v|); the interface gives the norms, too.
static LogicalResult lowerWeightNorm(NodeContext &context) {
  Value direction = context.tensor("v"), length = context.tensor("g");
  if (!direction || !length)
    return context.unsupported();
  Value norm = makeNormExcept(context, direction, 2);
  if (!norm)
    return context.unsupported();
  context.setOutput(0, context.make<mp::MulOp>(
                           direction, context.make<mp::DivOp>(length, norm)));
  if (context.numOutputs() > 1)
    context.setOutput(1, norm);
  return success();
}

void mpopt::aten::registerNorms(LoweringRegistry &registry) {
  registry.add({"norm", "linalg_vector_norm", "frobenius_norm"},
               lowerVectorNorm);
  registry.add({"linalg_norm", "linalg_matrix_norm"}, lowerMatrixNorm);
  registry.add("norm_except_dim", lowerNormExcept);
  registry.add({"_weight_norm", "_weight_norm_interface"}, lowerWeightNorm);
}
