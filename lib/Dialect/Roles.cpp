//===- Roles.cpp - What an op means
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Roles.h"

using namespace mlir;
using namespace mpopt;

#include "mpopt/Dialect/Roles.cpp.inc"

static const OpMeaning *getMeaning(OperationName name) {
  auto *methods = name.getInterface<OpMeaningInterface>();
  return methods ? &methods->getMeaning() : nullptr;
}

const OpMeaning *mpopt::getMeaning(Operation *op) {
  return op ? ::getMeaning(op->getName()) : nullptr;
}

const OpMeaning *mpopt::getMeaning(StringRef mnemonic, MLIRContext *context) {
  return ::getMeaning(OperationName(
      (Twine(mp::MPDialect::getDialectNamespace()) + "." + mnemonic).str(),
      context));
}

bool mpopt::hasRole(const OpMeaning *meaning, Role role) {
  return meaning && bitEnumContainsAny(meaning->roles, role);
}

bool mpopt::hasRole(Operation *op, Role role) {
  return hasRole(getMeaning(op), role);
}

std::optional<unsigned> mpopt::divisorOperand(Operation *op) {
  const OpMeaning *meaning = getMeaning(op);
  if (!meaning || meaning->divisor < 0)
    return std::nullopt;
  return unsigned(meaning->divisor);
}

StringRef mpopt::gradientOf(Operation *op) {
  const OpMeaning *meaning = getMeaning(op);
  return meaning ? StringRef(meaning->gradientOf) : StringRef();
}
