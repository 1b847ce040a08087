//===- SourceText.h - Lines of the model's own program ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_REPORT_SOURCETEXT_H
#define MPOPT_LIB_REPORT_SOURCETEXT_H

#include "mpopt/Report/Finding.h"

#include <optional>
#include <string>

namespace mpopt {

/// The line without its indentation, printable and not overlong. Nothing if the
/// file is not there, is no plain file, or has no such line: a model often
/// comes from another machine.
std::optional<std::string> readSourceLine(const SourceLine &place);

} // namespace mpopt

#endif // MPOPT_LIB_REPORT_SOURCETEXT_H
