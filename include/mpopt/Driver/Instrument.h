//===- Instrument.h - Models with probes, and back --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DRIVER_INSTRUMENT_H
#define MPOPT_DRIVER_INSTRUMENT_H

#include "mpopt/Driver/Options.h"

#include "llvm/Support/LogicalResult.h"

namespace mpopt {

// Both print their errors, and then write no file.

/// Checks the model, then writes it with probes, and beside it the ledger,
/// which names `version`.
llvm::LogicalResult instrument(const Options &options, llvm::StringRef version);

/// Writes the original of a model with probes.
llvm::LogicalResult strip(const Options &options);

} // namespace mpopt

#endif // MPOPT_DRIVER_INSTRUMENT_H
