//===- ElementwiseElements.cpp - Shape arithmetic of elementwise ops
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elementwise ops on known elements. Floats take part if they are whole
// numbers, since exporters compute dims as floor(float(n) / float(d)).
//
//===----------------------------------------------------------------------===//

#include "mpopt/Dialect/ElementSupport.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"

#include "llvm/Support/MathExtras.h"

#include <functional>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

using MaybeElement = std::optional<int64_t>;

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

static Elements mapOperand(Operation *op, const ShapeFacts &facts,
                           llvm::function_ref<int64_t(int64_t)> function) {
  return combineElements(op->getOperands(), getElementType(op->getResult(0)),
                         facts, [&](ArrayRef<MaybeElement> value) {
                           return value[0] ? MaybeElement(function(*value[0]))
                                           : std::nullopt;
                         });
}

static int64_t negate(int64_t value) { return int64_t(-uint64_t(value)); }

Elements AbsOp::inferElements(const ShapeFacts &facts) {
  return mapOperand(*this, facts, [](int64_t value) {
    return value < 0 ? negate(value) : value;
  });
}

Elements NegOp::inferElements(const ShapeFacts &facts) {
  return mapOperand(*this, facts, negate);
}

Elements SignOp::inferElements(const ShapeFacts &facts) {
  return mapOperand(*this, facts, [](int64_t value) -> int64_t {
    return (value > 0) - (value < 0);
  });
}

Elements LogicalNotOp::inferElements(const ShapeFacts &facts) {
  return mapOperand(*this, facts,
                    [](int64_t value) -> int64_t { return !value; });
}

Elements BitwiseNotOp::inferElements(const ShapeFacts &facts) {
  return mapOperand(*this, facts, [](int64_t value) { return ~value; });
}

//===----------------------------------------------------------------------===//
// Division and rounding
//===----------------------------------------------------------------------===//

static MaybeElement divide(int64_t lhs, int64_t rhs) {
  if (rhs == 0 || (rhs == -1 && lhs == std::numeric_limits<int64_t>::min()))
    return std::nullopt;
  return lhs / rhs;
}

static MaybeElement divideFloor(int64_t lhs, int64_t rhs) {
  MaybeElement quotient = divide(lhs, rhs);
  if (quotient && lhs % rhs != 0 && (lhs < 0) != (rhs < 0))
    --*quotient;
  return quotient;
}

static MaybeElement divideCeil(int64_t lhs, int64_t rhs) {
  MaybeElement quotient = divideFloor(lhs, rhs);
  if (quotient && lhs % rhs != 0)
    ++*quotient;
  return quotient;
}

Elements DivOp::inferElements(const ShapeFacts &facts) {
  bool whole = isa<IntegerType>(getElementType(getResult()));
  return zipElements(*this, facts, [&](int64_t lhs, int64_t rhs) {
    MaybeElement quotient = divide(lhs, rhs);
    return quotient && (whole || lhs % rhs == 0) ? quotient : std::nullopt;
  });
}

Elements FloorDivOp::inferElements(const ShapeFacts &facts) {
  return zipElements(*this, facts, divideFloor);
}

Elements ModOp::inferElements(const ShapeFacts &facts) {
  return zipElements(*this, facts, [&](int64_t lhs, int64_t rhs) {
    MaybeElement quotient =
        getFmod() ? divide(lhs, rhs) : divideFloor(lhs, rhs);
    if (!quotient)
      return MaybeElement();
    // The product may wrap where the difference fits.
    return MaybeElement(
        int64_t(uint64_t(lhs) - uint64_t(*quotient) * uint64_t(rhs)));
  });
}

/// A rounding of `input`: whole numbers stay; a quotient of two is `divide`d
/// exactly. Dividing floats rounds, but not across a whole number where the
/// dividend is two bits below the mantissa.
static Elements
roundElements(Value input, const ShapeFacts &facts,
              llvm::function_ref<MaybeElement(int64_t, int64_t)> divide) {
  auto quotient = input.getDefiningOp<DivOp>();
  auto type = dyn_cast<FloatType>(getElementType(input));
  if (!quotient || !type || type.getWidth() < 16)
    return facts.elements(input);
  int64_t limit = int64_t(1) << (std::min(type.getFPMantissaWidth(), 62u) - 2);
  return zipElements(quotient, facts, [&](int64_t lhs, int64_t rhs) {
    return lhs > -limit && lhs < limit ? divide(lhs, rhs) : std::nullopt;
  });
}

Elements FloorOp::inferElements(const ShapeFacts &facts) {
  return roundElements(getInput(), facts, divideFloor);
}

Elements CeilOp::inferElements(const ShapeFacts &facts) {
  return roundElements(getInput(), facts, divideCeil);
}

Elements TruncOp::inferElements(const ShapeFacts &facts) {
  return roundElements(getInput(), facts, divide);
}

Elements RoundOp::inferElements(const ShapeFacts &facts) {
  return facts.elements(getInput());
}

//===----------------------------------------------------------------------===//
// Two operands
//===----------------------------------------------------------------------===//

