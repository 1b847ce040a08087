//===- CodeFixes.cpp - Fixes of quantised tensors, tried
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranges depend on codes by their ends alone, so that most trials take the
// errors of outputs again and nothing else (kTriedFixAttr). Where the ends clip
// what is expected, ranges are those of a copy whose scale does not. Not
// covered: other scales of blocks.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Repair/CodeFixes.h"

#include "lib/Repair/Actions/Actions.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/ProductOperands.h"
#include "mpopt/Dialect/StorageTypes.h"
#include "mpopt/Effects/Severity.h"
#include "mpopt/Hazards/RangeSupport.h"
#include "mpopt/Numerics/Target.h"
#include "mpopt/Propagate/CodeMismatch.h"
#include "mpopt/Propagate/IntegerProduct.h"
#include "mpopt/Propagate/QuantizationErrors.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"
#include "mpopt/Report/RuleTable.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// Trials of a module, and the ops that all of them look at: those of 57 files
/// of ../shared/quant add two thirds to a check of 36 ms.
static constexpr size_t kMostTrials = 9, kMostOps = 20'000;

/// Less is within what estimates are off by.
static constexpr double kWorthTelling = 0.8;

/// True of a product with weights for more than one output: one alone adds up
/// what it reads, as the mean of a distribution over bins does.
static bool isLayer(Operation *op) {
  std::optional<ProductOperands> product = getProductOperands(op);
  if (!product)
    return false;
  Value weight = op->getOperand(1);
  if (auto numbers = getMaker<mp::DequantizeOp>(weight, Peel::Identities))
    weight = numbers.getInput();
  MaybeShape shape = getShape(weight);
  if (!isConstant(weight) || !shape ||
      shape->size() != product->layouts[1].axes.size())
    return false;
  return llvm::any_of(
      llvm::zip(*shape, product->layouts[1].axes), [](auto its) {
        return std::get<1>(its) == AxisPart::Row && std::get<0>(its) != 1;
      });
}

namespace {
/// The ops that decode the results of the last layers in front of an output.
struct Head {
  llvm::SetVector<Operation *> layers;
  SmallVector<Operation *, 4> codes;
};
} // namespace

static Head findHead(Value output) {
  Head head;
  llvm::DenseSet<Operation *> seen;
  SmallVector<Value> work = {output};
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    if (isLayer(op)) {
      head.layers.insert(op);
      continue;
    }
    if (isa<mp::QuantizeOp>(op))
      head.codes.push_back(op);
    llvm::append_range(work, op->getOperands());
  }
  return head;
}

static std::vector<Head> findHeads(ModuleOp module) {
  // More layers than a head at three sizes has are no place to cut.
  constexpr size_t kMostLayers = 12;
  std::vector<Head> heads;
  module.walk([&](func::ReturnOp end) {
    for (Value output : end.getOperands()) {
      Head head = findHead(output);
      if (head.codes.size() > 1 && !head.layers.empty() &&
          head.layers.size() <= kMostLayers)
        heads.push_back(std::move(head));
    }
  });
  return heads;
}

static std::string listNames(ArrayRef<Operation *> ops) {
  std::string names;
  for (Operation *op : ops)
    names += (names.empty() ? "`" : ", `") + getOpName(op) + "`";
  return names;
}

namespace {
/// A copy of the module in which ops clip nothing that is expected.
class WidenedCopy {
public:
  explicit WidenedCopy(ModuleOp module)
      : copy(cast<ModuleOp>(module->clone(mapping))), manager(*copy, nullptr) {}

  void widen(mp::QuantizeOp op, const StorageFormat &span) {
    auto its = cast<mp::QuantizeOp>(find(op));
    giveSpan(its, span);
    for (Operation *user : its.getResult().getUsers())
      if (auto numbers = dyn_cast<mp::DequantizeOp>(user))
        giveSpan(numbers, span);
  }
  ModuleOp get() { return *copy; }
  AnalysisManager analyses() { return manager; }
  Operation *find(Operation *op) const { return mapping.lookupOrNull(op); }

private:
  template <typename Op> static void giveSpan(Op op, const StorageFormat &span);

