//===- Idioms.cpp - Matching decomposed composites
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Idioms.h"

#include "mpopt/Dialect/Interfaces/ShapeFacts.h"
#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "mlir/IR/Builders.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::idioms;

static constexpr StringLiteral kIdiom = "mp.idiom";
/// More users than this and the value is no intermediate of an idiom.
static constexpr unsigned kMaxUsers = 8;

bool Marker::mark(StringRef kind, ArrayRef<Operation *> members,
                  Operation *result) {
  if (llvm::any_of(members, [](Operation *op) { return op->hasAttr(kIdiom); }))
    return false;
  int64_t id = next++;
  MLIRContext *context = result->getContext();
  for (Operation *op : members)
    op->setAttr(kIdiom,
                mp::IdiomAttr::get(context, StringAttr::get(context, kind), id,
                                   op == result));
  return true;
}

/// Coefficients are printed with three digits or more, and FP16 keeps three.
static bool isNear(double number, double expected) {
  return std::fabs(number - expected) <= 2e-3 * std::fabs(expected);
}

std::optional<double> idioms::getRoundNumber(Value value) {
  std::optional<double> number = getSplatConstant(value);
  if (number && isNear(*number, std::round(*number)))
    return std::round(*number);
  return number;
}

bool idioms::isNumber(Value value, double expected) {
  std::optional<double> number = getSplatConstant(value);
  return number && isNear(*number, expected);
}

Value idioms::otherOperand(Operation *op, Value value) {
  if (op->getNumOperands() != 2)
    return {};
  if (isSameBehind(op->getOperand(0), value))
    return op->getOperand(1);
  return isSameBehind(op->getOperand(1), value) ? op->getOperand(0) : Value();
}

SmallVector<Operation *, 4> idioms::getUsers(Value value) {
  SmallVector<Operation *, 4> users;
  SmallVector<Value, 4> pending = {value};
  unsigned seen = 0;
  while (!pending.empty()) {
    for (Operation *user : pending.pop_back_val().getUsers()) {
      if (++seen > kMaxUsers)
        return {};
      if (isa<mp::CastOp, mp::IdentityOp>(user))
        pending.push_back(user->getResult(0));
      else if (!llvm::is_contained(users, user))
        users.push_back(user);
    }
  }
  return users;
}

Operation *idioms::getOnlyUser(Value value) {
  SmallVector<Operation *, 4> users = getUsers(value);
  return users.size() == 1 ? users.front() : nullptr;
}

static bool isParameter(Value value, unsigned depth) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumOperands() > 3)
    return false;
  if (isa<mp::ConstantOp>(op))
    return true;
  return depth > 0 && op->getNumOperands() > 0 && op->getNumRegions() == 0 &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return ::isParameter(operand, depth - 1);
         });
}

bool idioms::isParameter(Value value) { return ::isParameter(value, 3); }
