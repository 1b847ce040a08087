//===- PrintRanges.cpp - What the range analysis knows, as remarks
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/transforms/Passes.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"
#include "mpopt/Ranges/RangeInterface.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_PRINTRANGES
#include "passes/transforms/Passes.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct Style {
  bool likely = false, elements = false;

  /// Six digits are enough to tell 65504 from 65520.
  std::string number(double value) const {
    if (std::isinf(value))
      return value > 0 ? "inf" : "-inf";
    return llvm::formatv("{0}", llvm::format("%.*g", elements ? 17 : 6, value))
        .str();
  }
};
} // namespace

static void printCells(const AbstractValue &value, bool likely,
                       const Style &style, llvm::raw_ostream &os) {
  auto number = [&](double value) { return style.number(value); };
  const size_t kMost = style.elements ? value.groups() : 8;
  if (value.groups() > 1) {
    os << '{';
    llvm::interleave(value.dims(), os, "x");
    os << "} ";
  }
  for (size_t group = 0; group < std::min(kMost, value.groups()); ++group) {
    const Cell &cell = value.cell(group);
    if (group > 0)
      os << ' ';
    if (likely)
      os << '[' << number(cell.likelyLo) << ", " << number(cell.likelyHi)
         << "] mean " << number(cell.mean) << " std "
         << number(std::sqrt(cell.variance));
    else if (cell.empty())
      os << "none";
    else
      os << '[' << number(cell.lo) << ", " << number(cell.hi) << ']';
  }
  if (value.groups() > kMost)
    os << " ...";
}

static std::string describe(const AbstractValue &pre,
                            const AbstractValue &stored, const Style &style) {
  auto number = [&](double value) { return style.number(value); };
  std::string text;
  llvm::raw_string_ostream os(text);
  printCells(pre, /*likely=*/false, style, os);
  if (stored.nan)
    os << " nan";
  if (stored.posInf)
    os << " +inf";
  if (stored.negInf)
    os << " -inf";
  if (pre.integral)
    os << " integral";
  if (pre.norm)
    os << " norm(" << pre.norm->axis << ") <= " << number(pre.norm->bound);
  if (pre.rowSum)
    os << " sum(" << pre.rowSum->axis << ") in [" << number(pre.rowSum->lo)
       << ", " << number(pre.rowSum->hi) << ']';
  if (style.likely && pre.hasLikely()) {
    os << " likely (" << toString(pre.source) << ") ";
    printCells(pre, /*likely=*/true, style, os);
  }
  return text;
}

namespace {
struct PrintRanges : mpopt::impl::PrintRangesBase<PrintRanges> {
  using PrintRangesBase::PrintRangesBase;

  void runOnOperation() override {
    auto &ranges = getAnalysis<RangeAnalysis>();
    auto text = [&](Value value) {
      return describe(ranges.preRounding(value), ranges.of(value),
                      Style{likely, elements});
    };
    getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (auto function = dyn_cast<FunctionOpInterface>(op))
        for (BlockArgument argument : function.getArguments())
          op->emitRemark() << "argument " << argument.getArgNumber() << ": "
                           << text(argument);
      if (op->getNumResults() == 0)
        return;
      if (!isa<RangeOpInterface, mp::ConstantOp>(op)) {
        op->emitRemark("no transfer function");
        return;
      }
      for (OpResult result : op->getResults()) {
        auto remark = op->emitRemark();
        if (op->getNumResults() > 1)
          remark << '#' << result.getResultNumber() << ": ";
        remark << text(result);
      }
    });
    markAllAnalysesPreserved();
  }
};
} // namespace
