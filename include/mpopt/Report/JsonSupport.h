//===- JsonSupport.h - Values that JSON has no form for
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_REPORT_JSONSUPPORT_H
#define MPOPT_REPORT_JSONSUPPORT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/JSON.h"

namespace mpopt {

struct Assumption;
struct BaselineEntry;
struct MemoryReport;
struct ScalingReport;
struct ModelReport;

/// A number; infinities as the strings `inf` and `-inf`, NaN as null.
llvm::json::Value jsonNumber(double value);

/// `text` as valid UTF-8: invalid bytes are replaced.
std::string jsonText(llvm::StringRef text);

/// The attribute `assumptions` of a report or ledger.
void writeAssumptions(llvm::json::OStream &json,
                      llvm::ArrayRef<Assumption> assumptions);

/// The attributes of a finding as a baseline keeps it.
void writeBaselineEntry(llvm::json::OStream &json, const BaselineEntry &entry);

/// The attribute `memory` of a training step.
/// Writes `fp8`, or `sensitivity`.
void writeScaling(llvm::json::OStream &json, const ScalingReport &report);
void writeMemory(llvm::json::OStream &json, const MemoryReport &memory);

/// The attributes of an `mpopt-report/1` object. `more`, unless it is null,
/// writes further ones into the finding of that index.
void writeReportFields(llvm::json::OStream &json, const ModelReport &report,
                       llvm::StringRef version,
                       llvm::function_ref<void(size_t finding)> more = nullptr);

} // namespace mpopt

#endif // MPOPT_REPORT_JSONSUPPORT_H
