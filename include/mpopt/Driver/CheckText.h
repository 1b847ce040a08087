//===- CheckText.h - mp IR in an editor, from text to findings --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DRIVER_CHECKTEXT_H
#define MPOPT_DRIVER_CHECKTEXT_H

#include "mpopt/Driver/Options.h"

namespace mpopt {

/// A position in the text: line and byte from 1; line 0 if it is not in the
/// text.
struct TextPlace {
  unsigned line = 0, column = 0;
};

struct TextFinding {
  Finding finding;
  /// The position of the op's name.
  TextPlace place;
  /// The positions of the finding's causes.
  std::vector<TextPlace> causes;
};

/// Checks a module in MLIR text, as `checkModel` does a file. Returns the
/// findings of `options.minCertainty` or more. Positions are those in the text,
/// also where a `loc(...)` names a source line. Weights in other files are
/// looked up beside `path`, which need not exist. The error is one line; it
/// begins with `line N: ` if its line is known.
llvm::Expected<std::vector<TextFinding>>
checkText(const Options &options, llvm::StringRef text, llvm::StringRef path);

} // namespace mpopt

#endif // MPOPT_DRIVER_CHECKTEXT_H
