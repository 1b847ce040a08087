//===- TargetFile.cpp - Target profiles, built in or in a file ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Support/TargetFile.h"
#include "mpopt/Support/InputFile.h"

#include "mpopt/Support/BoundedJson.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mpopt;

namespace {
struct EmbeddedTarget {
  const char *name, *text;
};
} // namespace
static const EmbeddedTarget kTargets[] = {
#include "Targets.inc"
};

namespace mpopt {
/// Reads the JSON form. Every message starts with the profile's name.
class TargetReader {
public:
  explicit TargetReader(std::string name) { profile->profileName = name; }

  llvm::Expected<std::shared_ptr<const TargetProfile>>
  read(llvm::StringRef text) {
    llvm::Expected<llvm::json::Value> json = parseJson(text);
    if (!json)
      return fail("it " + llvm::toString(json.takeError()));
    const llvm::json::Object *object = json->getAsObject();
    if (!object || object->getString("schema") != "mpopt-target/1")
      return fail("its \"schema\" is not \"mpopt-target/1\"");
    for (const auto &[key, value] : *object)
      if (!llvm::is_contained({"schema", "summary", "approximation",
                               "summation", "products", "sums", "functions"},
                              llvm::StringRef(key)))
        return fail("unknown key \"" + key.str() + "\"");
    std::optional<llvm::StringRef> summary = object->getString("summary");
    if (!summary)
      return fail("\"summary\", what is assumed, is missing or no text");
    profile->text = summary->str();
    if (const llvm::json::Value *value = object->get("approximation")) {
      std::optional<double> error = value->getAsNumber();
      if (!error || !(*error >= 0 && *error < 1))
        return fail("\"approximation\" is no error: a number from 0 to 1");
      profile->approximationError = *error;
    }
    if (const llvm::json::Value *value = object->get("summation")) {
      std::optional<llvm::StringRef> order = value->getAsString();
      profile->pairwise = order == "pairwise";
      if (!profile->pairwise && order != "sequential")
        return fail("\"summation\" is \"sequential\" or \"pairwise\"");
    }
    for (auto [key, table] : {std::pair("products", &profile->productTable),
                              std::pair("sums", &profile->sumTable),
                              std::pair("functions", &profile->functionTable)})
      if (std::string error = readTable(*object, key, *table); !error.empty())
        return fail(error);
    return profile;
  }

private:
  llvm::Error fail(const llvm::Twine &text) {
    return llvm::createStringError("target '" + profile->profileName +
                                   "': " + text);
  }

  static std::string readTable(const llvm::json::Object &object,
                               llvm::StringRef key,
                               TargetProfile::Table &table) {
    const llvm::json::Object *entries = object.getObject(key);
    if (!entries)
      return ("\"" + key + "\" is missing or no object").str();
    if (!entries->get("*"))
      return ("\"" + key + "\" needs an entry \"*\" for all other formats")
          .str();
    for (const auto &[format, accumulator] : *entries) {
      if (format != "*" && !FloatFormat::byName(format))
        return ("\"" + key + "\": '" + format.str() + "' is no float format")
            .str();
      const FloatFormat *to = nullptr;
      if (std::optional<llvm::StringRef> name = accumulator.getAsString())
        to = FloatFormat::byName(*name);
      if (!to)
        return ("\"" + key + "\": what '" + format.str() +
                "' is computed in is no float format")
            .str();
      table[format.str()] = to;
    }
    return {};
  }

  std::shared_ptr<TargetProfile> profile = std::make_shared<TargetProfile>();
};
} // namespace mpopt

std::vector<std::string> mpopt::getTargetNames() {
  std::vector<std::string> names;
  for (const EmbeddedTarget &target : kTargets)
    names.push_back(target.name);
  return names;
}

llvm::Expected<std::shared_ptr<const TargetProfile>>
mpopt::findTarget(llvm::StringRef nameOrFile) {
  for (const EmbeddedTarget &target : kTargets)
    if (nameOrFile == target.name)
      return TargetReader(target.name).read(target.text);
  // 1 MiB: a longer file is no profile.
  constexpr uint64_t kMaxProfile = 1 << 20;
  auto file = readInputFile(nameOrFile, kMaxProfile);
  if (!file)
    return llvm::createStringError("target '" + nameOrFile + "': neither " +
                                   llvm::join(getTargetNames(), ", ") +
                                   " nor a file (it " +
                                   llvm::toString(file.takeError()) + ")");
  return TargetReader(nameOrFile.str()).read((*file)->getBuffer());
}

std::shared_ptr<const TargetProfile> mpopt::getStandardTarget() {
  llvm::Expected<std::shared_ptr<const TargetProfile>> profile =
      findTarget("gpu-tensorcore");
  assert(profile && "built-in targets are well formed");
  return *profile;
}
