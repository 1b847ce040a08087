//===- LowPrecisionAccumulation.cpp - MP107: a long dot product in 16 bits
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fact of shapes and target. Sums that the model writes itself are MP304's,
// which looks at their values.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/RangeSupport.h"
#include "mpopt/Propagate/InnerSums.h"
#include "passes/rules/Rules.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_LOWPRECISIONACCUMULATION
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct LowPrecisionAccumulation
    : mpopt::impl::LowPrecisionAccumulationBase<LowPrecisionAccumulation> {
  void check(ModuleOp) override {
    const auto &ranges = getAnalysis<RangeAnalysis>();
    forEachOp([&](Operation *op) {
      if (std::optional<AddedTerms> terms = getInnerTerms(op, ranges.target()))
        if (terms->format->bits <= 16)
          judge(op, *terms, ranges);
    });
  }

private:
  void judge(Operation *op, const AddedTerms &terms,
             const RangeAnalysis &ranges);
};
} // namespace

void LowPrecisionAccumulation::judge(Operation *op, const AddedTerms &terms,
                                     const RangeAnalysis &ranges) {
  const FloatFormat &format = *terms.format;
  // The threshold is FP16's, whose significand has 11 digits.
  double limit =
      std::ldexp(threshold("accumulation-length"), int(format.digits) - 11);
  if (double(terms.count) <= limit || isSumExact(op, terms, ranges))
    return;
  double error = double(terms.count) * 0.5 * format.unitRoundoff();
  FindingBuilder finding = report(op, op->getResult(0));
  finding.message("adds " + formatNumber(double(terms.count)) + " terms in " +
                  format.name.str() + " on " + ranges.target().name() +
                  ", more than " + formatNumber(limit) +
                  ": added in sequence, the rounding errors amount to up to " +
                  formatNumber(std::round(error * 100)) +
                  " % of terms of one sign");
  finding.fix(
      "keep-fp32",
      "accumulate in f32: the op in f32, or a kernel that adds up in it");
}
