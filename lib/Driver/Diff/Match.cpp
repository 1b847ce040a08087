//===- Match.cpp - Which op of one model is which of another ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The alignment is that of Cohen's patience diff: of two ranges the equal ends
// are paired, then ops whose structure is found once in either range, as many
// as keep their order; and so on between those.
//
//===----------------------------------------------------------------------===//

#include "Match.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mpopt;
using namespace mpopt::diffing;
using llvm::StringRef;

/// Ops that are looked at for a partner of one kind: it is not far.
static constexpr size_t kMostBetween = 64;

/// The fingerprint less the number that tells equal ones apart.
static std::string getStructure(const DiffOp &op) {
  auto [print, rest] = StringRef(op.fingerprint).split(' ');
  auto [head, number] = print.rsplit('-');
  bool isNumbered = !number.empty() && llvm::all_of(number, [](char c) {
    return llvm::isDigit(c);
  }) && number.size() < 16;
  return ((isNumbered ? head : print) + " " + rest).str();
}

namespace {
struct Ranges {
  size_t beginA, endA, beginB, endB;
};

class Matcher {
public:
  Matcher(llvm::ArrayRef<DiffOp> a, llvm::ArrayRef<DiffOp> b) : a(a), b(b) {
    matches.ofA.assign(a.size(), -1);
    matches.ofB.assign(b.size(), -1);
  }

  void align();
  void matchByKey(llvm::function_ref<std::string(const DiffOp &)> key);
  void matchBetween();

  OpMatches matches;

private:
  void pair(size_t first, size_t second) {
    matches.ofA[first] = int64_t(second);
    matches.ofB[second] = int64_t(first);
  }
  std::vector<Ranges> alignRange(Ranges range);
  /// Pairs of ops whose structure is in either range once, in the order of A.
  std::vector<std::pair<size_t, size_t>> findUnique(const Ranges &range) const;

  llvm::ArrayRef<DiffOp> a, b;
  /// By op: a number that equal structures share.
  std::vector<unsigned> structureA, structureB;
};
} // namespace

std::vector<std::pair<size_t, size_t>>
Matcher::findUnique(const Ranges &range) const {
  struct Places {
    unsigned inA = 0, inB = 0;
    size_t b = 0;
  };
  llvm::DenseMap<unsigned, Places> places;
  for (size_t first = range.beginA; first < range.endA; ++first)
    ++places[structureA[first]].inA;
  for (size_t second = range.beginB; second < range.endB; ++second) {
    Places &entry = places[structureB[second]];
    ++entry.inB;
    entry.b = second;
  }
  std::vector<std::pair<size_t, size_t>> pairs;
  for (size_t first = range.beginA; first < range.endA; ++first) {
    const Places &entry = places[structureA[first]];
    if (entry.inA == 1 && entry.inB == 1)
      pairs.emplace_back(first, entry.b);
  }
  return pairs;
}

/// The longest part of the pairs, in the order of A, that ascends in B.
static std::vector<std::pair<size_t, size_t>>
findAscending(llvm::ArrayRef<std::pair<size_t, size_t>> pairs) {
  // By length less one: the last pair of the run of that length that ends
  // first.
  std::vector<size_t> ends;
  std::vector<int64_t> before(pairs.size(), -1);
  for (size_t index = 0; index < pairs.size(); ++index) {
    auto place = llvm::partition_point(ends, [&](size_t end) {
      return pairs[end].second < pairs[index].second;
    });
    if (place != ends.begin())
      before[index] = int64_t(*std::prev(place));
    if (place == ends.end())
      ends.push_back(index);
    else
      *place = index;
  }
  std::vector<std::pair<size_t, size_t>> run;
  for (int64_t at = ends.empty() ? -1 : int64_t(ends.back()); at >= 0;
       at = before[size_t(at)])
    run.push_back(pairs[size_t(at)]);
  std::reverse(run.begin(), run.end());
  return run;
}

