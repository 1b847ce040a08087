//===- QuantizationSupport.cpp - Scales beside numbers
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Ranges/Value/QuantizationSupport.h"

#include "mpopt/Ranges/Value/CellSupport.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// A scalar, a list along the axis, or the whole of something else.
static AbstractValue align(const AbstractValue &value,
                           const StorageFormat &format, size_t rank) {
  std::optional<int64_t> at =
      format.axis ? normalizeAxis(*format.axis, rank) : std::nullopt;
  AbstractValue::Dims dims(rank, 1);
  bool isList = !format.block && at && value.rank() == 1 && value.groups() > 1;
  if (isList)
    dims[*at] = value.dims()[0];
  AbstractValue result =
      isList ? AbstractValue(dims, std::vector<Cell>(value.cells().begin(),
                                                     value.cells().end()))
             : AbstractValue(dims, value.hull());
  result.copyFlags(value);
  return result;
}

SmallVector<AbstractValue, 3>
mpopt::alignQuantization(const AbstractValue &x, Value scale, Value zeroPoint,
                         const StorageFormat &format, TransferContext &ctx) {
  size_t rank = x.rank();
  AbstractValue none(AbstractValue::Dims(rank, 1), cells::point(0));
  none.source = LikelySource::Weight;
  none.claimIntegral();
  AbstractValue scales = align(ctx.of(scale), format, rank);
  // Scales of blocks may have either sign (MP601): their steps are their size.
  if (format.block)
    for (CellRef cell : scales.mutableCells()) {
      cell.mean = std::sqrt(cell.mean * cell.mean + cell.variance);
      cell.variance = 0;
    }
  return {x, std::move(scales),
          zeroPoint ? align(ctx.of(zeroPoint), format, rank) : none};
}
