//===- PolicyReader.cpp - A policy from JSON
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table may be a user's: every key is checked, an unknown one is an error
// (it is most likely a typing mistake), and so is an op listed under two
// categories.
//
//===----------------------------------------------------------------------===//

#include "PolicyReader.h"

#include "mpopt/Support/BoundedJson.h"

#include "llvm/ADT/StringSwitch.h"

using namespace llvm;
using namespace mpopt;

Error PolicyReader::error(const Twine &message) const {
  return createStringError(inconvertibleErrorCode(),
                           "policy '" + origin + "': " + message);
}

std::optional<Category> PolicyReader::parseCategory(StringRef text) const {
  using Maybe = std::optional<Category>;
  switch (policy.kind) {
  case PolicyKind::Autocast:
    return StringSwitch<Maybe>(text)
        .Case("lower_precision_fp", Category::Lower)
        .Cases({"fp32", "fp32_set_opt_dtype", "fp32_append_dtype"},
               Category::Fp32)
        .Case("promote", Category::Promote)
        .Case("banned", Category::Banned)
        .Default(std::nullopt);
  case PolicyKind::GraphColoring:
    return StringSwitch<Maybe>(text)
        .Case("allow", Category::Allow)
        .Case("infer", Category::Infer)
        .Case("deny", Category::Deny)
        .Case("clear", Category::Clear)
        .Default(std::nullopt);
  case PolicyKind::Converter:
    return StringSwitch<Maybe>(text)
        .Case("block", Category::Block)
        .Default(std::nullopt);
  }
  llvm_unreachable("every kind has categories");
}

Error PolicyReader::readString(StringRef key, const json::Value &value,
                               std::string &into) {
  std::optional<StringRef> text = value.getAsString();
  if (!text)
    return error(key + ": must be a string");
  into = text->str();
  return Error::success();
}

Error PolicyReader::readNumber(StringRef key, const json::Value &value,
                               std::optional<double> &into) {
  into = value.getAsNumber();
  if (!into || !(*into > 0))
    return error(key + ": must be a positive number");
  return Error::success();
}

Error PolicyReader::readNotes(const json::Value &value) {
  const json::Array *notes = value.getAsArray();
  if (!notes || !llvm::all_of(*notes, [](const json::Value &note) {
        return note.getAsString().has_value();
      }))
    return error("notes: must be a list of strings");
  return Error::success();
}

Error PolicyReader::readCategories(StringRef key, const json::Value &value) {
  const json::Object *lists = value.getAsObject();
  if (!lists)
    return error(key + ": must be an object of lists of op names");
  for (const auto &[name, list] : *lists) {
    std::string path = (key + "." + StringRef(name)).str();
    std::optional<Category> category = parseCategory(name);
    if (!category)
      return error(path + ": unknown category");
    const json::Array *ops = list.getAsArray();
    if (!ops)
      return error(path + ": must be a list of op names");
    for (const json::Value &op : *ops) {
      std::optional<StringRef> text = op.getAsString();
      if (!text || text->empty())
        return error(path + ": must be a list of op names");
      auto [place, isNew] = policy.categories.try_emplace(*text, *category);
      if (!isNew && place->second != *category)
        return error(path + ": '" + *text + "' is listed as '" +
                     toString(place->second) + "' too");
    }
  }
  return Error::success();
}

Error PolicyReader::readFixedOperands(const json::Value &value) {
  const json::Object *ops = value.getAsObject();
  if (!ops)
    return error("fixed_operands: must be an object of lists of operand "
                 "numbers");
  for (const auto &[name, list] : *ops) {
    std::vector<unsigned> &indices = policy.fixedOperands[StringRef(name)];
    const json::Array *numbers = list.getAsArray();
    if (!numbers)
      return error("fixed_operands." + StringRef(name) +
                   ": must be a list of operand numbers");
    for (const json::Value &number : *numbers) {
      std::optional<int64_t> index = number.getAsInteger();
      if (!index || *index < 0 || *index > 1 << 16)
        return error("fixed_operands." + StringRef(name) +
                     ": must be a list of operand numbers");
      indices.push_back(*index);
    }
  }
  return Error::success();
}

Error PolicyReader::readKey(StringRef key, const json::Value &value) {
  if (key == "name")
    return readString(key, value, policy.name);
  if (key == "version")
    return readString(key, value, policy.version);
  if (key == "source")
    return readString(key, value, policy.source);
  if (key == "notes")
    return readNotes(value);
  if (key == "categories" || key == "composite_derived")
    return readCategories(key, value);
  if (key == "fixed_operands")
    return readFixedOperands(value);
  if (key == "max_finite")
    return readNumber(key, value, policy.maxFinite);
  if (key == "min_positive")
    return readNumber(key, value, policy.minPositive);
  return error(key + ": unknown key");
}

Error PolicyReader::readTop(const json::Object &table) {
  for (StringRef key : {"name", "kind", "framework", "categories"})
    if (!table.get(key))
      return error(key + ": missing");
  // First the kind, since it decides which categories there are.
  std::optional<PolicyKind> kind =
      StringSwitch<std::optional<PolicyKind>>(
          table.getString("kind").value_or(""))
          .Case("autocast", PolicyKind::Autocast)
          .Case("graph-coloring", PolicyKind::GraphColoring)
          .Case("converter", PolicyKind::Converter)
          .Default(std::nullopt);
  if (!kind)
    return error("kind: must be 'autocast', 'graph-coloring' or 'converter'");
  policy.kind = *kind;
  std::optional<Framework> framework =
      StringSwitch<std::optional<Framework>>(
          table.getString("framework").value_or(""))
          .Case("pytorch", Framework::PyTorch)
          .Case("tensorflow", Framework::TensorFlow)
          .Case("onnx", Framework::Onnx)
          .Default(std::nullopt);
  if (!framework)
    return error("framework: must be 'pytorch', 'tensorflow' or 'onnx'");
  policy.framework = *framework;
  // In a fixed order: of several faults always the same one is reported.
  SmallVector<const json::Object::value_type *> entries;
  for (const json::Object::value_type &entry : table)
    if (entry.first != "kind" && entry.first != "framework")
      entries.push_back(&entry);
  llvm::sort(entries, [](auto *a, auto *b) { return a->first < b->first; });
  for (const json::Object::value_type *entry : entries)
    if (Error failure = readKey(entry->first, entry->second))
      return failure;
  return Error::success();
}

Expected<Policy> PolicyReader::read(StringRef text) {
  Expected<json::Value> value = parseJson(text);
  if (!value) {
    // One line: the parser's message has the place in front.
    std::string message = llvm::toString(value.takeError());
    llvm::replace(message, '\n', ' ');
    return error("it " + message);
  }
  const json::Object *table = value->getAsObject();
  if (!table)
    return error("not a policy table: must be a JSON object");
  if (Error failure = readTop(*table))
    return std::move(failure);
  return std::move(policy);
}

Expected<Policy> Policy::parse(StringRef text, StringRef origin) {
  return PolicyReader(origin).read(text);
}