/// The ranges that are still to be aligned.
std::vector<Ranges> Matcher::alignRange(Ranges range) {
  auto &[beginA, endA, beginB, endB] = range;
  while (beginA < endA && beginB < endB &&
         structureA[beginA] == structureB[beginB])
    pair(beginA++, beginB++);
  while (beginA < endA && beginB < endB &&
         structureA[endA - 1] == structureB[endB - 1])
    pair(--endA, --endB);
  std::vector<Ranges> rest;
  if (beginA == endA || beginB == endB)
    return rest;
  auto anchors = findAscending(findUnique(range));
  if (anchors.empty())
    return rest;
  Ranges next = range;
  for (auto [first, second] : anchors) {
    pair(first, second);
    rest.push_back({next.beginA, first, next.beginB, second});
    next.beginA = first + 1;
    next.beginB = second + 1;
  }
  rest.push_back(next);
  return rest;
}

void Matcher::align() {
  llvm::StringMap<unsigned> numbers;
  auto number = [&](llvm::ArrayRef<DiffOp> ops, std::vector<unsigned> &list) {
    for (const DiffOp &op : ops)
      list.push_back(
          numbers.try_emplace(getStructure(op), numbers.size()).first->second);
  };
  number(a, structureA);
  number(b, structureB);
  std::vector<Ranges> open = {{0, a.size(), 0, b.size()}};
  while (!open.empty()) {
    Ranges range = open.back();
    open.pop_back();
    if (range.beginA < range.endA && range.beginB < range.endB)
      llvm::append_range(open, alignRange(range));
  }
}

void Matcher::matchByKey(llvm::function_ref<std::string(const DiffOp &)> key) {
  llvm::StringMap<size_t> known;
  for (size_t second = 0; second < b.size(); ++second)
    if (matches.ofB[second] < 0)
      if (std::string text = key(b[second]); !text.empty())
        known.try_emplace(text, second);
  for (size_t first = 0; first < a.size(); ++first) {
    if (matches.ofA[first] >= 0)
      continue;
    auto found = known.find(key(a[first]));
    if (found == known.end())
      continue;
    pair(first, found->second);
    known.erase(found);
  }
}

void Matcher::matchBetween() {
  int64_t place = -1;
  for (size_t first = 0; first < a.size(); ++first) {
    if (matches.ofA[first] >= 0) {
      place = matches.ofA[first];
      continue;
    }
    size_t end = std::min(b.size(), size_t(place + 1) + kMostBetween);
    for (size_t second = size_t(place + 1); second < end; ++second) {
      if (matches.ofB[second] >= 0)
        break;
      if (a[first].type != b[second].type || a[first].fingerprint.empty() ||
          b[second].fingerprint.empty() ||
          a[first].isGradient != b[second].isGradient)
        continue;
      pair(first, second);
      place = int64_t(second);
      break;
    }
  }
}

OpMatches diffing::matchOps(llvm::ArrayRef<DiffOp> a,
                            llvm::ArrayRef<DiffOp> b) {
  Matcher matcher(a, b);
  // Modules of a training have names, and no graph is known: where one side
  // lacks it, names are what both have.
  auto hasStructure = [](const DiffOp &op) { return !op.fingerprint.empty(); };
  bool bothHave =
      llvm::any_of(a, hasStructure) && llvm::any_of(b, hasStructure);
  if (bothHave) {
    matcher.align();
    matcher.matchByKey([](const DiffOp &op) { return op.fingerprint; });
    matcher.matchBetween();
  }
  matcher.matchByKey([&](const DiffOp &op) {
    return bothHave && hasStructure(op)
               ? std::string()
               : op.name + (op.isGradient ? "\ngradient" : "\nvalue");
  });
  return std::move(matcher.matches);
}

OpMatches diffing::matchFound(llvm::ArrayRef<DiffOp> a,
                              llvm::ArrayRef<DiffOp> b) {
  Matcher matcher(a, b);
  matcher.matchByKey([](const DiffOp &op) { return op.fingerprint; });
  return std::move(matcher.matches);
}
