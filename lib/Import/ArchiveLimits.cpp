//===- ArchiveLimits.cpp - Archives that ask for too much -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Import/ArchiveLimits.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

using namespace mpopt;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;

// Limits that no honest archive reaches, and that bound the cost of checks.
static constexpr size_t kMaxMembers = 1 << 17;
static constexpr uint64_t kMaxInflated = 1ull << 32;
/// Deflate packs no byte into less than a 1032nd.
static constexpr uint64_t kMostPacked = 1032;

static Error fail(const Twine &text) {
  return llvm::createStringError(text.str());
}

std::string mpopt::quoteName(StringRef name) {
  std::string result = "'";
  for (char c : name.take_front(100))
    result += llvm::isPrint(c) ? c : '?';
  return result + "'";
}

Error mpopt::checkMembers(llvm::ArrayRef<ZipMember> members) {
  if (members.size() > kMaxMembers)
    return fail("has more than " + Twine(kMaxMembers) + " members");
  uint64_t inflated = 0;
  for (const ZipMember &member : members) {
    if (member.method == 0 && !member.isStored())
      return fail("has a damaged member " + quoteName(member.name));
    if (member.method == 0)
      continue;
    inflated += member.size;
    if (member.method != 8 || inflated > kMaxInflated ||
        member.size / kMostPacked > member.bytes.size())
      return fail("has a member " + quoteName(member.name) +
                  " that unpacks to far more than it holds");
  }
  return Error::success();
}

Error mpopt::checkOverlaps(std::vector<std::pair<uint64_t, uint64_t>> ranges) {
  llvm::sort(ranges);
  for (size_t index = 1; index < ranges.size(); ++index)
    if (ranges[index].first < ranges[index - 1].second)
      return fail("has members that overlap");
  return Error::success();
}
