//===- Formats.cpp - The forms of a confirmation --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Instrument/Confirm.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mpopt;

ConfirmWriter mpopt::getConfirmWriter(const OutputFormat &format) {
  return llvm::StringSwitch<ConfirmWriter>(format.name)
      .Case("text", writeConfirmText)
      .Case("json", writeConfirmJson)
      .Case("html", writeConfirmHtml)
      .Default(nullptr);
}
