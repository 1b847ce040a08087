//===- Convert.h - mpopt --convert ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DRIVER_CONVERT_H
#define MPOPT_DRIVER_CONVERT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace mpopt {

struct Options;

/// State that one call of the model gives to the next.
struct CarriedState {
  std::string input, output;
  unsigned steps = 0; ///< calls over which it is judged; 0: not known
};

/// The options of `--convert` beside those of judging.
struct ConvertOptions {
  std::string to = "mixed-fp16";
  std::optional<double> maxError; ///< nothing: that of the format
  /// The least share of the multiplications that has to be low.
  double minLow = 0;
  std::vector<std::string> keep, never, assumed;
  bool keepsAllIo = false;
  std::vector<std::string> keepIo;
  std::string report; ///< a file; may be empty
  /// A file of feeds, `random` or `random:N`: the result is run beside the
  /// source. Empty: it is not.
  std::string verify;
  /// The opset of ONNX's own domain; 0: that of the file.
  unsigned opset = 0;
  std::vector<CarriedState> states;
  bool verifiesTensors = false; ///< inner tensors, too
  bool writesAnyway = false;
  bool withFixes = false; ///< the safe ones of `--fix` first

  bool isHalf() const { return to == "mixed-fp16" || to == "fp16"; }
  /// Ops stay in FP32 where the error asks for it.
  bool isMixed() const { return llvm::StringRef(to).starts_with("mixed-"); }
};

/// A number between 0 and `most`; the error names the option.
llvm::Expected<double> parseShare(llvm::StringRef option, llvm::StringRef text,
                                  double most);

/// Writes the model in another precision, and the report; returns the exit
/// status. Errors are printed, and then no file is written.
int convert(const Options &options, llvm::StringRef version);

} // namespace mpopt

#endif // MPOPT_DRIVER_CONVERT_H
