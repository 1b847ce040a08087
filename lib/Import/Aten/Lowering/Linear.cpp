//===- Linear.cpp - Matrix products, from aten ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions are in Convolution.cpp. Not covered: decompositions and solvers,
// kron, conv_tbc.
//
//===----------------------------------------------------------------------===//

#include "Operands.h"
#include "ShapeValues.h"
#include "Subfamilies.h"

#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

static LogicalResult lowerLinear(NodeContext &context) {
  Value input = context.tensor("input"), weight = context.tensor("weight");
  if (!input || !weight)
    return context.unsupported();
  context.setOutput(
      0, context.make<mp::LinearOp>(input, weight, context.tensor("bias")));
  return success();
}

static LogicalResult lowerBilinear(NodeContext &context) {
  Value lhs = context.tensor("input1"), rhs = context.tensor("input2"),
        weight = context.tensor("weight");
  if (!lhs || !rhs || !weight)
    return context.unsupported();
  context.setOutput(0, context.make<mp::BilinearOp>(lhs, rhs, weight,
                                                    context.tensor("bias")));
  return success();
}

//===----------------------------------------------------------------------===//
// Plain products
//===----------------------------------------------------------------------===//

static Value makeProduct(NodeContext &context, Value lhs, Value rhs,
                         double alpha = 1) {
  return context.make<mp::MatMulOp>(lhs, rhs, /*trans_a=*/false,
                                    /*trans_b=*/false, APFloat(alpha));
}

/// matmul, mm, bmm, mv, dot: the second operand has a name of its own in each.
static LogicalResult lowerProduct(NodeContext &context) {
  Value lhs = context.tensor("self"), rhs;
  for (StringRef name : {"other", "mat2", "vec", "tensor"})
    if (!rhs)
      rhs = context.tensor(name);
  if (!lhs || !rhs || isa<ComplexType>(getElementType(lhs)))
    return context.unsupported();
  // Only products of whole tensors with `out_dtype` compute in another dtype.
  if (context.has("out_dtype"))
    return context.unsupported();
  context.setOutput(0, makeProduct(context, lhs, rhs));
  return success();
}

static LogicalResult lowerChain(NodeContext &context) {
  auto factors = context.tensors(oneOf(context, "matrices", "tensors"));
  if (!factors || factors->empty() || llvm::is_contained(*factors, Value()))
    return context.unsupported();
  Value result = factors->front();
  for (Value factor : ArrayRef(*factors).drop_front())
    result = makeProduct(context, result, factor);
  context.setOutput(0, result);
  return success();
}

/// a[i] b[j]
static LogicalResult lowerOuter(NodeContext &context) {
  auto operands = promoteAll(context, {"self", "vec2"});
  if (!operands)
    return context.unsupported();
  context.setOutput(
      0, context.make<mp::MulOp>(unsqueeze(context, (*operands)[0], 1),
                                 (*operands)[1]));
  return success();
}

static LogicalResult lowerVecdot(NodeContext &context) {
  auto operands = promoteAll(context, {"x", "y"});
  std::optional<int64_t> dim = context.findInt("dim");
  if (!operands || !dim || isa<ComplexType>(getElementType((*operands)[0])))
    return context.unsupported();
  Value product = context.make<mp::MulOp>((*operands)[0], (*operands)[1]);
  context.setOutput(0, context.make<mp::ReduceSumOp>(
                           product, Value(), intsAttr(context, {*dim}),
                           context.builder().getBoolAttr(false)));
  return success();
}

