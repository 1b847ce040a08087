//===- OverflowSites.cpp - Results that leave their dtype
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranges are not clipped at an overflow, so everything downstream of one
// overflows, too: such a site follows from the first one that is at least as
// sure. Where nothing is known of a tensor because its op has no transfer
// function, there is no site, neither there nor downstream.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/OverflowSites.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Masking.h"
#include "mpopt/Ranges/RangeInterface.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mpopt;

OverflowSites::OverflowSites(Operation *module, AnalysisManager &manager)
    : known(manager.getAnalysis<RangeAnalysis>()) {
  judgeAll(module);
}

OverflowSites::OverflowSites(const RangeAnalysis &variation,
                             const OverflowSites &base)
    : known(variation), base(&base) {
  for (Operation *op : variation.varied())
    judgeAll(op);
}

void OverflowSites::judgeAll(Operation *root) {
  root->walk<WalkOrder::PreOrder>([&](Operation *op) { judgeOp(op); });
}

void OverflowSites::judgeOp(Operation *op) {
  if (isa<mp::ConstantOp>(op))
    return;
  if (auto function = dyn_cast<FunctionOpInterface>(op))
    for (BlockArgument input : function.getArguments())
      judgeInput(input);
  for (Value result : op->getResults())
    if (isa<RangeOpInterface>(op))
      judge(result);
    else if (isLowPrecision(getElementType(result)))
      unknown.push_back(result);
}

bool OverflowSites::isInvalidated(
    const AnalysisManager::PreservedAnalyses &analyses) {
  return !analyses.isPreserved<OverflowSites>() ||
         !analyses.isPreserved<RangeAnalysis>();
}

const OverflowSite *OverflowSites::find(Value value) const {
  if (base && !known.isVaried(value))
    return base->find(value);
  auto found = indices.find(value);
  return found == indices.end() ? nullptr : &sites[found->second];
}

bool mpopt::isJudged(Value value) {
  return getFloatFormat(getElementType(value)) && !isConstant(value);
}

/// Nothing if no group reaches the overflow threshold.
static std::optional<Certainty> getCertainty(Value value,
                                             const RangeAnalysis &ranges,
                                             double edge, bool always) {
  const auto &[bound, likely] = ranges.magnitudes(value);
  if (bound < edge)
    return std::nullopt;
  if (always)
    for (const Cell &cell : ranges.preRounding(value).cells())
      if (!cell.empty() && (cell.lo >= edge || cell.hi <= -edge))
        return Certainty::Certain;
  return likely && *likely >= edge ? Certainty::Likely : Certainty::Possible;
}

static bool isUnbounded(Value value, const RangeAnalysis &ranges) {
  return std::isinf(ranges.magnitudes(value).bound);
}

Value OverflowSites::findRoot(Operation *op, Certainty certainty) const {
  const OverflowSite *best = nullptr;
  for (Value operand : op->getOperands()) {
    const OverflowSite *site = find(operand);
    if (site && site->certainty >= certainty &&
        (!best || site->certainty > best->certainty))
      best = site;
  }
  if (best)
    return best->root ? best->root : best->value;
  // A constant of known bytes that is Inf in its dtype: MP202 reports it.
  for (Value operand : op->getOperands())
    if (isa<FloatType>(getElementType(operand)) && isConstant(operand) &&
        known.of(operand).hasLikely()) {
      const FloatFormat *format = getFloatFormat(getElementType(operand));
      if (format && known.magnitudes(operand).bound >= format->overflowFrom)
        return operand;
    }
  return {};
}

static Operation *getFirstUser(Value value) {
  Operation *first = nullptr;
  for (Operation *user : value.getUsers()) {
    Operation *op = value.getParentBlock()->findAncestorOpInBlock(*user);
    if (op && (!first || op->isBeforeInBlock(first)))
      first = op == user ? user : first;
  }
  return first;
}

Operation *OverflowSite::op() const {
  Operation *op = value.getDefiningOp();
  return op ? op : getFirstUser(value);
}

/// An input is stored in its dtype before anything is computed.
void OverflowSites::judgeInput(BlockArgument input) {
  Type type = getElementType(input);
  const FloatFormat *format = getFloatFormat(type);
  // The values of an undescribed input are only assumed: no finding.
  if (!format || !isLowPrecision(type) || !getFirstUser(input))
    return;
  if (known.preRounding(input).source != LikelySource::Declared)
    return;
  std::optional<Certainty> certainty =
      getCertainty(input, known, format->overflowFrom, /*always=*/true);
  if (!certainty)
    return;
  indices[input] = sites.size();
  sites.push_back({input, OverflowForm::General, *certainty, {}});
}

/// In FP32 a huge bound is mostly that of a quotient whose divisor may be 0,
/// which is reported (MP206), and what is made of it.
bool OverflowSites::comesFromDivision(Value value) const {
  Operation *op = value.getDefiningOp();
  if (isUnbounded(value, known))
    return true;
  if (hasRole(op, Role::Division | Role::Reciprocal | Role::Power)) {
    Cell divisor =
        known.of(op->getOperand(divisorOperand(op).value_or(0))).hull();
    if (divisor.lo <= 0 && divisor.hi >= 0)
      return true;
  }
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    const FloatFormat *format = getFloatFormat(getElementType(operand));
    return format && !find(operand) &&
           known.magnitudes(operand).bound >= format->overflowFrom;
  });
}

