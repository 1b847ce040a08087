//===- TargetFile.cpp - Target profiles, built in or in a file ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Support/TargetFile.h"
#include "mpopt/Numerics/Precision.h"
#include "mpopt/Support/Profile.h"

#include "mpopt/Support/BoundedJson.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <tuple>

using namespace mpopt;

static const EmbeddedProfile kTargets[] = {
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
                               "summation", "products", "sums", "functions",
                               "kernels", "codes", "sources"},
                              llvm::StringRef(key)))
        return fail("unknown key \"" + key.str() + "\"");
    std::optional<llvm::StringRef> summary = object->getString("summary");
    if (!summary)
      return fail("\"summary\", the assumptions, is missing or no text");
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
    if (std::string error = readTables(*object, profile->tables, true);
        !error.empty())
      return fail(error);
    if (std::string error = readKernels(*object); !error.empty())
      return fail(error);
    if (std::string error = readCodes(*object); !error.empty())
      return fail(error);
    return profile;
  }

  /// The formats that stand in for others, by the names of these.
  std::map<std::string, std::string> floats;
  CodeLimits limits;

private:
  llvm::Error fail(const llvm::Twine &text) {
    return llvm::createStringError("target '" + profile->profileName +
                                   "': " + text);
  }

  /// A format by its name, or an object that narrows it: its sums overflow
  /// before it does, have no subnormal numbers, or have fewer digits, below
  /// which each term is cut off:
  /// `{"format": "f32", "overflow": 32768, "subnormals": false}`,
  /// `{"format": "f32", "digits": 14}`.
  const FloatFormat *readAccumulator(const llvm::json::Value &value) {
    const llvm::json::Object *object = value.getAsObject();
    const llvm::json::Value *named = object ? object->get("format") : &value;
    std::optional<llvm::StringRef> name =
        named ? named->getAsString() : std::nullopt;
    const FloatFormat *format = name ? FloatFormat::byName(*name) : nullptr;
    if (!object || !format)
      return format;
    for (const auto &[key, fact] : *object)
      if (!llvm::is_contained({"format", "overflow", "subnormals", "digits"},
                              llvm::StringRef(key)))
        return nullptr;
    FloatFormat own = *format;
    int64_t digits = object->getInteger("digits").value_or(own.digits);
    if (digits < 1 || digits > own.digits)
      return nullptr;
    own.digits = unsigned(digits);
    own.minSubnormal = std::ldexp(own.minNormal, 1 - int(digits));
    own.overflowFrom = object->getNumber("overflow").value_or(own.overflowFrom);
    if (!(own.overflowFrom > own.minNormal) ||
        own.overflowFrom > format->overflowFrom)
      return nullptr;
    own.maxFinite = std::min(own.maxFinite,
                             own.overflowFrom - own.ulp(own.overflowFrom) / 2);
    if (object->getBoolean("subnormals") == false) {
      own.minSubnormal = own.minNormal;
      own.flushAt = std::nextafter(own.minNormal, 0);
    }
    return &profile->limited.emplace_back(own);
  }

  std::string readTable(const llvm::json::Object &object, llvm::StringRef key,
                        TargetProfile::Table &table, bool required) {
    const llvm::json::Object *entries = object.getObject(key);
    if (!entries)
      return required || object.get(key)
                 ? ("\"" + key + "\" is missing or no object").str()
                 : std::string();
    if (!entries->get("*"))
      return ("\"" + key + "\" needs an entry \"*\" for all other formats")
          .str();
    for (const auto &[format, accumulator] : *entries) {
      if (format != "*" && !FloatFormat::byName(format))
        return ("\"" + key + "\": '" + format.str() + "' is no float format")
            .str();
      const FloatFormat *to = readAccumulator(accumulator);
      if (!to)
        return ("\"" + key + "\": the accumulator of '" + format.str() +
                "' is no float format")
            .str();
      table[format.str()] = to;
    }
    return {};
  }

  std::string readTables(const llvm::json::Object &object,
                         TargetProfile::Tables &tables, bool required) {
    for (auto [key, table] : {std::pair("products", &tables.products),
                              std::pair("sums", &tables.sums),
                              std::pair("functions", &tables.functions)})
      if (std::string error = readTable(object, key, *table, required);
          !error.empty())
        return error;
    return {};
  }

  /// One entry of "kernels": ops, and what their kernels do otherwise.
  std::string readKernel(const llvm::json::Value &value) {
    const llvm::json::Object *object = value.getAsObject();
    const llvm::json::Array *ops = object ? object->getArray("ops") : nullptr;
    if (!ops || ops->empty())
      return "an entry of \"kernels\" has no \"ops\", the names of ops";
    for (const auto &[key, fact] : *object)
      if (!llvm::is_contained({"ops", "products", "sums", "functions",
                               "exponentials", "source"},
                              llvm::StringRef(key)))
        return "unknown key \"" + key.str() + "\" in \"kernels\"";
    TargetProfile::Kernel kernel;
    if (std::string error = readTables(*object, kernel.tables, false);
        !error.empty())
      return error;
    if (const llvm::json::Value *how = object->get("exponentials")) {
      kernel.plainExponentials = how->getAsString() == "plain";
      if (!kernel.plainExponentials && how->getAsString() != "shifted")
        return "\"exponentials\" is \"shifted\" or \"plain\"";
    }
    for (const llvm::json::Value &op : *ops) {
      std::optional<llvm::StringRef> name = op.getAsString();
      if (!name || !profile->kernels.emplace(name->str(), kernel).second)
        return "\"kernels\" names an op twice, or by something else than text";
    }
    return {};
  }

  std::string readKernels(const llvm::json::Object &object) {
    const llvm::json::Value *kernels = object.get("kernels");
    if (!kernels)
      return {};
    if (!kernels->getAsArray())
      return "\"kernels\" is no list";
    for (const llvm::json::Value &kernel : *kernels->getAsArray())
      if (std::string error = readKernel(kernel); !error.empty())
        return error;
    return {};
  }

  /// Bits that a register of whole numbers has.
  static bool readBits(const llvm::json::Object &object, llvm::StringRef key,
                       unsigned &bits) {
    const llvm::json::Value *value = object.get(key);
    std::optional<int64_t> number =
        value ? value->getAsInteger() : std::optional<int64_t>(bits);
    if (!number || *number < 0 || *number > 64)
      return false;
    bits = unsigned(*number);
    return true;
  }

  std::string readPairs(const llvm::json::Object &codes, CodeArithmetic &into) {
    const llvm::json::Value *value = codes.get("pairs");
    if (!value)
      return {};
    const llvm::json::Object *pairs = value->getAsObject();
    const llvm::json::Array *operands =
        pairs ? pairs->getArray("operands") : nullptr;
    if (!operands || !pairs->get("bits") ||
        !readBits(*pairs, "bits", into.pairBits) || pairs->size() != 2)
      return "\"pairs\" has the keys \"bits\" and \"operands\"";
    for (const llvm::json::Value &operand : *operands) {
      if (operand.getAsString() != "u8s8" && operand.getAsString() != "s8s8")
        return "\"operands\" lists \"u8s8\" and \"s8s8\"";
      into.pairsSigned |= operand.getAsString() == "s8s8";
    }
    return {};
  }

  /// Products of codes.
  std::string readCodes(const llvm::json::Object &object) {
    const llvm::json::Value *value = object.get("codes");
    if (!value)
      return {};
    const llvm::json::Object *codes = value->getAsObject();
    if (!codes)
      return "\"codes\" is no object";
    for (const auto &[key, fact] : *codes)
      if (!llvm::is_contained({"pairs", "accumulator", "widest", "dequantised",
                               "floats", "takes"},
                              llvm::StringRef(key)))
        return "unknown key \"" + key.str() + "\" in \"codes\"";
    CodeArithmetic &into = profile->codeArithmetic;
    for (auto [key, bits] : {std::pair("accumulator", &into.accumulatorBits),
                             std::pair("widest", &into.widestBits)})
      if (!readBits(*codes, key, *bits) || *bits == 0)
        return ("\"" + llvm::Twine(key) + "\" is no number of bits").str();
    if (const llvm::json::Value *format = codes->get("dequantised")) {
      std::optional<llvm::StringRef> name = format->getAsString();
      into.dequantised = name ? FloatFormat::byName(*name) : nullptr;
      if (!into.dequantised)
        return "\"dequantised\" is no float format";
    }
    if (const llvm::json::Value *floats = codes->get("floats");
        floats && !readFloats(*floats))
      return "\"floats\" maps float formats to others";
    if (const llvm::json::Value *takes = codes->get("takes");
        takes && !readLimits(*takes))
      return "\"takes\" has the keys \"types\", a list of names, and "
             "\"zero-points\"";
    return readPairs(*codes, into);
  }

  bool readLimits(const llvm::json::Value &value) {
    llvm::json::Path::Root root;
    llvm::json::ObjectMapper map(value, root);
    const llvm::json::Object *object = value.getAsObject();
    return map && object->size() == 2 && map.map("types", limits.types) &&
           map.map("zero-points", limits.zeroPoints);
  }

  bool readFloats(const llvm::json::Value &value) {
    const llvm::json::Object *object = value.getAsObject();
    return object && llvm::all_of(*object, [&](const auto &entry) {
             std::optional<llvm::StringRef> name = entry.second.getAsString();
             floats[entry.first.str()] = name.value_or("").str();
             return name && FloatFormat::byName(*name) &&
                    FloatFormat::byName(entry.first);
           });
  }

  std::shared_ptr<TargetProfile> profile = std::make_shared<TargetProfile>();
};
} // namespace mpopt