Elements AddOp::inferElements(const ShapeFacts &facts) {
  return zipElements(*this, facts, [](int64_t lhs, int64_t rhs) {
    return int64_t(uint64_t(lhs) + uint64_t(rhs));
  });
}

Elements SubOp::inferElements(const ShapeFacts &facts) {
  return zipElements(*this, facts, [](int64_t lhs, int64_t rhs) {
    return int64_t(uint64_t(lhs) - uint64_t(rhs));
  });
}

Elements MulOp::inferElements(const ShapeFacts &facts) {
  return zipElements(*this, facts, [](int64_t lhs, int64_t rhs) {
    return int64_t(uint64_t(lhs) * uint64_t(rhs));
  });
}

static MaybeElement power(int64_t base, int64_t exponent) {
  if (exponent < 0)
    return std::nullopt;
  int64_t result = 1;
  // An overflow, or one of few bases for which nothing changes any more.
  for (int64_t step = 0; step < std::min<int64_t>(exponent, 64); ++step)
    if (llvm::MulOverflow(result, base, result))
      return std::nullopt;
  return exponent > 64 && base == -1 ? (exponent % 2 ? -1 : 1) : result;
}

Elements PowOp::inferElements(const ShapeFacts &facts) {
  return zipElements(*this, facts, power);
}

Elements EqualOp::inferElements(const ShapeFacts &facts) {
  return zipElements(*this, facts, std::equal_to<int64_t>());
}

Elements NotEqualOp::inferElements(const ShapeFacts &facts) {
  return zipElements(*this, facts, std::not_equal_to<int64_t>());
}

Elements LessOp::inferElements(const ShapeFacts &facts) {
  return zipElements(*this, facts, std::less<int64_t>());
}

Elements LessEqualOp::inferElements(const ShapeFacts &facts) {
  return zipElements(*this, facts, std::less_equal<int64_t>());
}

Elements GreaterOp::inferElements(const ShapeFacts &facts) {
  return zipElements(*this, facts, std::greater<int64_t>());
}

Elements GreaterEqualOp::inferElements(const ShapeFacts &facts) {
  return zipElements(*this, facts, std::greater_equal<int64_t>());
}

// Booleans are 0 and 1, so that the bitwise functions serve both.
Elements LogicalAndOp::inferElements(const ShapeFacts &facts) {
  return zipElements(*this, facts, std::bit_and<int64_t>());
}

Elements LogicalOrOp::inferElements(const ShapeFacts &facts) {
  return zipElements(*this, facts, std::bit_or<int64_t>());
}

Elements LogicalXorOp::inferElements(const ShapeFacts &facts) {
  return zipElements(*this, facts, std::bit_xor<int64_t>());
}

Elements BitwiseAndOp::inferElements(const ShapeFacts &facts) {
  return zipElements(*this, facts, std::bit_and<int64_t>());
}

Elements BitwiseOrOp::inferElements(const ShapeFacts &facts) {
  return zipElements(*this, facts, std::bit_or<int64_t>());
}

Elements BitwiseXorOp::inferElements(const ShapeFacts &facts) {
  return zipElements(*this, facts, std::bit_xor<int64_t>());
}

//===----------------------------------------------------------------------===//
// More operands
//===----------------------------------------------------------------------===//

/// The largest or smallest of all, known only if all are.
static MaybeElement selectExtreme(ArrayRef<MaybeElement> values, bool largest) {
  MaybeElement extreme = values.front();
  for (MaybeElement value : values) {
    if (!value)
      return std::nullopt;
    extreme = largest ? std::max(*extreme, *value) : std::min(*extreme, *value);
  }
  return extreme;
}

Elements MaxOp::inferElements(const ShapeFacts &facts) {
  return combineElements(getInputs(), getElementType(getResult()), facts,
                         [](ArrayRef<MaybeElement> values) {
                           return selectExtreme(values, true);
                         });
}

Elements MinOp::inferElements(const ShapeFacts &facts) {
  return combineElements(getInputs(), getElementType(getResult()), facts,
                         [](ArrayRef<MaybeElement> values) {
                           return selectExtreme(values, false);
                         });
}

Elements WhereOp::inferElements(const ShapeFacts &facts) {
  return combineElements(
      (*this)->getOperands(), getElementType(getResult()), facts,
      [](ArrayRef<MaybeElement> values) {
        if (values[0])
          return *values[0] ? values[1] : values[2];
        return values[1] == values[2] ? values[1] : std::nullopt;
      },
      /*needsAll=*/false);
}

Elements ClipOp::inferElements(const ShapeFacts &facts) {
  bool hasMin = bool(getMin());
  return combineElements((*this)->getOperands(), getElementType(getResult()),
                         facts,
                         [&](ArrayRef<MaybeElement> values) -> MaybeElement {
                           if (!llvm::all_of(values, [](MaybeElement value) {
                                 return bool(value);
                               }))
                             return std::nullopt;
                           int64_t result = *values[0];
                           if (hasMin)
                             result = std::max(result, *values[1]);
                           if (getMax())
                             result = std::min(result, *values.back());
                           return result;
                         });
}
