//===- Policy.cpp - What a framework does to each op's precision
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Policy/Policy.h"

#include "mpopt/Support/InputFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ErrorHandling.h"

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

StringRef mpopt::getCompositeName(StringRef kind, Framework framework) {
  if (framework == Framework::TensorFlow)
    return StringSwitch<StringRef>(kind)
        .Case("softmax", "Softmax")
        .Case("log_softmax", "LogSoftmax")
        .Case("softplus", "Softplus")
        .Case("sigmoid", "Sigmoid")
        .Default("");
  return StringSwitch<StringRef>(kind)
      .Case("softmax", "softmax.int")
      .Case("log_softmax", "log_softmax.int")
      .Case("l2_normalize", "normalize")
      .Default(kind);
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
  // 16 MiB: a longer file is no table of ops.
  constexpr uint64_t kMaxTable = 1 << 24;
  Expected<std::unique_ptr<MemoryBuffer>> file =
      readInputFile(nameOrFile, kMaxTable);
  if (file)
    return parse((*file)->getBuffer(), nameOrFile);
  std::error_code code;
  std::string why;
  handleAllErrors(file.takeError(), [&](ErrorInfoBase &info) {
    code = info.convertToErrorCode();
    why = info.message();
  });
  if (code != std::errc::no_such_file_or_directory)
    return createStringError(code,
                             "policy '" + nameOrFile + "': the file " + why);
  return createStringError(code, "policy '" + nameOrFile +
                                     "': no such file, and none of " +
                                     llvm::join(getBuiltinNames(), ", "));
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
