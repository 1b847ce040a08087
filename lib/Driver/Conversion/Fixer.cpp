//===- Fixer.cpp - A model with the fixes that trials proved
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fix is made on a copy of the module, as in its trial, and the file gets
// what the copy has otherwise (OnnxConverter::change). The fixes of a round
// change different ops. First come those that compute the same function, then
// numbers, then limits, which are needed only for what is left. A limit inside
// of a function's domain, which f32 has numbers past, is not safe.
//
//===----------------------------------------------------------------------===//

#include "Fixer.h"

#include "Shapes.h"

#include "mpopt/Report/RuleTable.h"
#include "mpopt/Support/Printable.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mpopt;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

/// A fix may be the cause of one more finding, which has one of its own. More
/// rounds than kinds of fixes a result has not needed.
static constexpr unsigned kMostRounds = 8;

/// The round of a kind, among those that are left.
static unsigned rankOf(const FixAction &action) {
  using Kind = FixAction::Kind;
  if (action.kind == Kind::ClampOperand)
    return 2;
  return getLimits(action) ? 1 : 0;
}

static std::string keyOf(const TriedFix &fix) {
  return fix.rule + "\n" + fix.op + "\n" + fix.text;
}

bool Fixer::mayTake(const TriedFix &fix) const {
  using Kind = FixAction::Kind;
  Kind kind = fix.action.kind;
  return kind != Kind::None && kind != Kind::Keep &&
         kind != Kind::DeclareStep && (fix.safe || options.unsafeFixes) &&
         !done.count(keyOf(fix)) && !refused.count(keyOf(fix));
}

/// Makes the fixes on a copy of the module, and in the file if `writes`.
Expected<ModelDiff> Fixer::make(mlir::ModuleOp module,
                                llvm::ArrayRef<const TriedFix *> fixes,
                                bool writes) {
  mlir::IRMapping mapping;
  // Destroyed after the copy, which may refer to the ops.
  RetiredOps retired;
  mlir::OwningOpRef<mlir::ModuleOp> copy =
      mlir::cast<mlir::ModuleOp>(module->clone(mapping));
  auto find = [&](mlir::Operation *op) { return mapping.lookupOrNull(op); };
  for (const TriedFix *fix : fixes)
    if (!applyFix(fix->action, find, retired))
      return llvm::createStringError("another fix has changed it");
  ModuleCopy pair{module, *copy, mapping};
  return writes ? converter->change(pair) : converter->describeChange(pair);
}

/// The first fix of each finding that has a form in the file, of the lowest
/// rank, and of different ops.
std::vector<Fixer::Chosen> Fixer::choose(mlir::ModuleOp module,
                                         llvm::ArrayRef<TriedFix> fixes) {
  for (unsigned rank : {0u, 1u, 2u}) {
    std::vector<Chosen> chosen;
    std::set<size_t> findings;
    llvm::DenseSet<mlir::Operation *> ops;
    for (const TriedFix &fix : fixes) {
      if (rankOf(fix.action) != rank || !mayTake(fix) ||
          findings.count(fix.finding))
        continue;
      // A later round finds them again, if they are still needed. Numbers that
      // several findings want raised are raised to the largest.
      bool isShared = rank != 1 && llvm::any_of(fix.action.ops, [&](auto *op) {
                        return ops.contains(op);
                      });
      if (isShared)
        continue;
      Expected<ModelDiff> diff = make(module, {&fix}, /*writes=*/false);
      if (!diff) {
        refused.insert(keyOf(fix));
        notes.push_back("'" + fix.op + "' is left as it is (" + fix.text +
                        "): " + llvm::toString(diff.takeError()));
        continue;
      }
      if (diff->empty())
        continue;
      findings.insert(fix.finding);
      ops.insert(fix.action.ops.begin(), fix.action.ops.end());
      chosen.push_back({&fix, llvm::join(*diff, "\n")});
    }
    if (!chosen.empty())
      return chosen;
  }
  return {};
}

