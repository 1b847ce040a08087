//===- Linear.cpp - Gradients of matrix products and convolutions
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Adjoint/Ops/Families.h"

#include "lib/Adjoint/Ops/GradientOp.h"
#include "mpopt/Dialect/EinsumSupport.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"

using namespace mlir;
using namespace mpopt;

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

static Term product(GradientContext &ctx, Value lhs, Value rhs, bool transA,
                    bool transB, double alpha = 1) {
  return ctx.make<mp::MatMulOp>({lhs, rhs}, {ctx.flag("trans_a", transA),
                                             ctx.flag("trans_b", transB),
                                             ctx.number("alpha", alpha)});
}

/// dY b^T and, unless `leftOnly`, a^T dY, in the layout in which a and b are
/// stored.
static void giveFactors(GradientContext &ctx, Value grad, Value a, Value b,
                        bool transA, bool transB, double alpha, bool leftOnly,
                        llvm::function_ref<void(unsigned, Term)> give) {
  if (ctx.wants(0u))
    give(0, transA ? product(ctx, b, grad, transB, true, alpha)
                   : product(ctx, grad, b, false, !transB, alpha));
  if (ctx.wants(1) && !leftOnly)
    give(1, transB ? product(ctx, grad, a, true, transA, alpha)
                   : product(ctx, a, grad, !transA, false, alpha));
}

static Term withAxis(GradientContext &ctx, Value value, int64_t axis) {
  return ctx.make<mp::UnsqueezeOp>({value, Value()},
                                   {ctx.integers("axes", {axis})});
}
static Term withoutAxis(GradientContext &ctx, Value value, int64_t axis) {
  return ctx.make<mp::SqueezeOp>({value, Value()},
                                 {ctx.integers("axes", {axis})});
}

/// The rows of all leading dims as one matrix.
static Term asRows(GradientContext &ctx, Value value, int64_t columns) {
  return ctx.reshaped(value, {-1, columns});
}

/// A product of many rows with one matrix is one of two matrices, whose
/// gradient sums over all rows at once: as frameworks fold it, no product of a
/// batch of matrices that are added up afterwards. False if it is another
/// product.
static bool giveFoldedFactor(mp::MatMulOp op, GradientContext &ctx) {
  MaybeShape left = getShape(op.getLhs()), right = getShape(op.getRhs());
  if (left->size() < 3 || right->size() != 2 || op.getTransA() ||
      llvm::is_contained(*right, kDynamic))
    return false;
  int64_t inner = (*right)[op.getTransB()], columns = (*right)[!op.getTransB()];
  Value x = asRows(ctx, op.getLhs(), inner);
  Value grad = asRows(ctx, ctx.dy(), columns);
  if (op.getTransB())
    std::swap(x, grad);
  ctx.give(1, ctx.make<mp::GemmOp>(
                  {x, grad, Value()},
                  {ctx.flag("trans_a"),
                   ctx.number("alpha", op.getAlpha().convertToDouble())}));
  return true;
}

static void buildMatMul(mp::MatMulOp op, GradientContext &ctx) {
  MaybeShape left = getShape(op.getLhs()), right = getShape(op.getRhs());
  if (!left || !right)
    return ctx.lack();
  // A vector is a row on the left, a column on the right.
  Value a = op.getLhs(), b = op.getRhs(), grad = ctx.dy();
  bool row = left->size() == 1, column = right->size() == 1;
  if (row)
    a = withAxis(ctx, a, 0);
  if (column)
    b = withAxis(ctx, b, 1);
  if (column)
    grad = withAxis(ctx, grad, -1);
  if (row)
    grad = withAxis(ctx, grad, -2);
  bool folded = ctx.wants(1) && giveFoldedFactor(op, ctx);
  giveFactors(ctx, grad, a, b, op.getTransA(), op.getTransB(),
              op.getAlpha().convertToDouble(), folded,
              [&](unsigned index, Term value) {
                if (index == 0 && row)
                  value = withoutAxis(ctx, value, -2);
                if (index == 1 && column)
                  value = withoutAxis(ctx, value, -1);
                ctx.give(index, value);
              });
}

static void buildGemm(mp::GemmOp op, GradientContext &ctx) {
  giveFactors(ctx, ctx.dy(), op.getLhs(), op.getRhs(), op.getTransA(),
              op.getTransB(), op.getAlpha().convertToDouble(),
              /*leftOnly=*/false,
              [&](unsigned index, Term value) { ctx.give(index, value); });
  if (ctx.wants(op.getBias()))
    ctx.give(op.getBias(), ctx.dy() * op.getBeta().convertToDouble());
}

