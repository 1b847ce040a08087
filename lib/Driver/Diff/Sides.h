//===- Sides.h - The two sides of a comparison ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_DRIVER_DIFF_SIDES_H
#define MPOPT_LIB_DRIVER_DIFF_SIDES_H

#include "mpopt/Driver/Diff.h"

namespace mpopt::diffing {

/// A side that is a model or a report of `--format json`. Nothing if it is at
/// fault, which is printed.
std::optional<DiffSide> readModelSide(const Options &options,
                                      llvm::StringRef path);

/// A side that is a run: its records, or folders of them, are merged. Nothing
/// if one is at fault, which is printed.
std::optional<DiffSide> readRecordSide(const Options &options,
                                       llvm::ArrayRef<std::string> paths);

/// Sets the verdict on two sides that are records of trainings.
void judgeCourses(const Options &options, DiffReport &diff);

/// `name`, that of a side's first path, and how many more there are.
std::string getLabel(const DiffSide &side, llvm::StringRef name);

/// Makes the tensors that have findings, each with them, the ops of a side: all
/// that a report knows.
void listFoundOps(DiffSide &side);

/// True if `path` is a folder, or a regular file that begins as records do.
bool isRecord(llvm::StringRef path);

/// True if the name is that of a float format of 16 or 8 bits.
bool isNarrow(llvm::StringRef dtype);

/// The attributes of `mpopt-diff/1`.
void writeDiffFields(llvm::json::OStream &json, const DiffReport &diff,
                     llvm::StringRef version);

/// A page with both reports, and the comparison in the second.
void writeDiffHtml(llvm::raw_ostream &os, const DiffReport &diff,
                   const WriteOptions &options);

} // namespace mpopt::diffing

#endif // MPOPT_LIB_DRIVER_DIFF_SIDES_H
