//===- ProductOperands.cpp - The operands of products
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/ProductOperands.h"

#include "mpopt/Dialect/EinsumSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/SumEstimate.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpopt;

std::optional<size_t> OperandLayout::firstContracted() const {
  const auto *found = llvm::find(axes, AxisPart::Contracted);
  return found == axes.end() ? std::nullopt
                             : std::optional(size_t(found - axes.begin()));
}

//===----------------------------------------------------------------------===//
// Kinds of products
//===----------------------------------------------------------------------===//

/// A matrix, or several: the contracted axis is the last one, or the one before
/// it.
static OperandLayout matrix(size_t rank, bool contractsLast) {
  OperandLayout layout;
  layout.axes.assign(rank, AxisPart::Batch);
  if (rank == 1) {
    layout.axes[0] = AxisPart::Contracted;
  } else if (rank > 1) {
    layout.axes[rank - 1] =
        contractsLast ? AxisPart::Contracted : AxisPart::Row;
    layout.axes[rank - 2] =
        contractsLast ? AxisPart::Row : AxisPart::Contracted;
  }
  return layout;
}

/// [N, C, D1...]: rows are positions.
static OperandLayout image(size_t rank) {
  OperandLayout layout;
  layout.axes.assign(rank, AxisPart::Row);
  if (rank > 1)
    layout.axes[1] = AxisPart::Contracted;
  return layout;
}

static int64_t countTaps(Value filter) {
  MaybeShape shape = getShape(filter);
  int64_t taps = 1;
  if (shape)
    for (int64_t dim :
         llvm::drop_begin(*shape, std::min<size_t>(2, shape->size())))
      taps *= std::max<int64_t>(dim, 1);
  return taps;
}

static std::optional<ProductOperands> ofEinsum(mp::EinsumOp op) {
  if (op.getInputs().size() != 2)
    return std::nullopt;
  std::optional<EinsumEquation> equation =
      EinsumEquation::parse(op.getEquation());
  if (!equation || StringRef(equation->result).contains('.'))
    return std::nullopt;
  ProductOperands product;
  for (unsigned index : {0u, 1u}) {
    StringRef own = equation->operands[index],
              other = equation->operands[1 - index], out = equation->result;
    MaybeShape shape = getShape(op.getInputs()[index]);
    if (own.contains('.') || !shape || shape->size() != own.size())
      return std::nullopt;
    for (char label : own) {
      if (!out.contains(label) && !other.contains(label))
        return std::nullopt; // summed alone
      product.layouts[index].axes.push_back(
          !out.contains(label)    ? AxisPart::Contracted
          : other.contains(label) ? AxisPart::Batch
                                  : AxisPart::Row);
    }
  }
  return product;
}

std::optional<ProductOperands> mpopt::getProductOperands(Operation *op) {
  if (op->getNumOperands() < 2)
    return std::nullopt;
  std::array<size_t, 2> ranks;
  for (unsigned index : {0u, 1u}) {
    Value operand = op->getOperand(index);
    MaybeShape shape = getShape(operand);
    if (!shape || !isa<FloatType>(getElementType(operand)))
      return std::nullopt;
    ranks[index] = shape->size();
  }
  using Result = std::optional<ProductOperands>;
  return TypeSwitch<Operation *, Result>(op)
      .Case([&](mp::MatMulOp op) -> Result {
        // A vector at the right is a column.
        return ProductOperands{{matrix(ranks[0], !op.getTransA()),
                                matrix(ranks[1], op.getTransB())},
                               op.getAlpha().convertToDouble()};
      })
      .Case([&](mp::GemmOp op) -> Result {
        return ProductOperands{{matrix(ranks[0], !op.getTransA()),
                                matrix(ranks[1], op.getTransB())},
                               op.getAlpha().convertToDouble(),
                               op.getBeta().convertToDouble(),
                               op.getBias()};
      })
      .Case([&](mp::LinearOp op) -> Result {
        return ProductOperands{{matrix(ranks[0], true), matrix(ranks[1], true)},
                               1,
                               1,
                               op.getBias()};
      })
      .Case([&](mp::ConvOp op) -> Result {
        ProductOperands product{{image(ranks[0]), {}}, 1, 1, op.getBias()};
        product.layouts[0].taps = countTaps(op.getFilter());
        product.layouts[1].axes.assign(ranks[1], AxisPart::Contracted);
        product.layouts[1].axes[0] = AxisPart::Row;
        return product;
      })
      .Case([&](mp::ConvTransposeOp op) -> Result {
        ProductOperands product{{image(ranks[0]), {}}, 1, 1, op.getBias()};
        product.layouts[1].axes.assign(ranks[1], AxisPart::Row);
        product.layouts[1].axes[0] = AxisPart::Contracted;
        return product;
      })
      .Case([&](mp::EinsumOp op) { return ofEinsum(op); })
      .Default([](Operation *) { return std::nullopt; });
}

//===----------------------------------------------------------------------===//
// Scaled operands
//===----------------------------------------------------------------------===//

mp::CastOp ScaledOperand::other() const {
  auto its = product->getOperand(1 - index).getDefiningOp<mp::CastOp>();
  return its && its->hasAttr(kScaledAttr) ? its : mp::CastOp();
}

std::optional<ScaledOperand> mpopt::getScaledOperand(Value value) {
  auto cast = value.getDefiningOp<mp::CastOp>();
  if (!cast || !cast->hasAttr(kScaledAttr))
    return std::nullopt;
  const OperandRecipe *recipe =
      getPrecision(cast->getParentOfType<ModuleOp>()).operands;
  if (!recipe)
    return std::nullopt;
  // A backward graph, behind the product, reads the operand, too.
  OpOperand *first = nullptr;
  for (OpOperand &use : value.getUses())
    if (use.getOwner()->getBlock() == cast->getBlock() &&
        (!first || use.getOwner()->isBeforeInBlock(first->getOwner())))
      first = &use;
  unsigned index = first ? first->getOperandNumber() : 0;
  std::optional<ProductOperands> product =
      first && index < 2 ? getProductOperands(first->getOwner()) : std::nullopt;
  if (!product)
    return std::nullopt;
  bool isWeight = isConstant(cast.getInput());
  return ScaledOperand{
      cast.getInput(), first->getOwner(),
      index,           std::move(product->layouts[index]),
      isWeight,        isWeight ? recipe->weights : recipe->activations,
      recipe->isStatic};
}

/// The codes that a product reads; null if it reads none.
static const FloatFormat *getCodes(Value operand) {
  if (std::optional<ScaledOperand> scaled = getScaledOperand(operand))
    return scaled->scaling.codes().floats;
  auto pair = operand.getDefiningOp<mp::DequantizeOp>();
  return pair ? getFloatFormat(getElementType(pair.getInput())) : nullptr;
}

const FloatFormat *mpopt::getSumOfCodes(Operation *op,
                                        const TargetProfile &target) {
  if (op->getNumOperands() < 2)
    return nullptr;
  const FloatFormat *codes = getCodes(op->getOperand(0));
  if (!codes || !getCodes(op->getOperand(1)) || !getProductOperands(op))
    return nullptr;
  const FloatFormat &sums =
      target.products(*codes, op->getName().stripDialect());
  return cutsOff(sums) ? &sums : nullptr;
}