void OverflowSites::judge(Value value) {
  Operation *op = value.getDefiningOp();
  if (!isJudged(value))
    return;
  Type type = getElementType(value);
  const AbstractValue &computed = known.preRounding(value);
  std::optional<Certainty> certainty = getCertainty(
      value, known, getFloatFormat(type)->overflowFrom, runsAlways(op));
  if (!certainty)
    return;
  if (!isLowPrecision(type) && *certainty == Certainty::Possible &&
      comesFromDivision(value))
    return;
  // One value in one dtype has one name, however many casts there are.
  if (auto cast = dyn_cast<mp::CastOp>(op))
    for (Operation *other : cast.getInput().getUsers())
      if (other != op && isa<mp::CastOp>(other) &&
          getElementType(other->getResult(0)) == type)
        if (const OverflowSite *site = find(other->getResult(0))) {
          indices[value] = site - sites.data();
          return;
        }
  // Where nothing is expected of a value: a mask is there to be applied, and
  // what is only moved is what it was.
  if (*certainty == Certainty::Possible && !computed.hasLikely()) {
    bool passes =
        hasRole(op, Role::MovesElements | Role::Addition | Role::Concatenation);
    bool expected =
        passes && llvm::any_of(op->getOperands(), [&](Value operand) {
          const OverflowSite *site = find(operand);
          return site && site->certainty != Certainty::Possible;
        });
    // So does a factor that is Inf itself.
    Value source = findRoot(op, Certainty::Likely);
    expected |= source && isConstant(source);
    // A mask that leaves room for scores, written with two digits or more.
    double more = 1.02 * largestMask(*getFloatFormat(type));
    bool masks = classifyOverflow(value, known) == OverflowForm::Mask &&
                 llvm::any_of(op->getOperands(), [&](Value operand) {
                   return isa<FloatType>(getElementType(operand)) &&
                          holdsMask(operand, more);
                 });
    if (expected || masks)
      certainty = Certainty::Likely;
  }
  Value root = findRoot(op, *certainty);
  if (*certainty == Certainty::Possible && !root && isUnbounded(value, known))
    for (Value operand : op->getOperands())
      if (isa<FloatType>(getElementType(operand)) &&
          isUnbounded(operand, known)) {
        unknown.push_back(value);
        return;
      }
  OverflowForm form = classifyOverflow(value, known);
  // A mask that is only moved is still one: -Inf there is not an error yet.
  if (const OverflowSite *source = root ? find(root) : nullptr)
    if (source->form == OverflowForm::Mask && isViewLike(op))
      form = OverflowForm::Mask;
  indices[value] = sites.size();
  sites.push_back({value, form, *certainty, root});
}

//===----------------------------------------------------------------------===//
// Texts of findings
//===----------------------------------------------------------------------===//

std::string mpopt::describeOverflow(const OverflowSite &site,
                                    const RangeAnalysis &ranges) {
  Type type = getElementType(site.value);
  const FloatFormat &format = *getFloatFormat(type);
  const AbstractValue &computed = ranges.preRounding(site.value);
  std::string edge = formatNumber(format.maxFinite) + ", the largest " +
                     std::string(format.name) + " value";
  double bound = ranges.magnitudes(site.value).bound;
  double likely = ranges.magnitudes(site.value).likely.value_or(0);
  switch (site.certainty) {
  case Certainty::Certain: {
    double least = kInfinity;
    size_t groups = 0;
    for (const Cell &cell : computed.cells())
      if (!cell.empty() &&
          (cell.lo >= format.overflowFrom || cell.hi <= -format.overflowFrom)) {
        least = std::min(least, cell.lo > 0 ? cell.lo : -cell.hi);
        ++groups;
      }
    std::string who = groups == computed.groups()
                          ? "every value is"
                          : "values in " + std::to_string(groups) + " of " +
                                std::to_string(computed.groups()) +
                                " groups are";
    return who + " at least " + formatNumber(least) + " in magnitude, past " +
           edge;
  }
  case Certainty::Likely:
    if (!computed.hasLikely())
      return std::isinf(bound)
                 ? "a factor or addend past the edge takes it past " + edge
                 : "magnitudes up to " + formatNumber(bound) +
                       " are to be expected, past " + edge;
    return "magnitudes are expected to reach " + formatNumber(likely) +
           ", past " + edge;
  case Certainty::Possible:
    break;
  }
  std::string text = std::isinf(bound) ? "no bound keeps it below " + edge
                                       : "the bound is " + formatNumber(bound) +
                                             ", past " + edge;
  if (computed.hasLikely())
    text += ", while " + formatNumber(likely) + " is expected";
  return text;
}

void mpopt::addSite(FindingBuilder &finding, const OverflowSite &site,
                    const RangeAnalysis &ranges) {
  addRange(finding, site.value, ranges);
  if (site.root)
    finding.follows(site.root);
  else
    addGrowth(finding, site.value, ranges,
              site.certainty != Certainty::Possible);
}

void mpopt::fixByWidening(FindingBuilder &finding, const OverflowSite &site,
                          const RangeAnalysis &ranges, const Twine &what) {
  const Magnitudes &sizes = ranges.magnitudes(site.value);
  double size = site.certainty == Certainty::Likely
                    ? sizes.likely.value_or(sizes.bound)
                    : sizes.bound;
  // A value that f32 cannot hold either is not fixed by it.
  if (size < FloatFormat::f32().overflowFrom)
    fixByKeeping(finding, getElementType(site.value), what);
}