static void buildLinear(mp::LinearOp op, GradientContext &ctx) {
  MaybeShape weight = getShape(op.getWeight());
  if (!weight || llvm::is_contained(*weight, kDynamic))
    return ctx.lack();
  Term grad = ctx.dy();
  if (weight->size() == 1) {
    Term column = withAxis(ctx, grad, -1);
    if (ctx.wants(0u))
      ctx.give(0, column * ctx.x(1));
    if (ctx.wants(1))
      ctx.give(1, column * ctx.x(0));
  } else {
    if (ctx.wants(0u))
      ctx.give(0, product(ctx, grad, op.getWeight(), false, false));
    if (ctx.wants(1))
      ctx.give(1, ctx.make<mp::GemmOp>(
                      {asRows(ctx, grad, weight->front()),
                       asRows(ctx, op.getInput(), weight->back()), Value()},
                      {ctx.flag("trans_a")}));
  }
  if (ctx.wants(op.getBias()))
    ctx.give(op.getBias(), grad);
}

static Term einsum(GradientContext &ctx, ArrayRef<Value> operands,
                   StringRef equation) {
  return ctx.make<mp::EinsumOp>(operands, {ctx.word("equation", equation)});
}

static void buildBilinear(mp::BilinearOp op, GradientContext &ctx) {
  MaybeShape weight = getShape(op.getWeight());
  if (!weight || llvm::is_contained(*weight, kDynamic))
    return ctx.lack();
  Value grad = asRows(ctx, ctx.dy(), (*weight)[0]);
  Value lhs = asRows(ctx, op.getLhs(), (*weight)[1]);
  Value rhs = asRows(ctx, op.getRhs(), (*weight)[2]);
  auto give = [&](unsigned index, ArrayRef<Value> operands,
                  StringRef equation) {
    if (ctx.wants(index))
      ctx.give(index,
               ctx.reshapedLike(einsum(ctx, operands, equation), ctx.x(index)));
  };
  give(0, {grad, op.getWeight(), rhs}, "no,oij,nj->ni");
  give(1, {grad, op.getWeight(), lhs}, "no,oij,ni->nj");
  give(2, {grad, lhs, rhs}, "no,ni,nj->oij");
  if (ctx.wants(op.getBias()))
    ctx.give(op.getBias(), ctx.dy());
}

//===----------------------------------------------------------------------===//
// Einsum
//===----------------------------------------------------------------------===//

/// The equation of one operand's gradient: dY and the other operands to its
/// labels. A label that only the operand has stands for a sum: it meets ones. A
/// label that it has twice stands for a diagonal: it meets an identity matrix.
namespace {
struct EinsumGradient {
  SmallVector<Value> operands;
  SmallVector<std::string> labels;
  std::string result;
};
} // namespace

static char unusedLabel(StringRef used) {
  for (char label = 'A'; label <= 'z'; ++label)
    if (isalpha(label) && !used.contains(label))
      return label;
  return 0;
}

static std::optional<EinsumGradient> invert(const EinsumEquation &equation,
                                            unsigned index, mp::EinsumOp op,
                                            GradientContext &ctx) {
  EinsumGradient gradient;
  // A scalar has no labels: it is multiplied behind.
  if (!equation.result.empty()) {
    gradient.operands.push_back(ctx.dy());
    gradient.labels.push_back(equation.result);
  }
  std::string used = equation.result;
  for (auto [i, labels] : llvm::enumerate(equation.operands)) {
    if (i != index) {
      gradient.operands.push_back(op.getInputs()[i]);
      gradient.labels.push_back(labels);
      used += labels;
    }
  }
  std::string all = used + equation.operands[index];
  Value input = op.getInputs()[index];
  MaybeShape shape = getShape(input);
  StringRef mine = equation.operands[index];
  size_t ellipsis = mine.find('.');
  if (!shape || (ellipsis != StringRef::npos &&
                 !StringRef(equation.result).contains('.')))
    return std::nullopt;
  Type element = getElementType(input);
  for (auto [position, label] : llvm::enumerate(mine)) {
    if (label == '.') {
      gradient.result += label;
      continue;
    }
    bool behind = ellipsis != StringRef::npos && position > ellipsis;
    int64_t dim = behind ? (*shape)[shape->size() - (mine.size() - position)]
                         : (*shape)[position];
    bool repeated = StringRef(gradient.result).contains(label);
    if ((repeated || !StringRef(used).contains(label)) &&
        (dim < 0 || !isa<FloatType>(element)))
      return std::nullopt;
    if (repeated) {
      char other = unusedLabel(all);
      if (!other)
        return std::nullopt;
      Value like = ctx.filled(0, RankedTensorType::get({dim, dim}, element));
      gradient.operands.push_back(ctx.make<mp::EyeLikeOp>({like}));
      gradient.labels.push_back({label, other});
      all += other;
      gradient.result += other;
      continue;
    }
    if (!StringRef(used).contains(label)) {
      gradient.operands.push_back(
          ctx.filled(1, RankedTensorType::get({dim}, element)));
      gradient.labels.push_back({label});
      used += label;
    }
    gradient.result += label;
  }
  return gradient;
}

