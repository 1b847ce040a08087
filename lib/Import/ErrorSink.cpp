//===- ErrorSink.cpp - Where an import collects what is wrong
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Import/ErrorSink.h"

#include "llvm/ADT/STLExtras.h"

using namespace mpopt;

llvm::StringRef mpopt::getCodeName(ImportCode code) {
  switch (code) {
#define MPOPT_IMPORT_ERROR(Name, Code, Summary)                                \
  case ImportCode::Name:                                                       \
    return Code;
#include "mpopt/Import/ImportErrors.def"
  }
  llvm_unreachable("every code has a name");
}

std::string ImportError::str() const {
  if (node.empty())
    return code + ": " + reason;
  return code + ": '" + node + "': " + reason;
}

/// Names and messages come from the file: one line each, and printable.
static std::string clean(llvm::StringRef text) {
  constexpr size_t kMaxLength = 500;
  std::string result;
  for (char c : text.take_front(kMaxLength))
    result += uint8_t(c) < 0x20 || c == 0x7f ? ' ' : c;
  if (text.size() > kMaxLength)
    result += "...";
  while (!result.empty() && result.back() == ' ')
    result.pop_back();
  return result;
}

void ErrorSink::error(ImportCode code, llvm::StringRef node,
                      const llvm::Twine &reason) {
  // A declaration is read wherever its value is used; it is wrong once.
  ImportError error{getCodeName(code).str(), clean(node), clean(reason.str())};
  std::string line = error.str();
  if (llvm::any_of(result.errors, [&](const ImportError &earlier) {
        return earlier.str() == line;
      }))
    return;
  if (result.errors.size() >= kMaxErrors) {
    ++dropped;
    return;
  }
  result.errors.push_back(std::move(error));
}

void ErrorSink::warn(const llvm::Twine &text) {
  std::string line = clean(text.str());
  if (result.warnings.size() < kMaxWarnings &&
      !llvm::is_contained(result.warnings, line))
    result.warnings.push_back(std::move(line));
}

void ErrorSink::rollBack(Mark mark) {
  result.errors.resize(mark.errors);
  result.warnings.resize(mark.warnings);
  dropped = mark.dropped;
}

void ErrorSink::finish() {
  if (dropped)
    result.errors.push_back(
        {result.errors.back().code, "",
         "and " + std::to_string(dropped) +
             (dropped == 1 ? " more error" : " more errors")});
  dropped = 0;
}
