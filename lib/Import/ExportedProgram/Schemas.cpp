//===- Schemas.cpp - The arguments of PyTorch's operators -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Schemas.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/JSON.h"

using namespace mpopt;
using namespace mpopt::exported;
using aten::Constant;
using llvm::StringRef;

namespace {
struct Table {
  const char *name, *text;
};
} // namespace

static constexpr Table kTables[] = {
#include "Schemas.inc"
};

/// The lines, sorted by operator.
static const llvm::SmallVector<StringRef, 0> &getLines() {
  static const llvm::SmallVector<StringRef, 0> lines = [] {
    llvm::SmallVector<StringRef, 0> split;
    StringRef(kTables[0].text).split(split, '\n', -1, /*KeepEmpty=*/false);
    return split;
  }();
  return lines;
}

static Constant toConstant(const llvm::json::Value &value) {
  Constant constant;
  if (auto truth = value.getAsBoolean()) {
    constant.kind = Constant::Kind::Bool;
    constant.integer = *truth;
  } else if (value.kind() == llvm::json::Value::Number) {
    constant.kind = Constant::Kind::Int;
    if (auto integer = value.getAsInteger())
      constant.integer = *integer;
    constant.real = *value.getAsNumber();
  } else if (auto text = value.getAsString()) {
    constant.kind = Constant::Kind::String;
    constant.string = text->str();
  } else if (const llvm::json::Array *list = value.getAsArray()) {
    constant.kind = Constant::Kind::List;
    for (const llvm::json::Value &member : *list)
      constant.elements.push_back(toConstant(member));
  }
  return constant;
}

static SchemaArgument parseArgument(StringRef word) {
  auto [name, value] = word.split('=');
  SchemaArgument argument;
  argument.isShared = name.consume_back("&");
  argument.isWritten = name.consume_back("!");
  argument.name = name;
  if (value.empty())
    return argument;
  // The table is the build's own: what does not parse has no default.
  if (llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(value)) {
    argument.byDefault = toConstant(*parsed);
    // Python writes a float with a point or an exponent.
    if (argument.byDefault->kind == Constant::Kind::Int &&
        value.find_first_of(".e") != StringRef::npos)
      argument.byDefault->kind = Constant::Kind::Float;
  } else {
    llvm::consumeError(parsed.takeError());
  }
  return argument;
}

std::optional<std::vector<SchemaArgument>> exported::findSchema(StringRef op) {
  const auto &lines = getLines();
  auto found = llvm::partition_point(
      lines, [&](StringRef line) { return line.split(' ').first < op; });
  if (found == lines.end() || found->split(' ').first != op)
    return std::nullopt;
  llvm::SmallVector<StringRef> words;
  found->split(words, ' ');
  std::vector<SchemaArgument> arguments;
  for (StringRef word : llvm::drop_begin(words))
    arguments.push_back(parseArgument(word));
  return arguments;
}
