//===- RunRules.h - Findings from the record alone --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_INSTRUMENT_CONFIRM_RUNRULES_H
#define MPOPT_INSTRUMENT_CONFIRM_RUNRULES_H

#include "mpopt/Instrument/Confirm.h"

namespace mpopt::confirming {

/// MP501 to MP504 where no confirmed finding says the same. Appends to the
/// report's findings and to `confirmation.statuses`, which has to have those of
/// the other findings.
void addRunFindings(Ledger &ledger, const RunRecords &runs,
                    const ConfirmOptions &options, Confirmation &confirmation);

/// Appends MP512 for the first tensor of each kind in which the runs of
/// `confirmation.against` differ, unless the rule is not selected.
void addDivergence(Ledger &ledger, const ConfirmOptions &options,
                   Confirmation &confirmation);

} // namespace mpopt::confirming

#endif // MPOPT_INSTRUMENT_CONFIRM_RUNRULES_H
