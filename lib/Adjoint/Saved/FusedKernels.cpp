//===- FusedKernels.cpp - Ops of a framework that files write out
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RMS norm has no kernel outside of CUDA and is mostly written by hand, and so
// are softmax and softplus where they are written out at all (files have ops
// for them): these stay op by op.
//
//===----------------------------------------------------------------------===//

#include "FusedKernels.h"

#include "mpopt/Dialect/Composite.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Ops/NormalizationOps.h"
#include "mpopt/Dialect/Ops/RandomOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mpopt;

template <typename OpTy> static bool isKind(StringRef kind) {
  return kind == OpTy::getOperationName().split('.').second;
}

/// The values that members read from outside and that are no constants.
static SmallVector<Value, 4> getInputs(const Composite &composite) {
  llvm::SmallSetVector<Value, 4> inputs;
  for (Operation *member : composite.members)
    for (Value operand : member->getOperands())
      if (!composite.contains(
              getMaker(operand, Peel::Identities | Peel::InsertedCasts)) &&
          !isConstant(operand) && isa<FloatType>(getElementType(operand)))
        inputs.insert(operand);
  return SmallVector<Value, 4>(inputs.begin(), inputs.end());
}

//===----------------------------------------------------------------------===//
// Idioms
//===----------------------------------------------------------------------===//

/// Exporters multiply (1 + erf) by x and take the half of that; by hand it is
/// mostly (x / 2) (1 + erf), each factor of which is saved.
static bool isExportedGelu(const Composite &composite) {
  for (Operation *member : composite.members) {
    if (!isa<mp::MulOp>(member))
      continue;
    auto comesFromSum = [&](Value value) {
      auto sum = getMaker<mp::AddOp>(value);
      return composite.contains(sum) && splitNumber(sum) &&
             splitNumber(sum)->second == 1.0;
    };
    auto isMade = [&](Value value) {
      return composite.contains(getMaker(value));
    };
    Value lhs = member->getOperand(0), rhs = member->getOperand(1);
    if ((comesFromSum(lhs) && isMade(rhs)) ||
        (comesFromSum(rhs) && isMade(lhs)))
      return false;
  }
  return true;
}

/// F.silu is written as a product with a sigmoid.
static bool isExportedSilu(const Composite &composite) {
  return llvm::any_of(composite.members,
                      [](Operation *op) { return isa<mp::SigmoidOp>(op); });
}

/// The number of groups: of the shape that the members normalise.
static std::optional<int64_t> getGroups(const Composite &composite) {
  for (Operation *member : composite.members)
    if (isa<mp::ReshapeOp>(member))
      if (MaybeShape shape = getShape(member->getResult(0));
          shape && shape->size() >= 3 && (*shape)[1] >= 0 &&
          !composite.contains(getMaker(member->getOperand(0))))
        return (*shape)[1];
  return std::nullopt;
}

