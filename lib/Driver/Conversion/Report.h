//===- Report.h - The report of a conversion --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_DRIVER_CONVERSION_REPORT_H
#define MPOPT_LIB_DRIVER_CONVERSION_REPORT_H

#include "Work.h"

#include "mpopt/Convert/Convert.h"
#include "mpopt/Driver/Options.h"
#include "mpopt/Report/Report.h"

#include <set>

namespace mpopt {

/// A value of the result beside that of the source, over all runs.
struct VerifiedValue {
  std::string name;
  double error = 0;   ///< largest difference, of the largest magnitude
  double changed = 0; ///< share of the integers that differ
  uint64_t lost = 0;  ///< elements that are finite in the source alone
  std::string misfit; ///< "has shape [1], not [2]"; empty if it fits
};

/// Both models in ONNX Runtime, with every rounding.
struct VerifiedConversion {
  unsigned runs = 0;
  std::vector<VerifiedValue> outputs, tensors;
};

/// A conversion that was carried out and analysed again.
struct JudgedConversion {
  Conversion made;
  Work work; ///< of the result
  /// True if the model was as asked already.
  bool isCopy = false;
  /// Largest expected error of an output; nothing if it is not known.
  std::optional<double> error;
  /// Only with `--verify`.
  std::optional<VerifiedConversion> verified;
  /// The obstacle to the error that was asked for; empty if there is none.
  std::string obstacle;
  uint64_t nodes = 0;
  /// Those that were made before, and for which findings.
  std::vector<std::string> fixes;
};

/// `mpopt-convert/1`.
void writeConversion(llvm::raw_ostream &os, const Options &options,
                     const JudgedConversion &judged, llvm::StringRef version);

/// One line for the terminal.
std::string sumUp(const Options &options, const JudgedConversion &judged);

/// Findings of a range above a note: Inf, NaN, zeros.
std::set<std::string> listHazards(const ModelReport &report);
/// The largest expected error of an output; nothing if one is not known, or
/// nothing is stored in a low type.
std::optional<double> getLargestError(const ModelReport &report);
std::string describeError(double error, double most);

/// The note in `metadata_props`: what was asked for, and of which file.
/// `sourceHash` is 64 hex digits.
std::string makeStamp(const Options &options, llvm::StringRef sourceHash,
                      const Conversion &made);
/// True if a stamp is of the same request.
bool isStampOf(llvm::StringRef stamp, const Options &options);

} // namespace mpopt

#endif // MPOPT_LIB_DRIVER_CONVERSION_REPORT_H