  IRMapping mapping;
  OwningOpRef<ModuleOp> copy;
  ModuleAnalysisManager manager;
};

struct CodeFix {
  StringRef tried;
  SmallVector<Operation *, 4> ops;
  std::string kind, text;
};

/// The best fix of a finding, the first one where none helps alone, and the
/// error that its output has then.
struct BestFix {
  FindingList::Entry *entry;
  Operation *subject;
  CodeFix fix;
  double error;
};

class CodeFixTrials {
public:
  CodeFixTrials(ModuleOp module, AnalysisManager analyses,
                const OutputEffects &now,
                std::vector<FindingList::Entry> &entries);
  void run();

private:
  std::optional<BestFix> tryFixes(FindingList::Entry &entry);
  void tryTogether(ArrayRef<BestFix> best);
  Operation *subjectOf(const FindingList::Entry &entry) const;
  std::vector<CodeFix> findFixes(Operation *op);
  void addFixes(mp::QuantizeOp op, std::vector<CodeFix> &fixes) const;
  void addFixes(mp::DequantizeOp op, std::vector<CodeFix> &fixes) const;
  void addWritten(mp::DequantizeOp op, std::vector<CodeFix> &fixes) const;
  void addReducedRange(Operation *op, std::vector<CodeFix> &fixes) const;
  void addExclusion(ArrayRef<Operation *> ops,
                    std::vector<CodeFix> &fixes) const;
  void addHead(mp::QuantizeOp op, std::vector<CodeFix> &fixes);
  bool widen(Operation *op, std::optional<WidenedCopy> &copy);
  std::optional<double> errorAfter(ArrayRef<CodeFix> fixes, StringRef output,
                                   WidenedCopy *widened);

  ModuleOp module;
  AnalysisManager analyses;
  const OutputEffects &now;
  const RangeAnalysis &ranges;
  std::vector<FindingList::Entry> &entries;
  size_t left;
  /// Of the module, once a fix asks for them.
  std::optional<std::vector<Head>> heads;
};
} // namespace

CodeFixTrials::CodeFixTrials(ModuleOp module, AnalysisManager analyses,
                             const OutputEffects &now,
                             std::vector<FindingList::Entry> &entries)
    : module(module), analyses(analyses), now(now),
      ranges(analyses.getAnalysis<RangeAnalysis>()), entries(entries) {
  size_t count = 0;
  module.walk([&](Operation *) { ++count; });
  left = std::min(kMostTrials, kMostOps / std::max<size_t>(count, 1));
}

static double errorOf(const OutputEffects &effects, StringRef output) {
  for (const OutputEffect &its : effects.outputs)
    if (its.name == output)
      return its.nonFinite ? kInfinity : its.error.value_or(NAN);
  return NAN;
}

std::optional<double> CodeFixTrials::errorAfter(ArrayRef<CodeFix> fixes,
                                                StringRef output,
                                                WidenedCopy *widened) {
  SmallVector<Operation *, 4> ops;
  for (const CodeFix &fix : fixes)
    for (Operation *op : fix.ops) {
      ops.push_back(widened ? widened->find(op) : op);
      ops.back()->setAttr(kTriedFixAttr,
                          StringAttr::get(op->getContext(), fix.tried));
    }
  double error =
      widened ? errorOf(OutputEffects(widened->get(), widened->analyses(), {}),
                        output)
              : errorOf(OutputEffects(module, analyses, entries), output);
  for (Operation *op : ops)
    op->removeAttr(kTriedFixAttr);
  return std::isnan(error) ? std::nullopt : std::optional(error);
}

