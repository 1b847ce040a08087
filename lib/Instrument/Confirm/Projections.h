//===- Projections.h - Random sums of a run's tensors -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A monitor adds them to the history beside its record: of each tensor 32 sums
// with signs that its elements have in every run, and its norm
// (python/mpopt/monitor/projections.py). Two runs are compared by them element
// by element, where moments only see what moves a tensor as a whole.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_INSTRUMENT_CONFIRM_PROJECTIONS_H
#define MPOPT_INSTRUMENT_CONFIRM_PROJECTIONS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace mpopt::confirming {

/// Those of a run. A history that is not there or is damaged has none, or those
/// of its whole lines: what is missing is compared by moments alone.
class Projections {
public:
  static constexpr unsigned kCount = 32;

  static Projections read(llvm::ArrayRef<std::string> records);

  /// A lower bound of the norm of what `other` differs by, of the norm of this
  /// one's tensor, in the steps that both have: with probability 0.999 for
  /// errors that do not know the signs. Nothing where there is no such step, or
  /// the tensor is 0.
  std::optional<double> findDistance(const Projections &other,
                                     llvm::StringRef kind,
                                     llvm::StringRef tensor) const;

  /// The formats below 32 bits that the run had in use.
  std::map<std::string, bool> formats;

private:
  /// Sums and norm.
  using Numbers = std::array<double, kCount + 1>;
  /// By file and step.
  using Steps = std::map<std::pair<size_t, uint64_t>, Numbers>;

  void readLine(llvm::StringRef line, size_t file);

  std::map<std::pair<std::string, std::string>, Steps> tensors;
};

} // namespace mpopt::confirming

#endif // MPOPT_INSTRUMENT_CONFIRM_PROJECTIONS_H
