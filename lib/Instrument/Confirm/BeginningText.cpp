//===- BeginningText.cpp - Where NaN and Inf began, in words --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SeenText.h"

#include "llvm/ADT/StringExtras.h"

using namespace mpopt;
using namespace mpopt::confirming;
using llvm::StringRef;

// Limits of long lists; JSON has everything.
static constexpr size_t kMaxFew = 5;

/// `step 3`, or `its call 3` where only the probe's own calls are known.
static std::string describeStep(uint64_t step, bool shared) {
  return (shared ? "step " : "its call ") + std::to_string(step);
}

std::string BeginningText::describe(int64_t probe) const {
  return describeSeen(sights[probe], plan.probes[probe].tensor.dtype,
                      getNoun(areGradients));
}

void BeginningText::writeBefore(const FirstBad &first) const {
  for (int64_t probe : llvm::ArrayRef(first.before).take_front(kMaxFew)) {
    const BadValues &own = bad[probe];
    std::string text =
        describeProbe(plan.probes[probe]) + ": " + describe(probe);
    if (own.step)
      text += ", bad from " + describeStep(*own.step, own.sharesSteps) + " on";
    os << "  - before it, ";
    style.wrap(text, 4, 14);
  }
  if (first.before.size() > kMaxFew)
    os << "  - and " << first.before.size() - kMaxFew << " more\n";
}

void BeginningText::writeOthers(llvm::ArrayRef<FirstBad> others) const {
  for (const FirstBad &other : others.take_front(kMaxFew)) {
    std::string text = describeProbe(plan.probes[other.probe]) + ", " +
                       describeStep(other.step, other.sharesSteps);
    if (other.reaches == Reach::Nothing)
      text += ": nothing came of it";
    os << "  - also began at ";
    style.wrap(text, 4, 18);
  }
  if (others.size() > kMaxFew)
    os << "  - and at " << others.size() - kMaxFew
       << " more (--format json lists all)\n";
}

void BeginningText::write(llvm::ArrayRef<FirstBad> beginnings) const {
  if (beginnings.empty())
    return;
  const FirstBad &first = beginnings.front();
  StringRef title = areGradients    ? "first bad gradient"
                    : first.isInput ? "bad input"
                                    : "first bad op";
  os << '\n';
  style.severity(Severity::Error, title);
  os << ": ";
  style.bold((areGradients ? "of " : "") +
             describeProbe(plan.probes[first.probe]));
  os << ", " << describeStep(first.step, first.sharesSteps) << '\n';
  os.indent(2);
  style.wrap(first.why, 2);
  os.indent(2);
  style.wrap(describe(first.probe), 2);
  if (first.chain.size() > (areGradients ? 0 : 1)) {
    os << "  on the way there: ";
    style.wrap((areGradients ? "backward of " : "") +
                   llvm::join(first.chain, " -> "),
               4, 20);
  }
  writeBefore(first);
  writeOthers(beginnings.drop_front());
}