template <typename Op>
void WidenedCopy::giveSpan(Op op, const StorageFormat &span) {
  OpBuilder builder(op);
  Type scale = getElementType(op.getScale());
  op.getScaleMutable().assign(
      fixes::makeNumber(builder, op.getLoc(), scale, span.scale));
  if (!op.getZeroPoint())
    return;
  auto zero = RankedTensorType::get({}, getElementType(op.getZeroPoint()));
  APInt code(zero.getElementTypeBitWidth(), uint64_t(int64_t(span.zeroPoint)),
             /*isSigned=*/true, /*implicitTrunc=*/true);
  op.getZeroPointMutable().assign(
      mp::ConstantOp::create(builder, op.getLoc(), zero,
                             DenseElementsAttr::get(zero, code))
          .getResult());
}

/// Widens an op whose ends clip in a copy, which is made for the first one;
/// false where they do not.
bool CodeFixTrials::widen(Operation *op, std::optional<WidenedCopy> &copy) {
  auto quantize = dyn_cast<mp::QuantizeOp>(op);
  if (!quantize)
    if (auto numbers = dyn_cast<mp::DequantizeOp>(op))
      quantize = numbers.getInput().getDefiningOp<mp::QuantizeOp>();
  auto error = quantize
                   ? QuantizationErrors(ranges).errorOf(quantize.getResult())
                   : std::nullopt;
  auto span = quantize ? spanExpected(quantize, /*isWide=*/false, ranges)
                       : std::nullopt;
  // Less than half of the error leaves numbers about as they are.
  constexpr double kMuchClipped = 0.5;
  if (!error || !span ||
      (error->clipped < kMuchClipped &&
       ranges.of(quantize.getScale()).constant() != 0.0))
    return false;
  if (!copy)
    copy.emplace(module);
  copy->widen(quantize, *span);
  return true;
}

//===----------------------------------------------------------------------===//
// The fixes that are tried
//===----------------------------------------------------------------------===//

static std::string describeCodes(const StorageFormat &format) {
  return "scale " + formatNumber(format.scale) + " and zero point " +
         formatNumber(format.zeroPoint + 0.0) + ", for [" +
         formatNumber(format.ends().lo) + ", " +
         formatNumber(format.ends().hi) + "]";
}

/// True if nothing but `ops` and the model's end reads the numbers.
static bool isReadOnlyBy(Value numbers, ArrayRef<Operation *> ops) {
  return llvm::all_of(numbers.getUsers(), [&](Operation *user) {
    return llvm::is_contained(ops, user) ||
           user->hasTrait<OpTrait::IsTerminator>();
  });
}

/// Leaves ops in floats: quantisers keep codes that another op reads.
static CodeFix exclude(ArrayRef<Operation *> ops) {
  CodeFix fix = {kTriedFloats,
                 {},
                 "change-dtype",
                 "leave " + listNames(ops) +
                     " out of quantisation (nodes_to_exclude)"};
  auto addNumbers = [&](mp::DequantizeOp numbers) {
    if (!numbers || !isReadOnlyBy(numbers.getResult(), ops))
      return;
    auto codes = numbers.getInput().getDefiningOp<mp::QuantizeOp>();
    if (isConstant(numbers.getInput()))
      fix.ops.push_back(numbers);
    else if (codes && codes.getResult().hasOneUse())
      fix.ops.push_back(codes);
  };
  for (Operation *op : ops) {
    for (Value operand : op->getOperands())
      addNumbers(getMaker<mp::DequantizeOp>(operand, Peel::Identities));
    for (Value result : op->getResults())
      for (Operation *user : result.getUsers())
        if (auto codes = dyn_cast<mp::QuantizeOp>(user))
          for (Operation *reader : codes.getResult().getUsers())
            addNumbers(dyn_cast<mp::DequantizeOp>(reader));
  }
  return fix;
}

/// The ops that read the numbers for which codes stand, and the one that makes
/// what is quantised.
static SmallVector<Operation *, 4> opsAround(mp::QuantizeOp op) {
  SmallVector<Operation *, 4> ops;
  Operation *maker = getMaker(op.getInput(), Peel::Identities);
  if (maker && !hasRole(maker, Role::Quantization) &&
      !isConstant(op.getInput()))
    ops.push_back(maker);
  for (Operation *numbers : op.getResult().getUsers())
    for (Operation *reader : numbers->getUsers())
      if (isa<mp::DequantizeOp>(numbers) && !llvm::is_contained(ops, reader) &&
          !reader->hasTrait<OpTrait::IsTerminator>())
        ops.push_back(reader);
  return ops;
}

