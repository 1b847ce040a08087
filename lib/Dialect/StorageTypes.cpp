//===- StorageTypes.cpp - How elements of a type are stored
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/StorageTypes.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/CustomOps.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"

using namespace mlir;
using namespace mpopt;

std::optional<StorageFormat> mpopt::storageFormatOf(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return StorageFormat::integers(integer.getWidth(), !integer.isUnsigned());
  if (const FloatFormat *format = getFloatFormat(type))
    return *format;
  return std::nullopt;
}

template <typename Op>
static std::optional<StorageFormat> formatOfCodes(Op op, Value codes) {
  auto format = storageFormatOf(getElementType(codes));
  if (format) {
    format->axis = op.getAxis();
    format->block = op.getBlockSize();
    if (auto used = op.getCodes())
      format->codes = {double((*used)[0]), double((*used)[1])};
  }
  return format;
}

std::optional<StorageFormat> mpopt::storageFormatOf(mp::QuantizeOp op) {
  auto format = formatOfCodes(op, op.getResult());
  if (format)
    format->saturates |= op.getSaturate();
  return format;
}

std::optional<StorageFormat> mpopt::storageFormatOf(mp::DequantizeOp op) {
  return formatOfCodes(op, op.getInput());
}

std::optional<StorageFormat> mpopt::storageFormatOf(mp::FakeQuantizeOp op) {
  StorageFormat format(Interval{double(int64_t(op.getQuantMin())),
                                double(int64_t(op.getQuantMax()))});
  format.axis = op.getAxis();
  return format;
}

/// True if a zero point of the file is taken from the value.
static bool losesZeroPoint(OpOperand &use) {
  Operation *op = use.getOwner();
  return hasRole(op, Role::Subtraction) && op->getNumOperands() == 2 &&
         use.getOperandNumber() == 0 && isConstant(op->getOperand(1));
}

/// True if a product reads the value, behind scales, zero points, casts and
/// views.
static bool isReadByProduct(Value value) {
  // A weight has a scale, a cast and a view or two; a bound on time alone.
  constexpr size_t kMost = 32;
  SmallVector<Value> work = {value};
  for (size_t count = 0; !work.empty() && count < kMost; ++count)
    for (OpOperand &use : work.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      if (hasRole(user, Role::Contraction))
        return true;
      if (isa<mp::CastOp, mp::IdentityOp>(user) || losesZeroPoint(use) ||
          hasRole(user, Role::CopiesElements | Role::Multiplication))
        llvm::append_range(work, user->getResults());
    }
  return false;
}

bool mpopt::isCastOfCodes(mp::CastOp cast) {
  // Wider integers are ids, counts and sums.
  constexpr unsigned kMostBits = 8;
  Type from = getElementType(cast.getInput());
  return from.isIntOrFloat() && from.getIntOrFloatBitWidth() > 1 &&
         from.getIntOrFloatBitWidth() <= kMostBits &&
         isa<FloatType>(getElementType(cast.getResult())) &&
         isConstant(cast.getInput()) && isReadByProduct(cast.getResult());
}

/// True if the value is a matrix of a file's 8-bit integers: an op of which
/// nothing is known reads no others than codes of a weight.
static bool isMatrixOfCodes(Value value) {
  MaybeShape shape = getShape(value);
  return shape && shape->size() >= 2 && getElementType(value).isInteger(8) &&
         isConstant(value);
}

static bool hasCodes(Operation *op) {
  auto cast = dyn_cast<mp::CastOp>(op);
  return isa<mp::MatMulNBitsOp, mp::MatMulIntegerOp, mp::ConvIntegerOp>(op) ||
         hasRole(op, Role::Quantization) || (cast && isCastOfCodes(cast)) ||
         (isa<mp::OpaqueOp>(op) &&
          llvm::any_of(op->getOperands(), isMatrixOfCodes));
}

bool mpopt::isQuantized(ModuleOp module) {
  return module
      .walk([](Operation *op) {
        return hasCodes(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

ConstantLimits mpopt::limitsOf(mp::CastOp cast) {
  auto limits = cast->getAttrOfType<DenseF64ArrayAttr>(kLimitsAttr);
  return limits && limits.size() == 2 ? ConstantLimits{limits[0], limits[1]}
                                      : ConstantLimits();
}

void mpopt::setLimits(mp::CastOp cast, const ConstantLimits &limits) {
  cast->setAttr(
      kLimitsAttr,
      DenseF64ArrayAttr::get(cast.getContext(), {limits.least, limits.most}));
}
