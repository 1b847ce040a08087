//===- PlainExponential.cpp - Exponentials inside of ops
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Ranges/Value/PlainExponential.h"

#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/Infinity.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mpopt;

double PlainExponential::largest(double lo, double hi) const {
  return std::max(factor * lo, factor * hi) + std::log(count);
}

double PlainExponential::smallest(double lo, double hi) const {
  return std::min(factor * lo, factor * hi);
}

double PlainExponential::edge() const { return std::log(format->overflowFrom); }

double PlainExponential::floor() const { return std::log(format->flushAt); }

/// The number of elements that a reduction adds up, infinite if it is unknown.
static double countReduced(Operation *op) {
  std::optional<int64_t> all = getNumElements(getShape(op->getOperand(0)));
  std::optional<int64_t> left = getNumElements(getShape(op->getResult(0)));
  return all && left && *left > 0 ? double(*all) / double(*left) : kInfinity;
}

std::optional<PlainExponential>
mpopt::findPlainExponential(Operation *op, const TargetProfile &target) {
  if (op->getNumOperands() == 0)
    return std::nullopt;
  StringRef name = op->getName().stripDialect();
  const FloatFormat *own = getFloatFormat(getElementType(op->getOperand(0)));
  if (!own || !target.takesPlainExponentials(name))
    return std::nullopt;
  PlainExponential found{&target.functions(*own, name)};
  if (auto softplus = dyn_cast<mp::SoftplusOp>(op))
    found.factor = softplus.getBeta().convertToDouble();
  else if (isa<mp::LogSigmoidOp>(op))
    found.factor = -1;
  if (hasRole(op, Role::ExponentialSum)) {
    found.count = countReduced(op);
    const FloatFormat &sums = target.sums(*own, name);
    if (sums.overflowFrom < found.format->overflowFrom)
      found.format = &sums;
  }
  return found;
}
