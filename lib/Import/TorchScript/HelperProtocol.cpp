//===- HelperProtocol.cpp - What mpopt and its helper say to each other ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Import/TorchScript/HelperProtocol.h"

#include "mpopt/Support/BoundedJson.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mpopt;
namespace json = llvm::json;

// Attributes of the module that carry the rest of a result.
static constexpr StringLiteral kCoverage = "mp.coverage";
static constexpr StringLiteral kWarnings = "mp.warnings";
static constexpr StringLiteral kPlaces = "mp.places";

static llvm::Error damaged(const char *what) {
  return llvm::createStringError("%s is damaged", what);
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

static json::Object toJson(const GraphPlace &place) {
  json::Array rounds;
  for (const auto &[counter, count] : place.rounds)
    rounds.push_back(json::Array{json::fixUTF8(counter), count});
  json::Object object{{"members", json::Array(place.members)},
                      {"rounds", std::move(rounds)}};
  if (place.input >= 0)
    object["input"] = place.input;
  else
    object["value"] = json::fixUTF8(place.value);
  return object;
}

static bool fromJson(const json::Object &object, GraphPlace &place) {
  if (auto input = object.getInteger("input"))
    place.input = *input;
  else if (auto value = object.getString("value"))
    place.value = value->str();
  else
    return false;
  const json::Array *members = object.getArray("members");
  const json::Array *rounds = object.getArray("rounds");
  if (!members || !rounds)
    return false;
  for (const json::Value &member : *members) {
    auto index = member.getAsInteger();
    if (!index)
      return false;
    place.members.push_back(*index);
  }
  for (const json::Value &entry : *rounds) {
    const json::Array *pair = entry.getAsArray();
    auto counter = pair && pair->size() == 2 ? (*pair)[0].getAsString()
                                             : std::optional<StringRef>();
    auto count = counter ? (*pair)[1].getAsInteger() : std::nullopt;
    if (!count)
      return false;
    place.rounds.push_back({counter->str(), *count});
  }
  return true;
}

static std::string printPlaces(const GraphPlaces &places) {
  json::Object object;
  for (const auto &[name, all] : places) {
    json::Array list;
    for (const GraphPlace &place : all)
      list.push_back(toJson(place));
    object[json::fixUTF8(name)] = std::move(list);
  }
  std::string text;
  llvm::raw_string_ostream(text) << json::Value(std::move(object));
  return text;
}

static void parsePlaces(StringRef text, GraphPlaces &places) {
  llvm::Expected<json::Value> value = parseJson(text);
  if (!value)
    return llvm::consumeError(value.takeError());
  const json::Object *object = value->getAsObject();
  if (!object)
    return;
  for (const auto &[name, all] : *object)
    if (const json::Array *list = all.getAsArray()) {
      std::vector<GraphPlace> &known = places[name.str()];
      for (const json::Value &entry : *list)
        if (GraphPlace place;
            entry.getAsObject() && fromJson(*entry.getAsObject(), place))
          known.push_back(std::move(place));
    }
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void mpopt::torchscript::recordResult(ImportResult &result) {
  Operation *module = *result.module;
  Builder builder(module->getContext());
  SmallVector<NamedAttribute> unmodelled;
  for (const auto &[op, count] : result.coverage.unmodelled)
    unmodelled.push_back(
        builder.getNamedAttr(op, builder.getI64IntegerAttr(count)));
  module->setAttr(
      kCoverage,
      builder.getDictionaryAttr(
          {builder.getNamedAttr(
               "modelled", builder.getI64IntegerAttr(result.coverage.modelled)),
           builder.getNamedAttr("ops",
                                builder.getI64IntegerAttr(result.coverage.ops)),
           builder.getNamedAttr("unmodelled",
                                builder.getDictionaryAttr(unmodelled))}));
  SmallVector<StringRef> warnings(result.warnings.begin(),
                                  result.warnings.end());
  module->setAttr(kWarnings, builder.getStrArrayAttr(warnings));
  if (!result.places.empty())
    module->setAttr(kPlaces, builder.getStringAttr(printPlaces(result.places)));
}

void mpopt::torchscript::restoreResult(ImportResult &result) {
  Operation *module = *result.module;
  if (auto coverage = module->getAttrOfType<DictionaryAttr>(kCoverage)) {
    auto number = [&](StringRef name) -> unsigned {
      auto attribute = coverage.getAs<IntegerAttr>(name);
      return attribute ? attribute.getInt() : 0;
    };
    result.coverage = {number("ops"), number("modelled"), {}};
    if (auto unmodelled = coverage.getAs<DictionaryAttr>("unmodelled"))
      for (NamedAttribute entry : unmodelled)
        if (auto count = dyn_cast<IntegerAttr>(entry.getValue()))
          result.coverage.unmodelled[entry.getName().str()] = count.getInt();
  }
  if (auto warnings = module->getAttrOfType<ArrayAttr>(kWarnings))
    for (auto warning : warnings.getAsRange<StringAttr>())
      result.warnings.push_back(warning.str());
  if (auto places = module->getAttrOfType<StringAttr>(kPlaces))
    parsePlaces(places.getValue(), result.places);
  module->removeAttr(kPlaces);
  module->removeAttr(kCoverage);
  module->removeAttr(kWarnings);
}

//===----------------------------------------------------------------------===//
// Probes
//===----------------------------------------------------------------------===//

std::string mpopt::torchscript::printPlan(ArrayRef<PlacedProbe> probes,
                                          StringRef ledgerHash) {
  json::Array list;
  for (const PlacedProbe &probe : probes) {
    json::Object object = toJson(probe.place);
    object["id"] = probe.id;
    object["channel_axis"] = probe.channelAxis;
    object["gradient"] = probe.gradient;
    object["parameter"] = probe.isParameter;
    object["cast"] = probe.isCast;
    list.push_back(std::move(object));
  }
  std::string text;
  llvm::raw_string_ostream(text) << json::Value(
      json::Object{{"ledger", ledgerHash}, {"probes", std::move(list)}});
  return text;
}

llvm::Expected<std::pair<std::vector<torchscript::PlacedProbe>, std::string>>
mpopt::torchscript::parsePlan(StringRef text) {
  llvm::Expected<json::Value> value = parseJson(text);
  if (!value) {
    llvm::consumeError(value.takeError());
    return damaged("the plan of probes");
  }
  const json::Object *object = value->getAsObject();
  const json::Array *list = object ? object->getArray("probes") : nullptr;
  auto hash = object ? object->getString("ledger") : std::nullopt;
  if (!list || !hash)
    return damaged("the plan of probes");
  std::vector<PlacedProbe> probes;
  for (const json::Value &entry : *list) {
    const json::Object *probe = entry.getAsObject();
    auto id = probe ? probe->getInteger("id") : std::nullopt;
    auto axis = probe ? probe->getInteger("channel_axis") : std::nullopt;
    auto flag = [&](StringRef name) {
      return probe ? probe->getBoolean(name) : std::nullopt;
    };
    auto gradient = flag("gradient"), parameter = flag("parameter"),
         cast = flag("cast");
    probes.push_back({id.value_or(-1),
                      {},
                      axis.value_or(-1),
                      gradient.value_or(false),
                      parameter.value_or(false),
                      cast.value_or(false)});
    if (!id || !axis || !gradient || !parameter || !cast ||
        !fromJson(*probe, probes.back().place))
      return damaged("the plan of probes");
  }
  return std::pair(std::move(probes), hash->str());
}

void mpopt::torchscript::writeRecords(llvm::raw_ostream &os,
                                      const NewRecords &records) {
  json::Array list;
  for (const auto &[name, bytes] : records)
    list.push_back(json::Array{json::fixUTF8(name), int64_t(bytes.size())});
  os << json::Value(std::move(list)) << '\n';
  for (const auto &[name, bytes] : records)
    os << bytes;
}

llvm::Expected<torchscript::NewRecords>
mpopt::torchscript::parseRecords(StringRef bytes) {
  auto [head, rest] = bytes.split('\n');
  llvm::Expected<json::Value> value = parseJson(head);
  if (!value) {
    llvm::consumeError(value.takeError());
    return damaged("the result");
  }
  NewRecords records;
  const json::Array *list = value->getAsArray();
  if (!list)
    return damaged("the result");
  for (const json::Value &entry : *list) {
    const json::Array *pair = entry.getAsArray();
    auto name = pair && pair->size() == 2 ? (*pair)[0].getAsString()
                                          : std::optional<StringRef>();
    auto size = name ? (*pair)[1].getAsInteger() : std::nullopt;
    if (!size || *size < 0 || uint64_t(*size) > rest.size())
      return damaged("the result");
    records.push_back({name->str(), rest.take_front(*size).str()});
    rest = rest.drop_front(*size);
  }
  if (!rest.empty())
    return damaged("the result");
  return records;
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

std::string mpopt::torchscript::printError(const ImportError &error) {
  std::string line;
  llvm::raw_string_ostream(line) << llvm::json::Value(
      llvm::json::Object{{"code", llvm::json::fixUTF8(error.code)},
                         {"node", llvm::json::fixUTF8(error.node)},
                         {"reason", llvm::json::fixUTF8(error.reason)}});
  return line;
}

std::optional<ImportError> mpopt::torchscript::parseError(StringRef line) {
  llvm::Expected<llvm::json::Value> value = parseJson(line);
  if (!value) {
    llvm::consumeError(value.takeError());
    return std::nullopt;
  }
  const llvm::json::Object *object = value->getAsObject();
  if (!object)
    return std::nullopt;
  auto code = object->getString("code"), node = object->getString("node"),
       reason = object->getString("reason");
  if (!code || !node || !reason)
    return std::nullopt;
  return ImportError{code->str(), node->str(), reason->str()};
}
