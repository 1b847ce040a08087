//===- Fp8Reader.h - What the readers of FP8 settings share -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_TRAIN_FP8READER_H
#define MPOPT_LIB_TRAIN_FP8READER_H

#include "ConfigReader.h"

namespace mpopt {

// Rules by name: about what frameworks refuse or pass over, and about what
// clips, flushes or biases.
inline constexpr llvm::StringLiteral kRefused = "refused-fp8-setting";
inline constexpr llvm::StringLiteral kScaling = "fp8-scale-setting";

/// Which operands are E4M3 and which E5M2; sets that of gradients.
void judgeFormat(const Section &section, llvm::StringRef key, TrainFp8 &fp8);
/// The exponent by which delayed scales leave room.
void judgeMargin(const Section &section, llvm::StringRef key,
                 const TrainFp8 &fp8);
/// The amax history of delayed scaling, with what a framework takes where a
/// key is missing.
void judgeHistory(const Section &section, llvm::StringRef lengthKey,
                  llvm::StringRef algorithmKey, int64_t usualLength,
                  llvm::StringRef usualAlgorithm);

void readMegatronFp8(ConfigReader &reader, const Section &flags);
/// Accelerate's `fp8_config`, which counts where `mixed_precision` is fp8.
void readAccelerateFp8(ConfigReader &reader, const Section &top, bool isOn);

} // namespace mpopt

#endif // MPOPT_LIB_TRAIN_FP8READER_H
