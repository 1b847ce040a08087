//===- CheckText.h - mp IR in an editor, from text to findings --*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DRIVER_CHECKTEXT_H
#define MPOPT_DRIVER_CHECKTEXT_H

#include "mpopt/Driver/Options.h"

namespace mpopt {

/// From line 1 and byte 1; line 0: nowhere in the text.
struct TextPlace {
  unsigned line = 0, column = 0;
};

struct TextFinding {
  Finding finding;
  /// Where the op's name is.
  TextPlace place;
  /// One for each of the finding's causes.
  std::vector<TextPlace> causes;
};

/// Checks one module that is written as MLIR text, as `checkModel` does a file.
/// Gives the findings of `options.minCertainty` or more. The model's own places
/// in its program, which `loc(...)` may hold, give way to those in the text.
/// Weights in other files are looked up beside `path`, which need not exist.
/// The error is one line; it begins with `line N: ` where it has a place.
llvm::Expected<std::vector<TextFinding>>
checkText(const Options &options, llvm::StringRef text, llvm::StringRef path);

} // namespace mpopt

#endif // MPOPT_DRIVER_CHECKTEXT_H
