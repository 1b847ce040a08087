//===- Missing.cpp - MP616: a scale that its siblings have ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Siblings of a module are those whose names differ in numbers only. Of one
// list (experts, or the layers of a model without experts) one with the scale
// is enough where lists lie within lists; among all layers half have to have
// it, since layers may be left out of quantisation. Shards that servers join
// are siblings as well.
//
//===----------------------------------------------------------------------===//

#include "Judge.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <set>

using namespace mpopt;
using namespace mpopt::checkpoints;
using llvm::StringRef;

namespace {
/// Modules of one pattern, and how many of them have each scale.
struct Siblings {
  unsigned modules = 0;
  std::array<unsigned, kRoles> having{};
  std::array<std::string, kRoles> example;

  void add(const std::string &name, const Module &module) {
    ++modules;
    for (size_t role = 0; role < kRoles; ++role)
      if (module.scales[role] && !having[role]++)
        example[role] = module.scales[role].tensor->name;
  }
};
} // namespace

/// Scales of keys and values are of modules that hold no codes.
static bool isOfCodes(size_t role) { return role <= size_t(ScaleRole::Input); }

static StringRef describe(size_t role) {
  switch (ScaleRole(role)) {
  case ScaleRole::Weight:
    return "its codes stand for no numbers";
  case ScaleRole::Second:
    return "the scales of its blocks are read without the one that is common "
           "to them";
  case ScaleRole::Input:
    return "a server reads uninitialised memory, often 0, and divides by it";
  default:
    return "a server takes 1, and clips values past the format";
  }
}

void Judge::findMissing() {
  std::map<std::string, Siblings> lists, layers;
  for (const auto &[name, module] : modules) {
    layers[maskNumbers(name)].add(name, module);
    if (countNumbers(name) > 1)
      lists[maskNumbers(name, /*lastOnly=*/true)].add(name, module);
  }
  std::map<std::string, Siblings> joined;
  for (const std::vector<std::string> &group : findJoined(modules)) {
    Siblings siblings;
    for (const std::string &name : group)
      if (modules.at(name).codes)
        siblings.add(name, modules.at(name));
    for (const std::string &name : group)
      joined[name] = siblings;
  }
  for (const auto &[name, module] : modules) {
    auto find = [&](size_t role) -> std::string {
      const Siblings &all = layers[maskNumbers(name)];
      if (2 * all.having[role] >= all.modules && all.having[role])
        return all.example[role];
      auto list = lists.find(maskNumbers(name, /*lastOnly=*/true));
      if (countNumbers(name) > 1 && list != lists.end() &&
          list->second.having[role])
        return list->second.example[role];
      auto shards = joined.find(name);
      return shards == joined.end() ? "" : shards->second.example[role];
    };
    for (size_t role = 0; role < kRoles; ++role) {
      if (module.scales[role] || (isOfCodes(role) && !module.codes))
        continue;
      std::string example = find(role);
      // A key's scale is looked for beside the value's.
      if (example.empty() && ScaleRole(role) >= ScaleRole::Key &&
          ScaleRole(role) <= ScaleRole::Value)
        if (Scale other =
                module.of(ScaleRole(role) == ScaleRole::Key ? ScaleRole::Value
                                                            : ScaleRole::Key))
          example = other.tensor->name;
      if (example.empty())
        continue;
      const StoredTensor *about = module.codes;
      for (const Scale &scale : module.scales)
        about = about ? about : scale.tensor;
      StringRef word = StringRef(example).rsplit('.').second;
      report("scale-missing", name, *about,
             "has no " + word.str() + ", as '" + example +
                 "' is: " + describe(role).str());
    }
  }
}

//===----------------------------------------------------------------------===//
// Codes as floats
//===----------------------------------------------------------------------===//

/// True if all of these numbers are E4M3's, some past what weights reach, as
/// codes are that were converted without their scale.
static bool areCodes(const Numbers &numbers, const char *bytes, int64_t count) {
  // A weight of 8 digits is such a number in one case of 16.
  const CodeFormat format = CodeFormat::of(*StoredDtype::byWord("F8_E4M3"));
  llvm::ArrayRef<double> known(format.magnitude.data(), format.top + 1);
  // Chosen, not measured: weights do not come near, nor do counters or masks
  // have so many values of so few digits.
  constexpr double kNoWeight = 32;
  constexpr size_t kFewest = 32;
  std::set<double> found;
  double largest = 0;
  for (int64_t index = 0; index < count; ++index) {
    double value = std::fabs(numbers.at(bytes, index));
    // A search would find NaN, which no number is less than.
    if (std::isnan(value) ||
        !std::binary_search(known.begin(), known.end(), value))
      return false;
    found.insert(value);
    largest = std::max(largest, value);
  }
  return largest >= kNoWeight && found.size() >= kFewest;
}

/// MP616 for floats beside codes that are codes themselves.
llvm::Error Judge::findRawCodes() {
  if (llvm::none_of(modules, [](const auto &entry) {
        return entry.second.codes && entry.second.of(ScaleRole::Weight);
      }))
    return llvm::Error::success();
  for (const StoredTensor &tensor : checkpoint.tensors()) {
    std::optional<Numbers> numbers = Numbers::of(*tensor.dtype);
    StringRef name = tensor.name;
    if (!numbers || tensor.dims.size() < 2 || tensor.bytes == 0 ||
        !llvm::is_contained({"F16", "BF16", "F32"}, tensor.dtype->word) ||
        !name.consume_back(".weight"))
      continue;
    // A page; each further number would say the same.
    constexpr int64_t kSample = 4096;
    int64_t count = std::min(tensor.count(), kSample);
    std::vector<char> bytes(numbers->size(count));
    if (llvm::Error error = checkpoint.read(tensor, 0, bytes))
      return error;
    if (areCodes(*numbers, bytes.data(), count))
      report("scale-missing", name.str(), tensor,
             "holds codes of E4M3 as " + tensor.dtype->word.str() +
                 " and no scale: it was converted without being multiplied "
                 "by it");
  }
  return llvm::Error::success();
}
