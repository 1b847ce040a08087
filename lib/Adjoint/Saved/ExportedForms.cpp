//===- ExportedForms.cpp - Functions that exporters write in a few ops
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As torch.onnx writes functions for which an opset has no op. All are one op
// of PyTorch, with a gradient of its own.
//
//===----------------------------------------------------------------------===//

#include "FusedKernels.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Settings.h"

using namespace mlir;
using namespace mpopt;

/// x tanh(softplus(x)), x hardsigmoid(x); the members before the product.
static SmallVector<Operation *, 4> findGate(Value gate, Value x) {
  if (auto tanh = getMaker<mp::TanhOp>(gate))
    if (auto softplus = getMaker<mp::SoftplusOp>(tanh.getInput());
        softplus && isSameBehind(softplus.getInput(), x))
      return {softplus, tanh};
  if (auto sigmoid = getMaker<mp::HardSigmoidOp>(gate);
      sigmoid && isSameBehind(sigmoid.getInput(), x))
    return {sigmoid};
  return {};
}

/// a sigmoid(b), of the halves of one tensor.
static Value findHalved(Value a, Value gate) {
  auto sigmoid = getMaker<mp::SigmoidOp>(gate);
  auto split = getMaker<mp::SplitOp>(a);
  if (!sigmoid || !split || split.getParts().size() != 2 ||
      getMaker(sigmoid.getInput()) != split.getOperation())
    return {};
  bool inOrder = peel(a) == split.getParts()[0] &&
                 peel(sigmoid.getInput()) == split.getParts()[1];
  return inOrder ? Value(split.getInput()) : Value();
}

static std::optional<FusedKernel> matchProduct(mp::MulOp product) {
  for (unsigned side : {0u, 1u}) {
    Value x = product->getOperand(side), gate = product->getOperand(1 - side);
    FusedKernel composite;
    composite.members = {product};
    if (SmallVector<Operation *, 4> members = findGate(gate, x);
        !members.empty()) {
      composite.members.append(members.begin(), members.end());
      composite.saved = {x};
      return composite;
    }
    if (Value whole = findHalved(x, gate)) {
      composite.members.push_back(getMaker(gate));
      composite.saved = {whole};
      return composite;
    }
  }
  return std::nullopt;
}

/// True if one op of the forward pass reads the value.
static bool hasOneReader(Value value) {
  return llvm::count_if(value.getUsers(), [](Operation *user) {
           return !user->hasAttr(kBackwardAttr);
         }) == 1;
}

/// min(max(x, a), b) for clamp.
static std::optional<FusedKernel> matchClamp(Operation *op) {
  if (!isa<mp::MaxOp, mp::MinOp>(op) || op->getNumOperands() != 2)
    return std::nullopt;
  auto limited = splitNumber(op);
  Operation *inner =
      limited ? getMaker(limited->first, Peel::Identities) : nullptr;
  if (!isa_and_present<mp::MaxOp, mp::MinOp>(inner) ||
      inner->getName() == op->getName() || inner->getNumOperands() != 2 ||
      !splitNumber(inner) || !hasOneReader(inner->getResult(0)))
    return std::nullopt;
  FusedKernel composite;
  composite.members = {inner, op};
  composite.saved = {splitNumber(inner)->first};
  return composite;
}

std::optional<FusedKernel> mpopt::matchExportedForm(Operation *op) {
  if (auto product = dyn_cast<mp::MulOp>(op))
    return matchProduct(product);
  if (auto clamp = matchClamp(op))
    return clamp;
  // 1 / sqrt(x) for rsqrt, whose gradient reads the result.
  Value root = getInverted(op);
  auto sqrt = root ? getMaker<mp::SqrtOp>(root, Peel::Identities) : nullptr;
  if (!sqrt || !hasOneReader(sqrt.getResult()))
    return std::nullopt;
  FusedKernel composite;
  composite.members = {sqrt, op};
  composite.saved = {op->getResult(0)};
  return composite;
}
