//===- Archive.cpp - Whether an archive may be given to LibTorch ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Import/TorchScript/Archive.h"

#include "mpopt/Import/ArchiveLimits.h"
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
static constexpr uint64_t kMaxText = 64 << 20;     // one pickle or source
static constexpr uint64_t kMaxAllText = 256 << 20; // all of them

static Error fail(const Twine &text) {
  return llvm::createStringError(text.str());
}

/// Harmless functions without a namespace, or of the compiler itself.
static constexpr StringRef kFunctions[] = {"",
                                           "annotate",
                                           "unchecked_cast",
                                           "uninitialized",
                                           "int",
                                           "float",
                                           "bool",
                                           "str",
                                           "isinstance",
                                           "ops.prim.RaiseException"};
/// Harmless functions of `torch`.
static constexpr StringRef kTensorFunctions[] = {
    "_make_per_channel_quantized_tensor",
    "_make_per_tensor_quantized_tensor",
    "__contains__",
    "__getitem__",
    "__is__",
    "__isnot__",
    "__not__",
    "append",
    "clone",
    "contiguous",
    "dequantize",
    "detach",
    "dim",
    "dtype",
    "eq",
    "flatten",
    "format",
    "ge",
    "gt",
    "int_repr",
    "is_floating_point",
    "is_quantized",
    "item",
    "le",
    "len",
    "list",
    "lt",
    "ne",
    "numel",
    "permute",
    "q_per_channel_axis",
    "q_per_channel_scales",
    "q_per_channel_zero_points",
    "q_scale",
    "q_zero_point",
    "qscheme",
    "quantize_per_channel",
    "quantize_per_tensor",
    "reshape",
    "select",
    "size",
    "slice",
    "squeeze",
    "t",
    "to",
    "transpose",
    "unsqueeze",
    "view"};

/// True for functions that compute on what they are given and do nothing else:
/// they look at tensors, move their elements, quantise them or pack them. An
/// exception ends the load with an error.
static bool isHarmless(StringRef callee) {
  for (StringRef space : {"ops.quantized.", "ops.prepacked.", "ops.sparse.",
                          "ops.onednn.", "ops.mkldnn_prepacked."})
    if (callee.starts_with(space))
      return callee.contains("_prepack") || callee.contains("_unpack") ||
             callee.contains("make_quantized_cell_params");
  if (callee.consume_front("torch."))
    return llvm::is_contained(kTensorFunctions, callee);
  return llvm::is_contained(kFunctions, callee);
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
      if (callee == ".set_weight_bias") {
        delegates = true;
        continue;
      }
      if (!isHarmless(callee))
        return fail("has a __setstate__ method that calls " +
                    quoteName(callee) + ", which loading it would run");
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
  if (Error error = checkMembers(*members))
    return std::move(error);
  ArchiveFacts facts;
  uint64_t text = 0;
  bool setsState = false;
  for (const ZipMember &member : *members) {
    StringRef name = member.name;
    bool isPickle = name.ends_with(".pkl") || name.ends_with("_pkl");
    bool isSource = name.ends_with(".py");
    if (isPickle || isSource) {
      text += member.size;
      if (member.size > kMaxText || text > kMaxAllText)
        return fail("has more code and structure than any model: " +
                    quoteName(name));
      Expected<std::string> unpacked = unpackZipMember(member);
      if (!unpacked)
        return unpacked.takeError();
      if (Error error = isPickle ? inspectPickle(*unpacked)
                                 : inspectSource(*unpacked, setsState))
        return fail(llvm::toString(std::move(error)) + " (in " +
                    quoteName(name) + ")");
    } else if (member.isStored() && isTensorRecord(name) && member.size) {
      facts.weights.push_back({member.offset, member.offset + member.size});
      if (name.rsplit('/').first.ends_with("data"))
        facts.attributes.push_back(facts.weights.back());
    }
  }
  llvm::sort(facts.weights);
  llvm::sort(facts.attributes);
  if (Error error = checkOverlaps(facts.weights))
    return std::move(error);
  if (setsState) {
    facts.weights.clear();
    facts.attributes.clear();
  }
  return facts;
}
