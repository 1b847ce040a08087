//===- Rules.h - Passes that find
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_PASSES_RULES_RULES_H
#define MPOPT_PASSES_RULES_RULES_H

#include "passes/rules/RulePass.h"

namespace mpopt {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/rules/Rules.h.inc"

} // namespace mpopt

#endif // MPOPT_PASSES_RULES_RULES_H