void CodeFixTrials::addFixes(mp::QuantizeOp op,
                             std::vector<CodeFix> &fixes) const {
  auto format = storageFormatOf(op);
  std::string name = "'" + getTensorName(op.getInput()) + "'";
  if (auto range = spanExpected(op, /*isWide=*/false, ranges))
    fixes.push_back({kTriedRange,
                     {op},
                     "scale",
                     "give " + name + " the " + describeCodes(*range)});
  // Codes of more than 8 bits gain nothing by 16.
  constexpr double kCodesOf8Bits = 255;
  if (auto wide = spanExpected(op, /*isWide=*/true, ranges);
      wide && format->codes.hi - format->codes.lo <= kCodesOf8Bits)
    fixes.push_back(
        {kTriedWide,
         {op},
         "change-dtype",
         "quantise " + name + " in 16 bits, " + describeCodes(*wide)});
  addExclusion(opsAround(op), fixes);
}

void CodeFixTrials::addFixes(mp::DequantizeOp op,
                             std::vector<CodeFix> &fixes) const {
  if (findSharedAxis(op))
    fixes.push_back({kTriedChannels,
                     {op},
                     "scale",
                     "give each output channel of '" +
                         getTensorName(op.getInput()) +
                         "' a scale of its own"});
  SmallVector<Operation *, 4> readers(op.getResult().getUsers());
  addExclusion(readers, fixes);
}

/// The numbers that codes stood for where they were written: of a pair the
/// quantiser's scale and zero point, of a bias the sum's.
void CodeFixTrials::addWritten(mp::DequantizeOp op,
                               std::vector<CodeFix> &fixes) const {
  std::string name = "'" + getTensorName(op.getInput()) + "'";
  std::string text;
  if (auto from = findWriter(op)) {
    PairMismatches mismatch = findMismatch(op, from, ranges);
    if (mismatch.scale)
      text = "read " + name + " with the scale " +
             formatNumber(mismatch.scale->first);
    if (mismatch.zeroPoint)
      text += (text.empty() ? "read " + name + " with" : " and") +
              " the zero point " + formatNumber(mismatch.zeroPoint->first);
  } else if (std::vector<double> exact = findExactBias(op, ranges);
             !exact.empty()) {
    auto mismatch = findBiasMismatch(op, ranges);
    double most = 0;
    for (double number : exact)
      most = std::max(most, std::fabs(number));
    if (mismatch && mismatch->scale)
      text = "give the bias " + name + " the scale " +
             formatNumber(mismatch->scale->second);
    else if (mismatch && mismatch->hasZeroPoint)
      text = "give the bias " + name + " the zero point 0";
    else
      text = "give the clipped channels of the weight scales with which the "
             "bias " +
             name + " has a unit of " + formatNumber(most * 0x1p-31) +
             " or more";
  }
  if (!text.empty())
    fixes.push_back({kTriedWritten, {op}, "scale", text});
}

/// Half the weight's codes, and twice its scale.
void CodeFixTrials::addReducedRange(Operation *op,
                                    std::vector<CodeFix> &fixes) const {
  if (ranges.target().codes().pairBits == 0 ||
      !findCodes(op, ranges.target().codes().widestBits))
    return;
  auto weight = op->getNumOperands() > 1
                    ? getMaker<mp::DequantizeOp>(op->getOperand(1),
                                                 Peel::Identities | Peel::Views)
                    : mp::DequantizeOp();
  SmallVector<Operation *, 4> ops = {op};
  if (weight)
    ops.push_back(weight);
  fixes.push_back({kTriedReducedRange, ops, "scale",
                   "quantise the weights of `" + getOpName(op) +
                       "` in 7 bits (reduce_range)"});
}

