//===- Memory.h - What each worker holds and sends --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes of a training step by how it is sharded, of the worker that holds most.
// docs/training.md has the formulas and their sources. Activations do not
// depend on the sharding of what is trained and are not here.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TRAIN_MEMORY_H
#define MPOPT_TRAIN_MEMORY_H

#include "mpopt/Train/TrainConfig.h"

#include "llvm/ADT/ArrayRef.h"

namespace mpopt {

/// A parameter as the model stores it.
struct ParameterShape {
  std::vector<int64_t> dims;
  TrainType type = TrainType::F32;
  /// The block of the model that it belongs to; empty if it is in none.
  std::string block;
};

/// How a step is spread over workers.
enum class ShardingScheme {
  Replicated, ///< DDP, ZeRO 0: every worker has all
  Zero1,      ///< optimizer state and master copies are shared out
  Zero2,      ///< gradients, too
  Zero3,      ///< parameters, too
  Fsdp        ///< the same by FSDP's rules
};
inline constexpr ShardingScheme kShardingSchemes[] = {
    ShardingScheme::Replicated, ShardingScheme::Zero1, ShardingScheme::Zero2,
    ShardingScheme::Zero3, ShardingScheme::Fsdp};

/// "DDP", "ZeRO 1", ...
llvm::StringRef toString(ShardingScheme scheme);

/// The scheme that a configuration asks for.
ShardingScheme getScheme(const TrainConfig &config);

/// Bytes of one worker.
struct SchemeMemory {
  /// As they are kept; what is put together of shards while a block runs.
  double parameters = 0, gathered = 0;
  /// FP32 copies of parameters of 16 bits.
  double masters = 0;
  double gradients = 0;
  /// Nothing without an optimizer.
  std::optional<double> state;
  /// Sent to others in a step.
  double sent = 0;

  double total() const {
    return parameters + gathered + masters + gradients + state.value_or(0);
  }
};

/// The bytes of an element. Less than 1 of 4 bits.
double getBytes(TrainType type);

/// Tensors of the optimizer's state, of the shape of the parameter, and what
/// it has beside them, in bytes. Nothing if no optimizer is declared.
std::optional<double> getStateBytes(const TrainOptimizer &optimizer,
                                    const ParameterShape &parameter);

SchemeMemory computeMemory(ShardingScheme scheme,
                           llvm::ArrayRef<ParameterShape> parameters,
                           const TrainConfig &config);

} // namespace mpopt

#endif // MPOPT_TRAIN_MEMORY_H
