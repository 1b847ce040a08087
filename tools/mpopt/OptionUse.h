//===- OptionUse.h - Which options go with which action
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An option that an action does not look at is refused: a verdict in another
// precision than the one that was asked for would pass for an answer.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_MPOPT_OPTIONUSE_H
#define MPOPT_TOOLS_MPOPT_OPTIONUSE_H

#include "Options.h"

namespace mpopt {

/// `--confirm`; `--check` for what has no name of its own.
llvm::StringRef getActionName(Action action);

/// Looks at the options that LLVM's parser has seen. `--instrument` takes all
/// of `--check`; those without an effect there are warned about.
llvm::Error checkOptionUse(Action action);

} // namespace mpopt

#endif // MPOPT_TOOLS_MPOPT_OPTIONUSE_H
