//===- JsonReader.cpp - Reading what mpopt wrote --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Report/JsonReader.h"
#include "mpopt/Numerics/Infinity.h"

#include <cmath>

using namespace mpopt;
using llvm::StringRef;
using llvm::Twine;

void JsonReader::fail(StringRef key, const Twine &what) {
  if (error.empty())
    error = ("'" + path + (path.empty() ? "" : ".") + key + "' " + what).str();
}

const llvm::json::Value *JsonReader::find(StringRef key, bool need) {
  if (failed())
    return nullptr;
  const llvm::json::Value *value = object->get(key);
  if (!value && need)
    fail(key, "is missing");
  return value;
}

const llvm::json::Array *JsonReader::findArray(StringRef key, bool need) {
  const llvm::json::Value *found = find(key, need);
  const llvm::json::Array *array = found ? found->getAsArray() : nullptr;
  if (found && !array)
    fail(key, "is not a list");
  return array;
}

const llvm::json::Object *JsonReader::findObject(StringRef key, bool need) {
  const llvm::json::Value *found = find(key, need);
  const llvm::json::Object *inner = found ? found->getAsObject() : nullptr;
  if (found && !inner)
    fail(key, "is not an object");
  return inner;
}

bool JsonReader::has(StringRef key) const {
  const llvm::json::Value *value = object->get(key);
  return value && !value->getAsNull();
}

void JsonReader::text(StringRef key, std::string &value, bool need) {
  const llvm::json::Value *found = find(key, need);
  if (!found)
    return;
  if (std::optional<StringRef> text = found->getAsString())
    value = text->str();
  else
    fail(key, "is not a string");
}

void JsonReader::flag(StringRef key, bool &value) {
  const llvm::json::Value *found = find(key, false);
  if (!found)
    return;
  if (std::optional<bool> flag = found->getAsBoolean())
    value = *flag;
  else
    fail(key, "is not true or false");
}

void JsonReader::integer(StringRef key, int64_t &value, int64_t least,
                         int64_t greatest, bool need) {
  const llvm::json::Value *found = find(key, need);
  if (!found)
    return;
  std::optional<int64_t> number = found->getAsInteger();
  if (!number || *number < least || *number > greatest)
    return fail(key, "is not an integer from " + Twine(least) + " to " +
                         Twine(greatest));
  value = *number;
}

static std::optional<double> getNumber(const llvm::json::Value &value) {
  if (value.getAsNull())
    return NAN;
  if (std::optional<double> number = value.getAsNumber())
    return number;
  if (value.getAsString() == StringRef("inf"))
    return kInfinity;
  if (value.getAsString() == StringRef("-inf"))
    return -kInfinity;
  return std::nullopt;
}

void JsonReader::number(StringRef key, double &value, bool need) {
  const llvm::json::Value *found = find(key, need);
  if (!found)
    return;
  if (std::optional<double> number = getNumber(*found))
    value = *number;
  else
    fail(key, "is not a number");
}

void JsonReader::interval(StringRef key, std::optional<Interval> &value) {
  child(key, [&](JsonReader json) {
    Interval interval;
    json.number("lo", interval.lo, /*need=*/true);
    json.number("hi", interval.hi, /*need=*/true);
    value = interval;
  });
}

void JsonReader::texts(StringRef key, std::vector<std::string> &list) {
  const llvm::json::Array *array = findArray(key, false);
  if (!array)
    return;
  for (const llvm::json::Value &item : *array) {
    std::optional<StringRef> text = item.getAsString();
    if (!text)
      return fail(key, "is not a list of strings");
    list.push_back(text->str());
  }
}

void JsonReader::integers(StringRef key, std::vector<int64_t> &list,
                          int64_t least, int64_t greatest) {
  const llvm::json::Array *array = findArray(key, false);
  if (!array)
    return;
  for (const llvm::json::Value &item : *array) {
    std::optional<int64_t> number = item.getAsInteger();
    if (!number || *number < least || *number > greatest)
      return fail(key, "is not a list of integers from " + Twine(least) +
                           " to " + Twine(greatest));
    list.push_back(*number);
  }
}

void JsonReader::child(StringRef key, llvm::function_ref<void(JsonReader)> read,
                       bool need) {
  const llvm::json::Object *inner = findObject(key, need);
  if (!inner)
    return;
  read(JsonReader(*inner, path.empty() ? key.str() : path + "." + key.str(),
                  error));
}

void JsonReader::children(StringRef key,
                          llvm::function_ref<void(JsonReader)> read,
                          bool need) {
  const llvm::json::Array *array = findArray(key, need);
  if (!array)
    return;
  std::string base = path.empty() ? key.str() : path + "." + key.str();
  for (size_t index = 0; index < array->size() && !failed(); ++index) {
    const llvm::json::Object *inner = (*array)[index].getAsObject();
    if (!inner)
      return fail(key, "is not a list of objects");
    read(JsonReader(*inner, base + "[" + std::to_string(index) + "]", error));
  }
}

void JsonReader::counts(StringRef key,
                        std::map<std::string, unsigned> &counts) {
  const llvm::json::Object *inner = findObject(key, false);
  if (!inner)
    return;
  for (const auto &[name, value] : *inner) {
    std::optional<int64_t> number = value.getAsInteger();
    if (!number || *number < 0 || *number > UINT32_MAX)
      return fail(key, "does not count");
    counts[name.str()] = *number;
  }
}
