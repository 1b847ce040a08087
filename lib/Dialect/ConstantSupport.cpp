//===- ConstantSupport.cpp - Values of mp.constant
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/ConstantSupport.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Support/WeightStore.h"

#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "llvm/ADT/APFloat.h"

#include <cstring>

using namespace mlir;
using namespace mpopt;

std::optional<ConstantBytes> mpopt::getConstantBytes(mp::ConstantOp constant) {
  if (auto weight = dyn_cast<mp::WeightAttr>(constant.getValue())) {
    // Readers know nibbles and whole bytes, not how 6 bits are packed.
    auto type = dyn_cast<FloatType>(getElementType(constant.getResult()));
    if (type && type.getWidth() != 4 && type.getWidth() % 8 != 0)
      return std::nullopt;
    auto *dialect = cast<mp::MPDialect>(constant->getDialect());
    llvm::Expected<ArrayRef<char>> bytes = dialect->getWeights().bytes(
        weight.getFile().getValue(), weight.getOffset(), weight.getLength());
    if (bytes)
      return ConstantBytes{*bytes, false};
    llvm::consumeError(bytes.takeError()); // the import said so already
    return std::nullopt;
  }
  auto dense = dyn_cast<DenseIntOrFPElementsAttr>(constant.getValue());
  if (!dense || isa<ComplexType>(dense.getElementType()) ||
      dense.getElementType().getIntOrFloatBitWidth() % 8 != 0)
    return std::nullopt;
  return ConstantBytes{dense.getRawData(), dense.isSplat()};
}

bool mpopt::isViewLike(Operation *op) {
  return hasRole(op, Role::MovesElements);
}

bool mpopt::isReadInside(OpOperand &use) {
  auto loop = dyn_cast<RegionBranchOpInterface>(use.getOwner());
  if (!loop)
    return true;
  SmallVector<RegionSuccessor> bodies;
  loop.getSuccessorRegions(RegionBranchPoint::parent(), bodies);
  bool passed = false;
  for (const RegionSuccessor &body : bodies) {
    OperandRange operands = loop.getEntrySuccessorOperands(body);
    if (body.isParent() || operands.empty())
      continue;
    ValueRange arguments = body.getSuccessorInputs();
    unsigned first = operands.getBeginOperandIndex();
    unsigned index = use.getOperandNumber() - first;
    if (use.getOperandNumber() < first || index >= operands.size())
      continue;
    if (!arguments[index].use_empty())
      return true;
    passed = true;
  }
  return !passed;
}

static std::optional<double> decode(ArrayRef<char> bytes, Type type) {
  unsigned width = type.getIntOrFloatBitWidth();
  if (width % 8 != 0 || width > 64 || bytes.size() < width / 8)
    return std::nullopt;
  uint64_t bits = 0;
  std::memcpy(&bits, bytes.data(), width / 8); // hosts are little-endian
  if (auto integer = dyn_cast<IntegerType>(type)) {
    if (integer.isUnsigned())
      return double(bits);
    return double(int64_t(bits << (64 - width)) >> (64 - width));
  }
  llvm::APFloat value(cast<FloatType>(type).getFloatSemantics(),
                      APInt(width, bits));
  bool inexact;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven,
                &inexact);
  return value.convertToDouble();
}

std::optional<double> mpopt::getSplatConstant(Value value) {
  // Shapes change nothing about a number that is everywhere the same.
  value = peel(value, Peel::CastsAndViews);
  auto constant = value.getDefiningOp<mp::ConstantOp>();
  if (!constant)
    return std::nullopt;
  Type element = getElementType(value);
  if (!isa<FloatType>(element) &&
      (!isa<IntegerType>(element) || element.isInteger(1)))
    return std::nullopt;
  auto count = cast<RankedTensorType>(constant.getType()).getNumElements();
  bool dense = !isa<mp::WeightAttr>(constant.getValue());
  if (count < 1 || (!dense && count != 1))
    return std::nullopt;
  std::optional<ConstantBytes> bytes = getConstantBytes(constant);
  if (!bytes || (!bytes->splat && count != 1))
    return std::nullopt;
  return decode(bytes->data, element);
}
