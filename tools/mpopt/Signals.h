//===- Signals.h - Ends that no return value tells
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_TOOLS_MPOPT_SIGNALS_H
#define MPOPT_TOOLS_MPOPT_SIGNALS_H

namespace mpopt {

/// Before anything is opened or written: closed standard streams are taken, so
/// that no file gets their numbers; a reader that goes away (`mpopt | head`) is
/// a write error, not the end; a crash ends with status 2, one line and no
/// unfinished file.
void installSignalHandlers();

} // namespace mpopt

#endif // MPOPT_TOOLS_MPOPT_SIGNALS_H
