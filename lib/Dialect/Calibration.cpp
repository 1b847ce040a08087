//===- Calibration.cpp - What a calibration saw of tensors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Calibration.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mpopt;

/// On an op one entry for each result, on an argument the entry itself: the
/// least and the greatest number, or a unit for nothing.
static constexpr llvm::StringLiteral kCalibratedAttr = "mp.calibrated";

static FunctionOpInterface functionOf(BlockArgument argument) {
  return dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
}

void mpopt::setCalibrated(Value value, const Interval &seen) {
  Builder builder(value.getContext());
  Attribute entry = builder.getDenseF64ArrayAttr({seen.lo, seen.hi});
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (FunctionOpInterface function = functionOf(argument))
      function.setArgAttr(argument.getArgNumber(), kCalibratedAttr, entry);
    return;
  }
  Operation *op = value.getDefiningOp();
  SmallVector<Attribute> entries(op->getNumResults(), builder.getUnitAttr());
  if (auto known = op->getAttrOfType<ArrayAttr>(kCalibratedAttr))
    entries.assign(known.begin(), known.end());
  entries[cast<OpResult>(value).getResultNumber()] = entry;
  op->setAttr(kCalibratedAttr, builder.getArrayAttr(entries));
}

std::optional<Interval> mpopt::getCalibrated(Value value) {
  Attribute entry;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (FunctionOpInterface function = functionOf(argument))
      entry = function.getArgAttr(argument.getArgNumber(), kCalibratedAttr);
  } else if (auto known = value.getDefiningOp()->getAttrOfType<ArrayAttr>(
                 kCalibratedAttr)) {
    size_t index = cast<OpResult>(value).getResultNumber();
    entry = index < known.size() ? known[index] : Attribute();
  }
  auto range = dyn_cast_if_present<DenseF64ArrayAttr>(entry);
  if (!range || range.size() != 2)
    return std::nullopt;
  return Interval{range[0], range[1]};
}
