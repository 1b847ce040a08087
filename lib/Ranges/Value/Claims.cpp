//===- Claims.cpp - What a result says of its elements and rows
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Ranges/Value/AbstractValue.h"

#include "mpopt/Numerics/Infinity.h"

using namespace mpopt;

AbstractValue AbstractValue::like(const AbstractValue &operand) {
  AbstractValue result(operand.groupDims, Cell{-kInfinity, kInfinity});
  result.setNonFinite(true, true, true);
  return result;
}

AbstractValue AbstractValue::pickedFrom(const AbstractValue &operand) {
  AbstractValue result = operand;
  result.dropRowClaims();
  return result;
}

AbstractValue AbstractValue::boundedLike(const AbstractValue &operand) {
  AbstractValue result = operand;
  result.dropClaims();
  return result;
}

void AbstractValue::setNonFinite(bool mayBeNaN, bool mayBePosInf,
                                 bool mayBeNegInf) {
  nan = mayBeNaN;
  posInf = mayBePosInf;
  negInf = mayBeNegInf;
}

void AbstractValue::addNonFinite(const AbstractValue &other) {
  setNonFinite(nan || other.nan, posInf || other.posInf,
               negInf || other.negInf);
}

void AbstractValue::keepsRowsAlong(int64_t axis, const AbstractValue &operand) {
  if (operand.norm && operand.norm->axis == axis)
    norm = operand.norm;
  if (operand.rowSum && operand.rowSum->axis == axis)
    rowSum = operand.rowSum;
}

void AbstractValue::dropClaims() {
  integral = false;
  minNonZero = 0;
  dropRowClaims();
}
