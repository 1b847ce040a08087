//===- LongSum.cpp - MP304: a sum too long for its accumulator
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each addition is off by at most u |partial sum| (u: the format's unit
// roundoff), so a sum of n terms is by u times the sum of the magnitudes of its
// partial sums (Higham, Accuracy and Stability of Numerical Algorithms, 4.2).
// Their expected size follows from the terms' mean m and standard deviation s:
// a partial sum of k terms is about sqrt(k^2 m^2 + k s^2).
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/RangeSupport.h"
#include "mpopt/Propagate/InnerSums.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/SumEstimate.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_LONGSUM
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct LongSum : mpopt::impl::LongSumBase<LongSum> {
  void check(ModuleOp) override {
    const auto &ranges = getAnalysis<RangeAnalysis>();
    forEachOp([&](Operation *op) {
      std::optional<InnerSum> sum = findInnerSum(op, ranges);
      if (sum && sum->error.overflows)
        return reportOverflow(op, *sum, ranges);
      if (std::optional<AddedTerms> terms =
              getWrittenTerms(op, ranges.target()))
        if (isNarrow(*terms->format) && terms->count > 1)
          judge(op, *terms, ranges);
    });
  }

private:
  void reportOverflow(Operation *op, const InnerSum &sum,
                      const RangeAnalysis &ranges);
  void judge(Operation *op, const AddedTerms &terms,
             const RangeAnalysis &ranges);
};
} // namespace

static std::string describeAdded(const InnerSum &sum) {
  bool takes = sum.form == InnerSum::Form::Exponentials;
  std::string count = formatNumber(double(sum.terms.count));
  std::string what =
      takes && sum.terms.count == 1 ? "takes e^x of an element as it is"
      : takes ? "adds " + count + " exponentials as they are"
      : sum.form == InnerSum::Form::Squares ? "adds " + count + " squares"
                                            : "adds " + count + " terms";
  return "the kernel " + what + " in " + sum.terms.format->name.str() +
         ", which is expected to reach ";
}

/// Where the result itself is in range: an overflow that only the kernel sees.
void LongSum::reportOverflow(Operation *op, const InnerSum &sum,
                             const RangeAnalysis &ranges) {
  Value result = op->getResult(0);
  const FloatFormat &format = *sum.terms.format;
  if (ranges.magnitudes(result).likely.value_or(0) >= format.overflowFrom)
    return;
  FindingBuilder finding = report(op, result);
  finding.certainty(Certainty::Likely)
      .message(describeAdded(sum) + formatNumber(sum.error.size) + ", past " +
               formatNumber(format.maxFinite) + ": it becomes Inf" +
               (sum.isDivisor ? ", and its quotients 0" : ""))
      .cause(op->getOperand(0), "holds the terms of the kernel's sum");
  addRange(finding, result, ranges);
  finding.fix("keep-fp32", "accumulate in f32 and round the result once");
}

void LongSum::judge(Operation *op, const AddedTerms &terms,
                    const RangeAnalysis &ranges) {
  const FloatFormat &format = *terms.format;
  const AbstractValue &summed = ranges.of(terms.summed);
  bool estimated = summed.hasLikely() && !terms.nonNegative;
  double mean = 1, variance = 0;
  if (estimated) {
    Cell hull = summed.hull();
    mean = hull.mean;
    variance = hull.variance;
  }
  bool pairwise = ranges.target().addsPairwise() && runsAlways(op);
  double n = double(terms.count);
  double error = estimateSumError(format, n, mean, variance, pairwise);
  if (!(error >= threshold("long-sum-error")) || isSumExact(op, terms, ranges))
    return;
  FindingBuilder finding = report(op, op->getResult(0));
  finding
      .certainty(summed.hasLikely() ? Certainty::Likely : Certainty::Possible)
      .message("the rounding errors of adding " + formatNumber(n) +
               " terms in " + format.name.str() +
               (pairwise ? " pairwise" : " one after another") +
               " amount to up to " + formatNumber(std::round(error * 100)) +
               " % of the sum")
      .cause(terms.summed,
             std::string("the terms") +
                 (estimated           ? ": mean " + formatNumber(mean) +
                                            ", standard deviation " +
                                            formatNumber(std::sqrt(variance))
                  : terms.nonNegative ? ", none of them negative once added"
                                      : ""));
  finding.watchSum(terms.summed, format, terms.count, pairwise,
                   terms.nonNegative);
  addRange(finding, op->getResult(0), ranges);
  finding.fix("keep-fp32", runsAlways(op)
                               ? "accumulate in f32 and round the result once"
                               : "carry the sum in f32 through the loop");
}
