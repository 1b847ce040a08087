//===- Archive.cpp - Whether an archive may be given to LibTorch ----------===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpopt/Import/TorchScript/Archive.h"

#include "mpopt/Support/ZipFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

using namespace mpopt;
using namespace mpopt::torchscript;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

// Limits that no honest archive reaches, and that bound the cost of checks.
static constexpr size_t kMaxMembers = 1 << 17;
static constexpr uint64_t kMaxText = 64 << 20;     // one pickle or source
static constexpr uint64_t kMaxAllText = 256 << 20; // all of them
static constexpr uint64_t kMaxInflated = 1ull << 32;

static Error fail(const Twine &text) {
  return llvm::createStringError(text.str());
}

/// Names in messages come from the file.
static std::string quote(StringRef name) {
  std::string result = "'";
  for (char c : name.take_front(100))
    result += llvm::isPrint(c) ? c : '?';
  return result + "'";
}

/// Looks at the body of every method that `head` begins. `delegates` is set if
/// one calls `self.set_weight_bias`, as PyTorch's quantised convolutions do.
static Error inspectMethods(StringRef source, StringRef head, bool &found,
                            bool &delegates) {
  size_t at = 0;
  while ((at = source.find(head, at)) != StringRef::npos) {
    found = true;
    size_t begin = source.find('\n', at);
    if (begin == StringRef::npos)
      break;
    // The body ends at the next line that is indented no further than `def`.
    size_t line = source.rfind('\n', at);
    size_t indent = at - (line == StringRef::npos ? 0 : line + 1);
    size_t end = begin + 1;
    while (end < source.size()) {
      size_t next = source.find('\n', end);
      StringRef text = source.slice(end, next);
      if (!text.trim().empty() && text.size() - text.ltrim().size() <= indent)
        break;
      end = next == StringRef::npos ? source.size() : next + 1;
    }
    StringRef body = source.slice(begin, end);
    for (size_t open = body.find('('); open != StringRef::npos;
         open = body.find('(', open + 1)) {
      StringRef callee = body.take_front(open);
      callee = callee.take_back(
          callee.size() - (callee.find_last_not_of("abcdefghijklmnopqrstuvwxyz"
                                                   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                   "0123456789_.") +
                           1));
      bool packs =
          callee.starts_with("ops.quantized.") &&
          (callee.ends_with("_prepack") || callee.ends_with("_unpack"));
      static constexpr StringRef kHarmless[] = {
          "",     "annotate", "unchecked_cast", "int", "float",
          "bool", "str",      "torch.eq"};
      if (callee == ".set_weight_bias") {
        delegates = true;
        continue;
      }
      if (!packs && !llvm::is_contained(kHarmless, callee))
        return fail("has a __setstate__ method that calls " + quote(callee) +
                    ", which loading it would run");
    }
    for (StringRef keyword : {"while ", "for "})
      if (body.contains(("\n" + Twine(keyword)).str()) ||
          body.contains((" " + Twine(keyword)).str()))
        return fail("has a __setstate__ method with a loop, which loading it "
                    "would run");
    at = end;
  }
  return Error::success();
}

Error mpopt::torchscript::inspectSource(StringRef source, bool &found) {
  bool delegates = false, defined = false, again = false;
  if (Error error =
          inspectMethods(source, "def __setstate__", found, delegates))
    return error;
  if (!delegates)
    return Error::success();
  // A class is in one file, so what `self` calls is here, too.
  if (Error error =
          inspectMethods(source, "def set_weight_bias", defined, again))
    return error;
  if (!defined || again)
    return fail("has a __setstate__ method that calls 'set_weight_bias', which "
                "loading it would run");
  return Error::success();
}

/// A tensor's record: `NAME/data/0`, `NAME/constants/3`.
static bool isTensorRecord(StringRef name) {
  auto [folder, leaf] = name.rsplit('/');
  uint64_t number;
  return (folder.ends_with("/data") || folder.ends_with("/constants") ||
          folder == "data" || folder == "constants") &&
         !leaf.getAsInteger(10, number);
}

Expected<ArchiveFacts> mpopt::torchscript::inspectArchive(StringRef bytes) {
  Expected<std::vector<ZipMember>> members = readZipDirectory(bytes);
  if (!members)
    return members.takeError();
  if (members->size() > kMaxMembers)
    return fail("has more than " + Twine(kMaxMembers) + " members");
  ArchiveFacts facts;
  uint64_t text = 0, inflated = 0;
  bool setsState = false;
  for (const ZipMember &member : *members) {
    StringRef name = member.name;
    if (member.method == 0 && !member.isStored())
      return fail("has a damaged member " + quote(name));
    if (member.method != 0) {
      inflated += member.size;
      if (member.method != 8 || inflated > kMaxInflated ||
          member.size / 1032 > member.bytes.size())
        return fail("has a member " + quote(name) +
                    " that unpacks to far more than it holds");
    }
    bool isPickle = name.ends_with(".pkl") || name.ends_with("_pkl");
    bool isSource = name.ends_with(".py");
    if (isPickle || isSource) {
      text += member.size;
      if (member.size > kMaxText || text > kMaxAllText)
        return fail("has more code and structure than any model: " +
                    quote(name));
      Expected<std::string> unpacked = unpackZipMember(member);
      if (!unpacked)
        return unpacked.takeError();
      if (Error error = isPickle ? inspectPickle(*unpacked)
                                 : inspectSource(*unpacked, setsState))
        return fail(llvm::toString(std::move(error)) + " (in " + quote(name) +
                    ")");
    } else if (member.isStored() && isTensorRecord(name) && member.size) {
      facts.weights.push_back({member.offset, member.offset + member.size});
      if (name.rsplit('/').first.ends_with("data"))
        facts.attributes.push_back(facts.weights.back());
    }
  }
  llvm::sort(facts.weights);
  llvm::sort(facts.attributes);
  for (size_t index = 1; index < facts.weights.size(); ++index)
    if (facts.weights[index].first < facts.weights[index - 1].second)
      return fail("has members that overlap");
  if (setsState) {
    facts.weights.clear();
    facts.attributes.clear();
  }
  return facts;
}