void CodeFixTrials::addExclusion(ArrayRef<Operation *> ops,
                                 std::vector<CodeFix> &fixes) const {
  // A list of more is a part of the network.
  constexpr size_t kMostExcluded = 4;
  if (ops.empty() || ops.size() > kMostExcluded)
    return;
  if (CodeFix fix = exclude(ops); !fix.ops.empty())
    fixes.push_back(std::move(fix));
}

/// Leaves all codes between the last layers and the output in floats.
void CodeFixTrials::addHead(mp::QuantizeOp op, std::vector<CodeFix> &fixes) {
  if (!heads)
    heads = findHeads(module);
  for (const Head &head : *heads)
    if (llvm::is_contained(head.codes, op)) {
      fixes.push_back({kTriedFloats, head.codes, "change-dtype",
                       "end the quantised part behind " +
                           listNames(head.layers.getArrayRef()) +
                           ": leave the ops that decode their results in "
                           "floats"});
      return;
    }
}

/// A run's scale is chosen for the product that reads the codes.
static Operation *productOf(Operation *op) {
  for (Value result : op->getResults())
    for (Operation *user : result.getUsers())
      if (isa<mp::DynamicQuantizeOp>(op) && getIntegerOperands(user))
        return user;
  return op;
}

std::vector<CodeFix> CodeFixTrials::findFixes(Operation *op) {
  std::vector<CodeFix> fixes;
  if (auto quantize = dyn_cast<mp::QuantizeOp>(op)) {
    addFixes(quantize, fixes);
    addHead(quantize, fixes);
  } else if (auto dequantize = dyn_cast<mp::DequantizeOp>(op)) {
    // Codes that an op makes are mended there, not where they are read.
    addWritten(dequantize, fixes);
    if (auto from = dequantize.getInput().getDefiningOp<mp::QuantizeOp>()) {
      if (fixes.empty())
        return findFixes(from);
    } else {
      addFixes(dequantize, fixes);
    }
  } else if (isa<mp::DynamicQuantizeOp, mp::MatMulNBitsOp,
                 mp::GatherBlockQuantizedOp>(op)) {
    fixes.push_back({kTriedFloats,
                     {op},
                     "change-dtype",
                     "leave `" + getOpName(productOf(op)) +
                         "` out of quantisation (nodes_to_exclude)"});
  } else if (getProductOperands(op)) {
    addReducedRange(op, fixes);
    addExclusion(op, fixes);
  }
  return fixes;
}

