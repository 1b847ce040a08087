//===- Parameters.cpp - The constants that a model learns -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Parameters.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Interfaces/Interfaces.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/NormalizationOps.h"
#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/Masking.h"

#include "llvm/ADT/StringExtras.h"

#include <cstring>

using namespace mlir;
using namespace mpopt;

/// True for an operand that an op computes with and that it may learn: not a
/// scale in a dtype of its own, nor the kept statistics of a batch norm.
static bool isLearned(OpOperand &use) {
  if (auto norm = dyn_cast<mp::BatchNormOp>(use.getOwner()))
    if (use.get() == norm.getMean() || use.get() == norm.getVariance())
      return false;
  auto precision = dyn_cast<PrecisionOpInterface>(use.getOwner());
  return precision && precision.isPrecisionOperand(use.getOperandNumber());
}

/// True for the type of what training does not change: a literal, or what a
/// module keeps beside its parameters.
static bool isFixed(StringRef type) {
  return type.ends_with("Constant") || type == "Buffer" ||
         type == "FrozenParameter";
}

/// True if all ops that read the value, through casts, are such.
static bool allReaders(Value value,
                       llvm::function_ref<bool(Operation *)> holds) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    return isa<mp::CastOp>(user) ? allReaders(user->getResult(0), holds)
                                 : holds(user);
  });
}

/// True for a number that an exporter writes as a weight: an epsilon, a limit,
/// an exponent, or a factor to which it gave a name of its own. What is learned
/// and a number alone scales something.
static bool isLiteral(mp::ConstantOp constant) {
  Value value = constant.getResult();
  // The number that a mask puts in place of others.
  if (getSplatConstant(value) && allReaders(value, [](Operation *user) {
        return hasRole(user, Role::Select);
      }))
    return true;
  MaybeShape shape = getShape(value);
  if (!shape || !shape->empty())
    return false;
  StringRef name = getValueName(value);
  name.consume_front("_");
  bool isNumbered = name.consume_front("val_") &&
                    llvm::all_of(name, [](char c) { return llvm::isDigit(c); });
  return isNumbered || allReaders(value, [](Operation *user) {
           return !hasRole(user, Role::Multiplication | Role::Exponential);
         });
}

/// True for a mask that is added: zeros, and numbers that no score survives.
static bool isMask(mp::ConstantOp constant) {
  constexpr int64_t kMost = 1 << 20; // a causal mask of 1,024 positions
  std::optional<ConstantBytes> bytes = getConstantBytes(constant);
  Type type = getElementType(constant.getResult());
  std::optional<int64_t> count = getNumElements(getShape(constant.getResult()));
  if (!bytes || bytes->splat || !type.isF32() || !count || *count > kMost ||
      !allReaders(constant.getResult(), [](Operation *user) {
        return hasRole(user, Role::Addition);
      }))
    return false;
  bool masks = false;
  for (ArrayRef<char> left = bytes->data; !left.empty();
       left = left.drop_front(sizeof(float))) {
    float element;
    std::memcpy(&element, left.data(), sizeof(element));
    masks |= element <= maskedBelow();
    if (element != 0 && !(element <= maskedBelow()))
      return false;
  }
  return masks;
}

bool mpopt::isParameter(Value value) {
  auto constant = value.getDefiningOp<mp::ConstantOp>();
  return constant && isa<FloatType>(getElementType(value)) &&
         !isFixed(getNodeType(constant)) &&
         llvm::any_of(value.getUses(), isLearned) && !isLiteral(constant) &&
         !isMask(constant);
}
