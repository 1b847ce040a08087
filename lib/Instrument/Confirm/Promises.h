//===- Promises.h - Assumptions that did not hold, bounds that broke ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_INSTRUMENT_CONFIRM_PROMISES_H
#define MPOPT_INSTRUMENT_CONFIRM_PROMISES_H

#include "mpopt/Instrument/Confirm.h"

namespace mpopt::confirming {

std::vector<Outside> findOutside(const Ledger &ledger, const RunRecords &runs);

/// Where the run computed what was judged, and `confirmation.outside` is empty:
/// how many tensors could be compared, and which were not as promised. Statuses
/// have to be there.
void findExceeded(const Ledger &ledger, const RunRecords &runs,
                  Confirmation &confirmation);

} // namespace mpopt::confirming

#endif // MPOPT_INSTRUMENT_CONFIRM_PROMISES_H
