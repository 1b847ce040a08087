//===- TransferContext.cpp - What a transfer function works with
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Ranges/Value/TransferContext.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/ProductOperands.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Ranges/Value/CellSupport.h"
#include "mpopt/Ranges/Value/OpenAxis.h"
#include "mpopt/Ranges/Value/PlainExponential.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

AbstractValue TransferContext::anything(Value value) {
  size_t rank = rankOf(value);
  auto integer = dyn_cast<IntegerType>(getElementType(value));
  if (!integer)
    return AbstractValue::top(rank);
  unsigned width = integer.getWidth();
  bool isSigned = !integer.isUnsigned() && width > 1;
  AbstractValue result = AbstractValue::within(
      isSigned ? -std::ldexp(1.0, width - 1) : 0,
      std::ldexp(1.0, isSigned ? width - 1 : width) - (width > 53 ? 0 : 1),
      rank);
  result.integral = true;
  return result;
}

bool TransferContext::isSameValue(Value lhs, Value rhs) const {
  return isSameBehind(lhs, rhs, Peel::Lossless);
}

size_t TransferContext::rankOf(Value value) {
  MaybeShape shape = getShape(value);
  return shape ? shape->size() : 0;
}

std::optional<int64_t> TransferContext::dimOf(Value value, int64_t axis) {
  MaybeShape shape = getShape(value);
  if (!shape || axis < 0 || axis >= int64_t(shape->size()) ||
      (*shape)[axis] < 0)
    return std::nullopt;
  return (*shape)[axis];
}

double TransferContext::elementsPerGroup(Value value, size_t groups) const {
  double count = 1;
  if (MaybeShape shape = getShape(value))
    for (auto [axis, dim] : llvm::enumerate(*shape))
      count *= dim > 0 ? double(dim) : axis == 0 || dim == 0 ? 1 : kOpenAxis;
  return std::max(1.0, count / double(groups));
}

/// log(1 + e^x) and log(sum of e^x) where e^x is Inf: the kernel gives Inf, or
/// 0 (Core ML's Neural Engine does); where all of them are 0, log(0).
static void exponentiate(Operation *op, AbstractValue &value,
                         TransferContext &ctx) {
  std::optional<PlainExponential> plain =
      findPlainExponential(op, ctx.target());
  if (!plain)
    return;
  Cell x = ctx.operand(0).hull();
  bool overflows = !(plain->largest(x.lo, x.hi) < plain->edge());
  bool vanishes = !(plain->smallest(x.lo, x.hi) > plain->floor());
  (plain->factor < 0 ? value.negInf : value.posInf) |= overflows;
  value.negInf |= vanishes && hasRole(op, Role::ExponentialSum);
  if (!overflows && !vanishes)
    return;
  for (CellRef cell : value.mutableCells())
    if (!cell.empty())
      cells::setBound(cell, hull(cells::bound(cell), 0.0));
}

void TransferContext::result(unsigned index, AbstractValue value) {
  exponentiate(current, value, *this);
  setValue(current->getResult(index), std::move(value));
}

static const FloatFormat &formatOf(Value value) {
  const FloatFormat *format = getFloatFormat(getElementType(value));
  return format ? *format : FloatFormat::f32();
}

const FloatFormat &TransferContext::productFormat(Value operand) {
  if (const FloatFormat *codes = getSumOfCodes(current, target()))
    return *codes;
  return target().products(formatOf(operand),
                           current->getName().stripDialect());
}
const FloatFormat &TransferContext::sumFormat(Value operand) {
  return target().sums(formatOf(operand), current->getName().stripDialect());
}
const FloatFormat &TransferContext::sumFormat(Operation *kernel) {
  return target().sums(formatOf(kernel->getOperand(0)),
                       kernel->getName().stripDialect());
}
const FloatFormat &
TransferContext::statisticsFormat(Value operand, std::optional<Type> stated) {
  const FloatFormat *format = stated ? getFloatFormat(*stated) : nullptr;
  const FloatFormat &sums = sumFormat(operand);
  return format && format->digits < sums.digits ? *format : sums;
}
const FloatFormat &TransferContext::functionFormat(Value operand) {
  return target().functions(formatOf(operand),
                            current->getName().stripDialect());
}
