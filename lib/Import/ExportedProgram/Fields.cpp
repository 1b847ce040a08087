//===- Fields.cpp - JSON of a form that is only claimed -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Fields.h"

#include "mpopt/Support/BoundedJson.h"

#include <limits>

using namespace mpopt;
using namespace mpopt::exported;
using llvm::StringRef;
using llvm::Twine;
namespace json = llvm::json;

void Damage::report(const Twine &text, ImportCode code) {
  if (found)
    return;
  found = true;
  kind = code;
  said = text.str();
  place = currentNode;
}

static void reportKind(StringRef key, StringRef kind, Damage &damage) {
  damage.report("the graph's field '" + key + "' is no " + kind);
}

const json::Object &exported::asObject(const json::Value &value, StringRef what,
                                       Damage &damage) {
  static const json::Object empty;
  if (const json::Object *object = value.getAsObject())
    return *object;
  reportKind(what, "object", damage);
  return empty;
}

static const json::Array &asArray(const json::Value *value, StringRef what,
                                  Damage &damage) {
  static const json::Array empty;
  if (const json::Array *array = value ? value->getAsArray() : nullptr)
    return *array;
  reportKind(what, "list", damage);
  return empty;
}

const json::Object &exported::getObject(const json::Object &from, StringRef key,
                                        Damage &damage) {
  static const json::Value null = nullptr;
  const json::Value *value = from.get(key);
  return asObject(value ? *value : null, key, damage);
}

const json::Array &exported::getArray(const json::Object &from, StringRef key,
                                      Damage &damage) {
  return asArray(from.get(key), key, damage);
}

StringRef exported::getString(const json::Object &from, StringRef key,
                              Damage &damage) {
  if (auto text = from.getString(key))
    return *text;
  reportKind(key, "string", damage);
  return "";
}

int64_t exported::getInteger(const json::Object &from, StringRef key,
                             Damage &damage) {
  if (auto number = from.getInteger(key))
    return *number;
  reportKind(key, "integer", damage);
  return 0;
}

json::Value exported::parsePart(StringRef text, Damage &damage) {
  llvm::Expected<json::Value> value = parseJson(text);
  if (value)
    return std::move(*value);
  damage.report("the graph has a part that " +
                    llvm::toString(value.takeError()),
                ImportCode::UnsafeArchive);
  return nullptr;
}

double exported::asNumber(const json::Value &value, Damage &damage) {
  using Limits = std::numeric_limits<double>;
  if (auto number = value.getAsNumber())
    return *number;
  StringRef text = value.getAsString().value_or("");
  if (text == "Infinity" || text == "-Infinity")
    return text[0] == '-' ? -Limits::infinity() : Limits::infinity();
  if (text != "NaN")
    reportKind("as_float", "number", damage);
  return Limits::quiet_NaN();
}

Choice exported::getChoice(const json::Value &value, Damage &damage) {
  static const json::Value null = nullptr;
  const json::Object *object = value.getAsObject();
  if (object)
    for (const auto &[key, member] : *object)
      if (StringRef(key).starts_with("as_") || object->size() == 1)
        return {StringRef(key), &member};
  damage.report("the graph has an argument of no kind");
  return {"as_none", &null};
}

StringRef Choice::string(Damage &damage) const {
  if (auto text = value->getAsString())
    return *text;
  reportKind(kind, "string", damage);
  return "";
}

int64_t Choice::integer(Damage &damage) const {
  if (auto number = value->getAsInteger())
    return *number;
  reportKind(kind, "integer", damage);
  return 0;
}

const json::Array &Choice::array(Damage &damage) const {
  return asArray(value, kind, damage);
}

StringRef Choice::name(Damage &damage) const {
  return getString(object(damage), "name", damage);
}