/// Rows that are sorted by expert: those before the first of `offs` meet the
/// first matrix, those up to the second the next. Here each meets all matrices,
/// whose weights are known, and keeps one product. Not covered: rows behind the
/// last of `offs`, which are not defined, and sums that are parted (two
/// operands of rank 2).
static LogicalResult lowerGroupedProduct(NodeContext &context) {
  Value rows = context.tensor(oneOf(context, "self", "input"));
  Value matrices = context.tensor(oneOf(context, "mat2", "weight"));
  Value ends = context.tensor("offs");
  if (NodeContext::rankOf(matrices) != 3 || context.has("bias") ||
      context.has("out_dtype"))
    return context.unsupported();
  if (NodeContext::rankOf(rows) == 3 && !ends) {
    context.setOutput(0, makeProduct(context, rows, matrices));
    return success();
  }
  std::optional<int64_t> experts = staticDim(matrices, 0);
  if (NodeContext::rankOf(rows) != 2 || !ends || !experts)
    return context.unsupported();
  // [rows, experts, columns]
  Value products = transpose(
      context, makeProduct(context, unsqueeze(context, rows, 0), matrices),
      {1, 0, 2});
  Value numbers = iota(context, dimValue(context, rows, 0));
  Value isBehind =
      context.make<mp::LessEqualOp>(context.cast(ends, getElementType(numbers)),
                                    unsqueeze(context, numbers, 1));
  Builder &builder = context.builder();
  Value chosen = context.make<mp::ReduceSumOp>(
      context.cast(isBehind, builder.getI64Type()), Value(),
      intsAttr(context, {1}), builder.getBoolAttr(true));
  chosen = context.make<mp::MinOp>(
      ValueRange{chosen, makeInt(context, *experts - 1)});
  Value shape = concat(context,
                       {unsqueeze(context, dimValue(context, rows, 0), 0),
                        context.makeInts({1}),
                        unsqueeze(context, dimValue(context, matrices, 2), 0)},
                       0);
  chosen = expand(context, unsqueeze(context, chosen, 2), shape);
  context.setOutput(
      0, squeeze(context,
                 context.make<mp::GatherElementsOp>(products, chosen, 1), 1));
  return success();
}

//===----------------------------------------------------------------------===//
// Products with an addend: beta * self + alpha * product
//===----------------------------------------------------------------------===//

namespace {
struct Factors {
  double alpha, beta;
};
} // namespace

static std::optional<Factors> readFactors(const NodeContext &context) {
  if (context.isDynamic("alpha") || context.isDynamic("beta"))
    return std::nullopt;
  return Factors{context.getNumber("alpha", 1), context.getNumber("beta", 1)};
}

/// With beta 0 the addend is not read: its NaN does not get through.
static Value addScaled(NodeContext &context, Value product, Value addend,
                       double beta) {
  if (beta == 0)
    return product;
  if (beta != 1) {
    Value factor = constantLike(context, beta, addend);
    if (!factor)
      return {};
    addend = context.make<mp::MulOp>(addend, factor);
  }
  return context.make<mp::AddOp>(addend, product);
}

static LogicalResult lowerAddmm(NodeContext &context) {
  Value addend = context.tensor("self"), lhs = context.tensor("mat1"),
        rhs = context.tensor("mat2");
  std::optional<Factors> factors = readFactors(context);
  if (!addend || !lhs || !rhs || !factors || context.has("out_dtype"))
    return context.unsupported();
  Value result = context.make<mp::GemmOp>(
      lhs, rhs, factors->beta == 0 ? Value() : addend, false, false,
      APFloat(factors->alpha), APFloat(factors->beta));
  if (context.name() == "_addmm_activation")
    result = context.getBool("use_gelu")
                 ? context.make<mp::GeluOp>(result, "tanh")
                 : context.make<mp::ReluOp>(result);
  context.setOutput(0, result);
  return success();
}

