//===- Progress.h - A line that says what takes long ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DRIVER_PROGRESS_H
#define MPOPT_DRIVER_PROGRESS_H

#include "llvm/ADT/StringRef.h"

#include <memory>

namespace mpopt {

/// A line on standard error for steps of over a second, with the seconds that
/// passed; it is gone once the step is over. Nothing is written where standard
/// error is no terminal.
class Progress {
public:
  explicit Progress(bool quiet);
  ~Progress();

  /// Begins a step.
  void show(llvm::StringRef text);
  /// Ends the step.
  void clear();

private:
  struct Line;
  std::unique_ptr<Line> line; ///< Null if nothing is to be written.
};

} // namespace mpopt

#endif // MPOPT_DRIVER_PROGRESS_H
