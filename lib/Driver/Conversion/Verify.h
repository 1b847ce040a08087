//===- Verify.h - A conversion that runs beside its source ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_DRIVER_CONVERSION_VERIFY_H
#define MPOPT_LIB_DRIVER_CONVERSION_VERIFY_H

#include "Report.h"
#include "Shapes.h"

#include "mpopt/Report/Report.h"

namespace mpopt {

/// The inputs of random runs.
struct AssumedInputs {
  std::vector<Assumption> assumptions;
  std::vector<ShapedInput> shapes;
};

/// The borders of files of PyTorch, which a run needs.
struct TorchBorders {
  llvm::ArrayRef<ConvertedBorder> io;
  /// Names of all outputs in their order.
  llvm::ArrayRef<std::string> outputs;
};

/// Runs the model in the file `result` beside the one in `source`, as
/// `--verify` asks: in ONNX Runtime, all roundings of both restored, or, with
/// `borders`, in PyTorch. The error is one line.
llvm::Expected<VerifiedConversion>
verifyConversion(const Options &options, llvm::StringRef source,
                 llvm::StringRef result, const AssumedInputs &inputs,
                 const TorchBorders *borders = nullptr);

/// `measured 0.123 % in 8 runs`.
std::string describe(const VerifiedConversion &verified);

/// Errors of less are asked for. Where nothing is said they are four times what
/// is wanted, 0.5 % to FP16 and 3 % to BF16: estimates are within that factor
/// (docs/effect.md), and nothing is kept of a model that is sound. The aim for
/// FP8 is the wanted error: sound models are at 5 to 10 %.
double getMaxError(const ConvertOptions &asked);

/// The obstacle to an error of `most`; empty if there is none.
std::string findObstacle(const VerifiedConversion &verified, double most);

} // namespace mpopt

#endif // MPOPT_LIB_DRIVER_CONVERSION_VERIFY_H