/// addmv, baddbmm; addbmm sums over the batch.
static LogicalResult lowerAddProduct(NodeContext &context) {
  bool isVector = context.name() == "addmv";
  Value addend = context.tensor("self"),
        lhs = context.tensor(isVector ? "mat" : "batch1"),
        rhs = context.tensor(isVector ? "vec" : "batch2");
  std::optional<Factors> factors = readFactors(context);
  if (!addend || !lhs || !rhs || !factors || context.has("out_dtype"))
    return context.unsupported();
  Value product = makeProduct(context, lhs, rhs, factors->alpha);
  if (context.name() == "addbmm")
    product =
        context.make<mp::ReduceSumOp>(product, Value(), intsAttr(context, {0}),
                                      context.builder().getBoolAttr(false));
  Value result = addScaled(context, product, addend, factors->beta);
  if (!result)
    return context.unsupported();
  context.setOutput(0, result);
  return success();
}

static LogicalResult lowerAddr(NodeContext &context) {
  auto operands = promoteAll(context, {"self", "vec1", "vec2"});
  std::optional<Factors> factors = readFactors(context);
  if (!operands || !factors)
    return context.unsupported();
  Value product = context.make<mp::MulOp>(unsqueeze(context, (*operands)[1], 1),
                                          (*operands)[2]);
  if (factors->alpha != 1) {
    Value alpha = constantLike(context, factors->alpha, product);
    if (!alpha)
      return context.unsupported();
    product = context.make<mp::MulOp>(product, alpha);
  }
  Value result = addScaled(context, product, (*operands)[0], factors->beta);
  if (!result)
    return context.unsupported();
  context.setOutput(0, result);
  return success();
}

//===----------------------------------------------------------------------===//
// By index labels
//===----------------------------------------------------------------------===//

static LogicalResult lowerEinsum(NodeContext &context) {
  std::optional<StringRef> equation = context.findString("equation");
  auto inputs = context.tensors("tensors");
  if (!equation || !inputs || llvm::is_contained(*inputs, Value()))
    return context.unsupported();
  context.setOutput(0, context.make<mp::EinsumOp>(*inputs, *equation));
  return success();
}

/// Sums over pairs of dims; null if a rank is not known.
static Value makeContraction(NodeContext &context, Value lhs, Value rhs,
                             ArrayRef<int64_t> leftDims,
                             ArrayRef<int64_t> rightDims) {
  std::optional<int64_t> leftRank = NodeContext::rankOf(lhs),
                         rightRank = NodeContext::rankOf(rhs);
  if (!leftRank || !rightRank || *leftRank + *rightRank > 26 ||
      leftDims.size() != rightDims.size())
    return {};
  std::string left, right, result;
  for (int64_t dim = 0; dim < *leftRank; ++dim)
    left += char('a' + dim);
  for (int64_t dim = 0; dim < *rightRank; ++dim)
    right += char('a' + *leftRank + dim);
  for (auto [first, second] : llvm::zip(leftDims, rightDims)) {
    std::optional<int64_t> one = normalizeAxis(first, *leftRank),
                           other = normalizeAxis(second, *rightRank);
    if (!one || !other)
      return {};
    right[*other] = left[*one];
  }
  for (char label : left)
    if (right.find(label) == std::string::npos)
      result += label;
  for (char label : right)
    if (left.find(label) == std::string::npos)
      result += label;
  SmallVector<Value> inputs = {lhs, rhs};
  return context.make<mp::EinsumOp>(inputs, left + "," + right + "->" + result);
}

static LogicalResult lowerTensordot(NodeContext &context) {
  Value lhs = context.tensor("self"), rhs = context.tensor("other");
  auto leftDims = context.findInts("dims_self"),
       rightDims = context.findInts("dims_other");
  Value result = lhs && rhs && leftDims && rightDims
                     ? makeContraction(context, lhs, rhs, *leftDims, *rightDims)
                     : Value();
  if (!result)
    return context.unsupported();
  context.setOutput(0, result);
  return success();
}

/// Over the last dim of both; a product if one has no dims.
static LogicalResult lowerInner(NodeContext &context) {
  Value lhs = context.tensor("self"), rhs = context.tensor("other");
  if (!lhs || !rhs)
    return context.unsupported();
  Value result;
  if (NodeContext::rankOf(lhs) == 0 || NodeContext::rankOf(rhs) == 0)
    result = context.make<mp::MulOp>(lhs, rhs);
  else
    result = makeContraction(context, lhs, rhs, {-1}, {-1});
  if (!result)
    return context.unsupported();
  context.setOutput(0, result);
  return success();
}

