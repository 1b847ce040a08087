//===- SeenText.h - What probes saw, in words -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_INSTRUMENT_CONFIRM_SEENTEXT_H
#define MPOPT_INSTRUMENT_CONFIRM_SEENTEXT_H

#include "mpopt/Instrument/Confirm.h"
#include "mpopt/Report/TextStyle.h"

namespace mpopt::confirming {

/// Four digits.
std::string num(double value);

/// `name (op, type)`.
std::string describeProbe(const Probe &probe);

/// `gradient` or `value`.
llvm::StringRef getNoun(bool isGradient);

/// `1024 values in [-3, 7.1e+04], 12 that are Inf in f16, 0.1 bits past
/// overflow, 8 above flush`; the noun is of one. `zeros`: how many are 0
/// matters, too.
std::string describeSeen(const ProbeSight &seen, llvm::StringRef judged,
                         llvm::StringRef noun = "value", bool zeros = false);

/// `2^-3 (0.1 % lost)`; `values` are those that are not 0.
std::string describeScale(const BestScale &scale, uint64_t values);

/// Where NaN and Inf began: values or gradients.
struct BeginningText {
  llvm::raw_ostream &os;
  TextStyle &style;
  const ProbePlan &plan;
  llvm::ArrayRef<ProbeSight> sights; ///< by probe
  llvm::ArrayRef<BadValues> bad;     ///< by probe
  bool areGradients;

  void write(llvm::ArrayRef<FirstBad> beginnings) const;

private:
  std::string describe(int64_t probe) const;
  void writeBefore(const FirstBad &first) const;
  void writeOthers(llvm::ArrayRef<FirstBad> others) const;
};

} // namespace mpopt::confirming

#endif // MPOPT_INSTRUMENT_CONFIRM_SEENTEXT_H
