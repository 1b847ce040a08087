//===- Policy.cpp - What a framework does to each op's precision
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpopt/Policy/Policy.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MemoryBuffer.h"

#include <array>

using namespace llvm;
using namespace mpopt;

namespace {
struct Table {
  StringRef name, text;
};
} // namespace

static constexpr Table kTables[] = {
#include "Tables.inc"
};

StringRef mpopt::toString(Category category) {
  switch (category) {
  case Category::Fp32:
    return "fp32";
  case Category::Lower:
    return "lower";
  case Category::Promote:
    return "promote";
  case Category::Banned:
    return "banned";
  case Category::Allow:
    return "allow";
  case Category::Infer:
    return "infer";
  case Category::Deny:
    return "deny";
  case Category::Clear:
    return "clear";
  case Category::Block:
    return "block";
  }
  llvm_unreachable("every category has a name");
}

ArrayRef<StringRef> Policy::getBuiltinNames() {
  static const auto names = [] {
    std::array<StringRef, std::size(kTables)> result;
    llvm::transform(kTables, result.begin(),
                    [](const Table &table) { return table.name; });
    return result;
  }();
  return names;
}

Expected<Policy> Policy::load(StringRef nameOrFile) {
  for (const Table &table : kTables)
    if (table.name == nameOrFile)
      return parse(table.text, table.name);
  ErrorOr<std::unique_ptr<MemoryBuffer>> file =
      MemoryBuffer::getFile(nameOrFile, /*IsText=*/true);
  if (file)
    return parse((*file)->getBuffer(), nameOrFile);
  if (file.getError() != std::errc::no_such_file_or_directory)
    return createStringError(file.getError(), "policy '%s': %s",
                             nameOrFile.str().c_str(),
                             file.getError().message().c_str());
  return createStringError(
      file.getError(), "policy '%s': no such file, and none of %s",
      nameOrFile.str().c_str(), llvm::join(getBuiltinNames(), ", ").c_str());
}

std::optional<Category> Policy::lookup(ArrayRef<StringRef> names) const {
  for (StringRef op : names)
    if (auto found = categories.find(op); found != categories.end())
      return found->second;
  return std::nullopt;
}

ArrayRef<unsigned> Policy::getFixedOperands(ArrayRef<StringRef> names) const {
  for (StringRef op : names)
    if (auto found = fixedOperands.find(op); found != fixedOperands.end())
      return found->second;
  return {};
}
