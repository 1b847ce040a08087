//===- Instrument.h - mpopt --instrument and --strip
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_MPOPT_INSTRUMENT_H
#define MPOPT_TOOLS_MPOPT_INSTRUMENT_H

#include "Options.h"

namespace mpopt {

// Both return the exit status, and say on stderr what is wrong.

/// Judges the model, then writes it with probes, and the ledger beside it.
int instrument(const Options &options);

/// Writes the original of a model with probes.
int strip(const Options &options);

} // namespace mpopt

#endif // MPOPT_TOOLS_MPOPT_INSTRUMENT_H
