//===- Fold.cpp - Many findings, few things to say
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Report/Fold.h"

#include "mpopt/Report/RuleTable.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <cmath>
#include <map>
#include <set>
#include <tuple>

using namespace mpopt;
using llvm::StringRef;

std::string mpopt::foldDigits(StringRef text) {
  std::string folded;
  for (char c : text) {
    if (!llvm::isDigit(c))
      folded += c;
    else if (folded.empty() || folded.back() != '#')
      folded += '#';
  }
  return folded;
}

// The numbers in a name, in order.
static llvm::SmallVector<StringRef> getNumbers(StringRef text) {
  llvm::SmallVector<StringRef> numbers;
  while (!text.empty()) {
    StringRef number = text.take_while(llvm::isDigit);
    if (!number.empty())
      numbers.push_back(number);
    text = text.drop_front(number.size()).drop_while([](char c) {
      return !llvm::isDigit(c);
    });
  }
  return numbers;
}

// True if exactly one number in the names counts through, all different, and
// stands in a path (`Relu_1`, `Relu_2` are just unnamed nodes).
static bool areLayers(const std::vector<const Finding *> &members) {
  if (members.size() < 2)
    return false;
  StringRef name = members.front()->op.name;
  if (!name.contains('/') && !name.contains('.'))
    return false;
  llvm::SmallVector<std::set<StringRef>> values(getNumbers(name).size());
  for (const Finding *member : members)
    for (auto [set, number] :
         llvm::zip_equal(values, getNumbers(member->op.name)))
      set.insert(number);
  unsigned varying =
      llvm::count_if(values, [](const auto &set) { return set.size() > 1; });
  return varying == 1 && llvm::any_of(values, [&](const auto &set) {
           return set.size() == members.size();
         });
}

unsigned FindingGroup::size() const {
  unsigned total = 0;
  for (const FoldedFinding &fold : folded)
    total += fold.members.size();
  return total;
}

std::vector<ShownFinding> mpopt::listShown(llvm::ArrayRef<Finding> findings) {
  llvm::StringMap<const Finding *> present;
  for (const Finding &finding : findings)
    present[finding.fingerprint] = &finding;
  // A consequence is hidden only if its root is there to speak for it, and as
  // loudly.
  auto findSpeaker = [&](const Finding &finding) -> const Finding * {
    const Finding *root =
        finding.root.empty() ? nullptr : present.lookup(finding.root);
    return root && root != &finding && root->root.empty() &&
                   root->standing == finding.standing &&
                   root->severity >= finding.severity
               ? root
               : nullptr;
  };
  std::vector<ShownFinding> shown;
  llvm::DenseMap<const Finding *, size_t> places;
  for (const Finding &finding : findings)
    if (!findSpeaker(finding)) {
      places[&finding] = shown.size();
      shown.push_back({&finding, {}, finding.severity});
    }
  for (const Finding &finding : findings)
    if (const Finding *root = findSpeaker(finding)) {
      ShownFinding &speaker = shown[places.lookup(root)];
      ++speaker.followers[finding.rule];
      speaker.worst = std::max(speaker.worst, finding.severity);
    }
  return shown;
}

std::vector<FindingGroup>
mpopt::groupFindings(llvm::ArrayRef<Finding> findings) {
  // Worst and surest first: negated, since the keys sort upwards.
  using GroupKey = std::tuple<int, int, std::string>;
  std::map<GroupKey, FindingGroup> groups;
  std::map<GroupKey, llvm::StringMap<size_t>> indices;
  for (const ShownFinding &shown : listShown(findings)) {
    const Finding &finding = *shown.finding;
    if (!finding.counts())
      continue;
    GroupKey key{-int(finding.severity), -int(finding.certainty), finding.rule};
    FindingGroup &group = groups[key];
    group.rule = finding.rule;
    group.severity = finding.severity;
    group.certainty = finding.certainty;

    std::string like = llvm::join_items(
        '\n', finding.op.type, finding.dtype, foldDigits(finding.op.name),
        foldDigits(finding.message), foldDigits(finding.op.scope));
    auto [place, isNew] = indices[key].try_emplace(like, group.folded.size());
    if (isNew)
      group.folded.emplace_back();
    FoldedFinding &fold = group.folded[place->second];
    fold.members.push_back(&finding);
    for (const auto &[rule, count] : shown.followers) {
      fold.consequences += count;
      fold.followers[rule] += count;
    }
  }

  std::vector<FindingGroup> sorted;
  for (auto &[key, group] : groups) {
    for (FoldedFinding &fold : group.folded)
      fold.layers = areLayers(fold.members);
    sorted.push_back(std::move(group));
  }
  // Digits are of no use in outputs that are expected to be Inf or NaN. What a
  // list says of an op does not say what is wrong here.
  auto weight = [](const FindingGroup &group) {
    bool endsInInf = llvm::any_of(group.folded, [](const FoldedFinding &fold) {
      return llvm::any_of(fold.members, [](const Finding *finding) {
        return finding->effect && std::isinf(finding->effect->error);
      });
    });
    bool saysWhy = group.severity == Severity::Note || !isByList(group.rule);
    return std::tuple(int(group.severity), endsInInf, saysWhy);
  };
  llvm::stable_sort(sorted,
                    [&](const FindingGroup &lhs, const FindingGroup &rhs) {
                      return weight(lhs) > weight(rhs);
                    });
  return sorted;
}
