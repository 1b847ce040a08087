//===- Ledger.h - The ledger of a model's probes ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `OUT.probes.json`, schema `mpopt-probes/1` (docs/probes.md). Its SHA-256 is
// in every probe of the model and in every record, so that a record is never
// read with another model's ledger.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_INSTRUMENT_LEDGER_H
#define MPOPT_INSTRUMENT_LEDGER_H

#include "mpopt/Instrument/Plan.h"
#include "mpopt/Report/Keep.h"
#include "mpopt/Report/Report.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace mpopt {

struct Ledger {
  std::string modelSha256;
  /// `op` or `outputs`: how the model looks at its tensors.
  std::string probeWith;
  ProbePlan plan;
  /// The verdict that the probes are to prove: findings of every certainty.
  ModelReport report;
  /// The ops to keep in FP32 to avoid its warnings and errors.
  std::vector<KeptOpRef> keep;
};

/// The file's bytes.
std::string writeLedger(const Ledger &ledger, llvm::StringRef version);

/// The error is one line and tells what the text is instead of a ledger.
llvm::Expected<Ledger> readLedger(llvm::StringRef text);

} // namespace mpopt

#endif // MPOPT_INSTRUMENT_LEDGER_H