/// The tensors that the kernel of a composite saves; nothing if there is no
/// such kernel.
static std::optional<FusedKernel> describe(const Composite &composite) {
  FusedKernel kernel;
  kernel.members = composite.members;
  kernel.saved = getInputs(composite);
  if (kernel.saved.empty() ||
      (isKind<mp::GeluOp>(composite.kind) && !isExportedGelu(composite)) ||
      (isKind<mp::SiluOp>(composite.kind) && !isExportedSilu(composite)))
    return std::nullopt;
  if (isKind<mp::GeluOp>(composite.kind) || isKind<mp::SiluOp>(composite.kind))
    return kernel;
  kernel.counted = kernel.saved.front();
  // F.layer_norm is over trailing axes; a norm over others is by hand. Over all
  // behind the channels a layer norm looks like an instance norm.
  if ((isKind<mp::LayerNormOp>(composite.kind) ||
       isKind<mp::InstanceNormOp>(composite.kind)) &&
      composite.reducesTail()) {
    kernel.dims = unsigned(composite.axes.front());
    kernel.statistics = 2;
    return kernel;
  }
  std::optional<int64_t> groups = isKind<mp::GroupNormOp>(composite.kind)
                                      ? getGroups(composite)
                                      : std::nullopt;
  if (!groups)
    return std::nullopt;
  kernel.dims = 1;
  kernel.statistics = 2 * *groups;
  return kernel;
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// `value` times one number, which nobody learns; the value.
static Value getScaled(Value value, FusedKernel &attention) {
  auto product = getMaker<mp::MulOp>(value);
  if (!product)
    return {};
  for (unsigned index : {1u, 0u})
    if (getNumElements(getShape(product->getOperand(index))) == 1) {
      attention.members.push_back(product);
      return product->getOperand(1 - index);
    }
  return {};
}

/// The product of the probabilities and the values: through casts, a dropout,
/// and what turns NaN of rows without a key into 0.
static mp::MatMulOp findSecondProduct(Value value, FusedKernel &attention) {
  for (Operation *user : value.getUsers()) {
    if (user->hasAttr(kBackwardAttr))
      continue;
    if (auto product = dyn_cast<mp::MatMulOp>(user);
        product && product.getLhs() == value) {
      attention.members.push_back(user);
      return product;
    }
    if (isa<mp::CastOp, mp::IdentityOp, mp::WhereOp, mp::DropoutOp>(user)) {
      attention.members.push_back(user);
      if (mp::MatMulOp found = findSecondProduct(user->getResult(0), attention))
        return found;
      attention.members.pop_back();
    }
  }
  return {};
}

/// k of k^T where the exporter goes by three dims: it transposes matrices that
/// are numbered in one dim.
static Value getUnfolded(Value transposed) {
  auto after = getMaker<mp::ReshapeOp>(transposed);
  auto swap = after ? getMaker<mp::TransposeOp>(after.getInput()) : nullptr;
  auto before = swap ? getMaker<mp::ReshapeOp>(swap.getInput()) : nullptr;
  if (!before)
    return transposed;
  MaybeShape from = getShape(before.getInput()), to = getShape(transposed);
  if (!from || !to || from->size() != to->size() || to->size() < 3)
    return transposed;
  std::swap((*to)[to->size() - 1], (*to)[to->size() - 2]);
  return from == to ? Value(before.getInput()) : transposed;
}

/// softmax((s q) (s k)^T + mask) v: both factors are scaled, as PyTorch's
/// composite and both exporters write scaled_dot_product_attention.
static std::optional<FusedKernel> matchAttention(mp::SoftmaxOp softmax) {
  FusedKernel attention;
  attention.members.push_back(softmax);
  Operation *scores = getMaker(softmax.getInput());
  if (isa_and_present<mp::AddOp>(scores)) {
    bool first = getMaker<mp::MatMulOp>(scores->getOperand(0)) != nullptr;
    attention.mask = scores->getOperand(first ? 1 : 0);
    attention.members.push_back(scores);
    scores = getMaker(scores->getOperand(first ? 0 : 1));
  }
  auto product = dyn_cast_or_null<mp::MatMulOp>(scores);
  if (!product)
    return std::nullopt;
  attention.members.push_back(product);
  Value query = getScaled(product.getLhs(), attention);
  Value key = query ? getScaled(product.getRhs(), attention) : Value();
  mp::MatMulOp second =
      key ? findSecondProduct(softmax.getResult(), attention) : nullptr;
  if (!second)
    return std::nullopt;
  attention.saved = {query, getUnfolded(key), second.getRhs(),
                     second.getResult()};
  attention.attended = second.getResult();
  attention.computes = getElementType(product.getLhs());
  MaybeShape shape = getShape(query);
  attention.counted = query;
  attention.dims = shape && !shape->empty() ? unsigned(shape->size() - 1) : 0;
  attention.statistics = 1;
  return attention;
}

//===----------------------------------------------------------------------===//
// All of a block
//===----------------------------------------------------------------------===//

FusedKernels::FusedKernels(Block &block) {
  block.walk([&](Operation *op) {
    if (op->hasAttr(kBackwardAttr) && op->getBlock() == &block)
      return;
    if (auto softmax = dyn_cast<mp::SoftmaxOp>(op))
      if (auto attention = matchAttention(softmax))
        all.push_back(std::move(*attention));
    if (auto form = matchExportedForm(op))
      all.push_back(std::move(*form));
  });
  Composites composites(block.getParentOp());
  for (const Composite &composite : composites.all())
    if (block.findAncestorOpInBlock(*composite.members.front()))
      if (auto kernel = describe(composite))
        all.push_back(std::move(*kernel));
  for (auto [index, kernel] : llvm::enumerate(all))
    for (Operation *member : kernel.members)
      byMember.try_emplace(member, index);
}