//===----------------------------------------------------------------------===//
// Ops on square matrices and on vectors of three
//===----------------------------------------------------------------------===//

static LogicalResult lowerDet(NodeContext &context) {
  Value input = context.tensor(oneOf(context, "self", "A"));
  if (!input)
    return context.unsupported();
  context.setOutput(0, context.make<mp::DetOp>(input));
  return success();
}

/// The sum of the diagonal, of integers in i64.
static LogicalResult lowerTrace(NodeContext &context) {
  Value input = context.tensor("self");
  if (!input)
    return context.unsupported();
  if (isIntegral(input))
    input = context.cast(input, context.builder().getI64Type());
  MaybeShape shape = getShape(input);
  if (shape && shape->size() == 2 && (*shape)[0] != (*shape)[1]) {
    if (llvm::is_contained(*shape, kDynamic))
      return context.unsupported();
    int64_t axis = (*shape)[0] < (*shape)[1];
    input = slice(context, input, axis, 0, (*shape)[1 - axis]);
  }
  context.setOutput(
      0, context.make<mp::EinsumOp>(SmallVector<Value>{input}, "ii->"));
  return success();
}

/// a[i+1] b[i+2] - a[i+2] b[i+1]; without a dim the first one of size 3.
static LogicalResult lowerCross(NodeContext &context) {
  auto operands = promoteAll(context, {"self", "other"});
  if (!operands || context.isDynamic("dim"))
    return context.unsupported();
  Value lhs = (*operands)[0], rhs = (*operands)[1];
  std::optional<int64_t> dim = context.findInt("dim");
  MaybeShape shape = getShape(lhs);
  if (!shape || getShape(rhs) != shape)
    return context.unsupported();
  if (!dim) {
    auto *found = llvm::find(*shape, 3);
    if (found == shape->end() ||
        llvm::is_contained(ArrayRef<int64_t>(shape->begin(), found), kDynamic))
      return context.unsupported();
    dim = found - shape->begin();
  }
  auto roll = [&](Value value, int64_t places) {
    return context.make<mp::RollOp>(value, intsAttr(context, {-places}),
                                    intsAttr(context, {*dim}));
  };
  Value left = context.make<mp::MulOp>(roll(lhs, 1), roll(rhs, 2));
  Value right = context.make<mp::MulOp>(roll(lhs, 2), roll(rhs, 1));
  context.setOutput(0, context.make<mp::SubOp>(left, right));
  return success();
}

void mpopt::aten::registerLinear(LoweringRegistry &registry) {
  registry.add("linear", lowerLinear);
  registry.add("bilinear", lowerBilinear);
  registry.add({"matmul", "mm", "bmm", "mv", "dot", "vdot", "linalg_matmul"},
               lowerProduct);
  registry.add({"_grouped_mm", "transformers::grouped_mm_fallback"},
               lowerGroupedProduct);
  registry.add({"chain_matmul", "linalg_multi_dot"}, lowerChain);
  registry.add({"outer", "ger"}, lowerOuter);
  registry.add("linalg_vecdot", lowerVecdot);
  registry.add({"addmm", "_addmm_activation"}, lowerAddmm);
  registry.add({"addmv", "baddbmm", "addbmm"}, lowerAddProduct);
  registry.add("addr", lowerAddr);
  registry.add("einsum", lowerEinsum);
  registry.add("tensordot", lowerTensordot);
  registry.add("inner", lowerInner);
  registry.add({"det", "linalg_det"}, lowerDet);
  registry.add("trace", lowerTrace);
  registry.add({"cross", "linalg_cross"}, lowerCross);
  registerConvolution(registry);
}