bool Fixer::runRound(mlir::ModuleOp module, llvm::ArrayRef<TriedFix> fixes) {
  std::vector<Chosen> chosen = choose(module, fixes);
  // Those that do not go together wait for the next round.
  for (; !chosen.empty(); chosen.pop_back()) {
    std::vector<const TriedFix *> together;
    for (const Chosen &one : chosen)
      together.push_back(one.fix);
    Expected<ModelDiff> diff = make(module, together, /*writes=*/true);
    if (!diff) {
      llvm::consumeError(diff.takeError());
      continue;
    }
    ofRound.clear();
    for (const Chosen &one : chosen) {
      done.insert(keyOf(*one.fix));
      ofRound.push_back(keyOf(*one.fix));
      changes[one.diff].push_back(one.fix->rule + " at " + one.fix->op + ": " +
                                  one.fix->text +
                                  (one.fix->safe ? "" : " (not safe)"));
    }
    return true;
  }
  return false;
}

/// The result may have the faults of the model.
Error Fixer::checkResult() {
  std::string stale, fault = converter->findFault(stale);
  if (!stale.empty() && !staleBefore.empty()) {
    converter->mendShapes();
    stale.clear();
  }
  if (!faultBefore.empty())
    return Error::success();
  if (fault.empty())
    fault = stale;
  return fault.empty()
             ? Error::success()
             : llvm::createStringError(
                   "the result would not be valid, a fault of mpopt: " + fault);
}

static size_t countAboveNotes(const ModelReport &report) {
  return llvm::count_if(report.findings, [](const Finding &finding) {
    return finding.severity > Severity::Note;
  });
}

bool Fixer::isWorse(const std::optional<ModelReport> &before) const {
  return before && countAboveNotes(*last) > countAboveNotes(*before);
}

Error Fixer::open() {
  Expected<OnnxConverter> opened = OnnxConverter::open(bytes, path);
  if (!opened)
    return opened.takeError();
  pending.reset();
  converter.emplace(std::move(*opened));
  pending.emplace(*converter, output);
  faultBefore = converter->findFault(staleBefore);
  changes.clear();
  done.clear();
  return Error::success();
}

/// False if a round made findings that were not there, whose fixes are refused.
Expected<bool> Fixer::runRounds() {
  std::string at = path.str();
  std::optional<ModelReport> before;
  for (unsigned round = 0;; ++round) {
    bool isChanged = false;
    auto fixed = [&](mlir::ModuleOp module, llvm::ArrayRef<TriedFix> fixes) {
      shapes = listInputShapes(module);
      isChanged = round < kMostRounds && runRound(module, fixes);
    };
    CheckHooks hooks;
    hooks.fixed = fixed;
    before = std::move(last);
    std::vector<std::string> made = ofRound;
    last = checkModel(options, at, hooks);
    if (!last)
      return llvm::createStringError("");
    // `unsafeFixes` asks for fixes that bring findings of their own.
    if (round > 0 && !options.unsafeFixes && isWorse(before)) {
      refused.insert(made.begin(), made.end());
      return false;
    }
    if (!isChanged)
      return true;
    if (Error error = checkResult())
      return std::move(error);
    if (Error error = pending->write())
      return std::move(error);
    at = pending->path();
  }
}

Error Fixer::run() {
  // Each time more is refused; what was found of the model is the same.
  while (true) {
    if (Error error = open())
      return error;
    Expected<bool> isBetter = runRounds();
    if (!isBetter)
      return isBetter.takeError();
    if (*isBetter)
      return Error::success();
  }
}

void Fixer::print(llvm::raw_ostream &os) const {
  for (const auto &[diff, reasons] : changes) {
    for (StringRef line : llvm::split(diff, '\n'))
      os << printable(line) << '\n';
    for (const std::string &reason : reasons)
      os << "  " << printable(reason) << '\n';
  }
}

std::vector<std::string> Fixer::listReasons() const {
  std::vector<std::string> all;
  for (const auto &[diff, reasons] : changes)
    llvm::append_range(all, reasons);
  return all;
}
