//===- Proved.cpp - What no range rule says anything about
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A cast that a precision brought is part of the tensor it casts: what is said
// of the one is said of the other.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/Proved.h"

#include "mpopt/Hazards/RangeSupport.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Propagate/InnerSums.h"
#include "mpopt/Report/RuleTable.h"

using namespace mlir;
using namespace mpopt;

/// True if the values are not those of the model, but zeros: all of them, by
/// their bound, or all that is expected, where something else was meant.
static bool isLost(Value value, const FloatFormat &format,
                   const RangeAnalysis &ranges) {
  const auto &[bound, likely] = ranges.magnitudes(value);
  return likely.value_or(0) > 0 && (bound == 0 || *likely <= format.flushAt);
}

Proved mpopt::countProved(ModuleOp module, const RangeAnalysis &ranges,
                          const FindingList &findings) {
  llvm::DenseSet<Value> accused;
  for (const FindingList::Entry &entry : findings.entries) {
    if (!isByRange(entry.finding.rule))
      continue;
    Value value = entry.value;
    while (isInserted(value.getDefiningOp()))
      value = value.getDefiningOp()->getOperand(0);
    accused.insert(value);
  }
  Proved result;
  module.walk([&](Operation *op) {
    if (isa<mp::ConstantOp>(op) || isInserted(op))
      return;
    for (Value value : op->getResults()) {
      const FloatFormat *format = getFloatFormat(getElementType(value));
      if (!format || isConstant(value))
        continue;
      ++result.tensors;
      // An infinity that a mask holds stays what it is; NaN is no range.
      result.proved += !accused.contains(value) &&
                       !isLost(value, *format, ranges) &&
                       !ranges.preRounding(value).nan &&
                       ranges.magnitudes(value).bound < format->overflowFrom &&
                       isInnerSumBounded(op, ranges);
    }
  });
  return result;
}