std::vector<std::string> mpopt::getTargetNames() { return getNames(kTargets); }

llvm::Expected<std::shared_ptr<const TargetProfile>>
mpopt::findTarget(llvm::StringRef nameOrFile) {
  llvm::Expected<std::string> text =
      readProfile("target", kTargets, nameOrFile);
  return text ? TargetReader(nameOrFile.str()).read(*text) : text.takeError();
}

/// A reader that has read the target's profile; without facts where there is no
/// such target.
static TargetReader readTarget(llvm::StringRef nameOrFile) {
  TargetReader reader(nameOrFile.str());
  if (auto text = readProfile("target", kTargets, nameOrFile))
    llvm::consumeError(reader.read(*text).takeError());
  else
    llvm::consumeError(text.takeError());
  return reader;
}

std::string mpopt::findFloats(llvm::StringRef nameOrFile,
                              llvm::StringRef format) {
  TargetReader reader = readTarget(nameOrFile);
  auto found = reader.floats.find(format.str());
  return found == reader.floats.end() ? format.str() : found->second;
}

CodeLimits mpopt::findCodeLimits(llvm::StringRef nameOrFile) {
  return readTarget(nameOrFile).limits;
}

std::string mpopt::precisionOn(llvm::StringRef nameOrFile,
                               llvm::StringRef precision) {
  const Precision *asked = Precision::byName(precision);
  if (nameOrFile.empty() || !asked || !asked->operands)
    return precision.str();
  std::string format = findFloats(nameOrFile, asked->operands->weights.format);
  for (const Precision &row : Precision::all())
    if (row.operands && row.recipe() == asked->recipe() &&
        row.operands->weights.format == format)
      return row.name.str();
  return precision.str();
}

std::shared_ptr<const TargetProfile> mpopt::getStandardTarget() {
  llvm::Expected<std::shared_ptr<const TargetProfile>> profile =
      findTarget("gpu-tensorcore");
  assert(profile && "built-in targets are well formed");
  return *profile;
}

std::vector<std::vector<std::string>> mpopt::groupByCodes(bool byLimits) {
  auto keyOf = [](const CodeArithmetic &codes, CodeLimits limits) {
    return std::tuple(codes.pairBits, codes.pairsSigned, codes.accumulatorBits,
                      codes.widestBits, codes.dequantised,
                      std::move(limits.types), limits.zeroPoints);
  };
  std::vector<std::vector<std::string>> groups;
  std::map<decltype(keyOf(CodeArithmetic(), CodeLimits())), size_t> known;
  for (const std::string &name : getTargetNames()) {
    auto target = findTarget(name);
    if (!target) {
      llvm::consumeError(target.takeError());
      continue;
    }
    auto [entry, isNew] =
        known.try_emplace(keyOf((*target)->codes(),
                                byLimits ? findCodeLimits(name) : CodeLimits()),
                          groups.size());
    if (isNew)
      groups.emplace_back();
    groups[entry->second].push_back(name);
  }
  return groups;
}