/// The op that a finding is about: for one about an output the op whose
/// quantisation causes most of it.
Operation *CodeFixTrials::subjectOf(const FindingList::Entry &entry) const {
  if (!findRule(entry.finding.rule)->byEffect)
    return entry.op;
  for (const OutputEffect &output : now.outputs) {
    if (output.name != entry.finding.effect->output || output.squares.empty())
      continue;
    auto most =
        llvm::max_element(output.squares, [](const auto &lhs, const auto &rhs) {
          return lhs.second < rhs.second;
        });
    return most->first.getDefiningOp();
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Trials
//===----------------------------------------------------------------------===//

static std::string describeError(double error) {
  if (std::isinf(error))
    return "Inf or NaN";
  if (error >= 1)
    return "off by more than its largest value";
  char text[32];
  // Two digits of 99.5 are 1e+02.
  snprintf(text, sizeof text,
           error < 0.995 ? "off by %.2g %%" : "off by %.0f %%", error * 100);
  return text;
}

/// Fixes are found in the order of what they cost a run, and one is worth
/// telling that is better than all before. Those that suffice come in this
/// order, the others the best first.
std::optional<BestFix> CodeFixTrials::tryFixes(FindingList::Entry &entry) {
  StringRef output = entry.finding.effect->output;
  double before = errorOf(now, output), best = before;
  Operation *op = subjectOf(entry);
  if (!op || std::isnan(before))
    return std::nullopt;
  std::vector<Fix> suffice, help;
  std::optional<WidenedCopy> widened;
  std::vector<CodeFix> fixes = findFixes(op);
  if (fixes.empty())
    return std::nullopt;
  BestFix chosen = {&entry, op, fixes.front(), before};
  if (left > 0)
    widen(op, widened);
  for (const CodeFix &fix : fixes) {
    if (left == 0)
      break;
    --left;
    std::optional<double> after =
        errorAfter(fix, output, widened ? &*widened : nullptr);
    if (!after || !(*after < kWorthTelling * best))
      continue;
    best = *after;
    chosen = {&entry, op, fix, best};
    bool isFine = *after < getThreshold(module, kEffectWarning);
    auto &list = isFine ? suffice : help;
    list.insert(isFine ? list.end() : list.begin(),
                Fix{fix.kind,
                    fix.text + ": '" + output.str() + "' is then " +
                        describeError(*after) + ", now " +
                        describeError(before),
                    isFine});
  }
  llvm::append_range(suffice, help);
  for (Fix &fix : suffice) {
    entry.finding.fixes.push_back(std::move(fix));
    entry.actions.emplace_back();
  }
  return chosen;
}

/// Where no fix suffices alone: one of each finding about an output at once,
/// told at the worst one.
void CodeFixTrials::tryTogether(ArrayRef<BestFix> best) {
  if (best.size() < 2)
    return;
  double alone = kInfinity;
  std::vector<CodeFix> all;
  std::string texts;
  std::optional<WidenedCopy> widened;
  for (const BestFix &its : best) {
    alone = std::min(alone, its.error);
    all.push_back(its.fix);
    widen(its.subject, widened);
    // A longer list is cut: the message stays one line.
    constexpr size_t kMostTold = 3;
    if (all.size() <= kMostTold)
      texts += (texts.empty() ? "" : "; ") + its.fix.text;
    else if (all.size() == best.size())
      texts += "; and so for " + std::to_string(all.size() - kMostTold) +
               " more findings";
  }
  StringRef output = best.front().entry->finding.effect->output;
  double enough = getThreshold(module, kEffectWarning);
  if (alone < enough)
    return;
  std::optional<double> after =
      errorAfter(all, output, widened ? &*widened : nullptr);
  if (!after || !(*after < kWorthTelling * alone))
    return;
  FindingList::Entry &entry = *best.front().entry;
  entry.finding.fixes.push_back({all.front().kind,
                                 "all at once: " + texts + ": '" +
                                     output.str() + "' is then " +
                                     describeError(*after),
                                 *after < enough});
  entry.actions.emplace_back();
}

/// The worst findings first, as long as trials are left.
void CodeFixTrials::run() {
  SmallVector<FindingList::Entry *> worth;
  for (FindingList::Entry &entry : entries) {
    const RuleInfo *rule = findRule(entry.finding.rule);
    if (rule && StringRef(rule->family) == "quantization" &&
        entry.finding.effect && entry.finding.certainty >= Certainty::Likely &&
        entry.judged.value_or(entry.finding.severity) > Severity::Note)
      worth.push_back(&entry);
  }
  llvm::stable_sort(worth, [](const auto *lhs, const auto *rhs) {
    return lhs->finding.effect->error > rhs->finding.effect->error;
  });
  llvm::MapVector<StringRef, std::vector<BestFix>> best;
  for (FindingList::Entry *entry : worth)
    if (std::optional<BestFix> fix = tryFixes(*entry)) {
      auto &others = best[entry->finding.effect->output];
      if (llvm::none_of(others, [&](const BestFix &other) {
            return other.subject == fix->subject;
          }))
        others.push_back(std::move(*fix));
    }
  if (!best.empty())
    tryTogether(best.front().second);
}

void mpopt::tryCodeFixes(ModuleOp module, AnalysisManager analyses,
                         const OutputEffects &now,
                         std::vector<FindingList::Entry> &entries) {
  CodeFixTrials(module, analyses, now, entries).run();
}