static std::string written(StringRef labels) {
  std::string text;
  for (char label : labels)
    text += label == '.' ? std::string("...") : std::string(1, label);
  return text;
}

static void buildEinsum(mp::EinsumOp op, GradientContext &ctx) {
  std::optional<EinsumEquation> equation =
      EinsumEquation::parse(op.getEquation());
  if (!equation)
    return ctx.lack();
  for (unsigned i = 0; i < op.getInputs().size(); ++i) {
    if (!ctx.wants(i))
      continue;
    std::optional<EinsumGradient> gradient = invert(*equation, i, op, ctx);
    if (!gradient) {
      ctx.lack();
      continue;
    }
    std::string text;
    for (const std::string &labels : gradient->labels)
      text += (text.empty() ? "" : ",") + written(labels);
    Term made = einsum(ctx, gradient->operands,
                       text + "->" + written(gradient->result));
    ctx.give(i, equation->result.empty() ? ctx.dy() * made : made);
  }
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

template <typename OpTy>
static SmallVector<NamedAttribute> windowOf(OpTy op, GradientContext &ctx) {
  SmallVector<NamedAttribute> attributes = {
      ctx.integer("group", op.getGroup()),
      ctx.word("auto_pad", op.getAutoPad())};
  auto add = [&](StringRef name, ArrayRef<int64_t> values) {
    if (!values.empty())
      attributes.push_back(ctx.integers(name, values));
  };
  add("strides", op.getStrides());
  add("dilations", op.getDilations());
  add("pads", op.getPads());
  return attributes;
}

static void giveBias(Value bias, GradientContext &ctx) {
  MaybeShape shape = getShape(ctx.dy());
  if (!ctx.wants(bias))
    return;
  if (!shape)
    return ctx.lack();
  SmallVector<int64_t> axes = {0};
  llvm::append_range(axes, llvm::seq<int64_t>(2, shape->size()));
  ctx.give(bias, ctx.sum(ctx.dy(), axes, /*keepDims=*/false));
}

static void buildConv(mp::ConvOp op, GradientContext &ctx) {
  if (!ctx.wants(0u) && !ctx.wants(1))
    return giveBias(op.getBias(), ctx);
  auto grad = ctx.makeOp<mp::ConvGradOp>({ctx.dy(), ctx.x(0), ctx.x(1)},
                                         windowOf(op, ctx), /*results=*/3);
  ctx.give(0, grad.getInputGrad());
  ctx.give(1, grad.getFilterGrad());
  if (op.getBias())
    ctx.give(op.getBias(), grad.getBiasGrad());
}

/// A transposed convolution is the gradient of a convolution: its own is that
/// convolution, and the filter's has dY and x the other way round.
static void buildConvTranspose(mp::ConvTransposeOp op, GradientContext &ctx) {
  if (op.getAutoPad() != "NOTSET" || !op.getOutputShape().empty())
    return ctx.lack();
  SmallVector<NamedAttribute> window = windowOf(op, ctx);
  if (ctx.wants(0u))
    ctx.give(0, ctx.make<mp::ConvOp>({ctx.dy(), ctx.x(1), Value()}, window));
  if (ctx.wants(1))
    ctx.give(1, ctx.makeOp<mp::ConvGradOp>({ctx.x(0), ctx.dy(), ctx.x(1)},
                                           window, /*results=*/3)
                    .getFilterGrad());
  giveBias(op.getBias(), ctx);
}

void mpopt::attachLinearGradients(MLIRContext *context) {
  attachGradient<buildMatMul, mp::MatMulOp>(context);
  attachGradient<buildGemm, mp::GemmOp>(context);
  attachGradient<buildLinear, mp::LinearOp>(context);
  attachGradient<buildBilinear, mp::BilinearOp>(context);
  attachGradient<buildEinsum, mp::EinsumOp>(context);
  attachGradient<buildConv, mp::ConvOp>(context);
  attachGradient<buildConvTranspose, mp::ConvTransposeOp>(context);
  attachGradientOp<mp::DeformConvOp, mp::DeformConvGradOp>(context);
  attachNoGradient<mp::MatMulIntegerOp, mp::ConvIntegerOp>(context);
}
