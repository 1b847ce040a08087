//===- NonFiniteOrigins.cpp - Where Inf and NaN begin
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "NonFiniteOrigins.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Propagate/InnerSums.h"
#include "mpopt/Report/RuleTable.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mpopt;

/// The infinities that storing a value makes of finite elements.
static NonFiniteFlags storedAs(Value value, const OverflowSites &sites) {
  const FloatFormat *format = getFloatFormat(getElementType(value));
  if (!format || !isLowPrecision(getElementType(value)))
    return {};
  const OverflowSite *site = sites.find(value);
  bool isLikely = site && site->certainty >= Certainty::Likely;
  NonFiniteFlags flags;
  // A mean fits where the sum inside of it does not.
  std::optional<InnerSum> sum =
      findInnerSum(value.getDefiningOp(), sites.ranges());
  if (sum && sum->error.overflows && !sum->isDivisor) {
    double mean = sites.ranges().preRounding(value).hull().mean;
    (mean < 0 ? flags.negInf : flags.posInf) = true;
  }
  bool isKnown = isConstant(value) && sites.ranges().of(value).hasLikely();
  if (!isKnown && !isLikely)
    return flags;
  flags.posInf |= isPastEdge(value, true, sites.ranges());
  flags.negInf |= isPastEdge(value, false, sites.ranges());
  // A mask, of which nothing is expected.
  if (!isConstant(value) && !flags.any())
    (site->form == OverflowForm::Mask ? flags.negInf : flags.posInf) = true;
  if (!format->hasInf && flags.any())
    return {format->hasNaN, false, false};
  return flags;
}

static bool makesNaN(const FindingList::Entry &entry) {
  const RuleInfo *rule = findRule(entry.finding.rule);
  return rule && rule->nonFinite &&
         entry.finding.certainty >= Certainty::Likely &&
         entry.finding.severity == Severity::Error;
}

NonFinite::Origins mpopt::findOrigins(const OverflowSites &sites,
                                      ArrayRef<FindingList::Entry> findings) {
  llvm::DenseSet<Operation *> makers;
  for (const FindingList::Entry &entry : findings)
    if (makesNaN(entry))
      makers.insert(entry.op);
  return [&sites, makers = std::move(makers)](Value value) {
    NonFiniteFlags flags = storedAs(value, sites);
    if (auto result = dyn_cast<OpResult>(value))
      flags.nan |=
          result.getResultNumber() == 0 && makers.contains(result.getOwner());
    return flags;
  };
}
