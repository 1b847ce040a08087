//===- SavedTensors.h - What a forward pass keeps ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tensors that PyTorch's autograd would save between the forward and the
// backward pass, by storage: two views of one tensor are one. docs/training.md
// has the rules and where they come from.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_ADJOINT_SAVEDTENSORS_H
#define MPOPT_ADJOINT_SAVEDTENSORS_H

#include "mpopt/Adjoint/Differentiate.h"

#include "mlir/IR/Block.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>
#include <string>
#include <vector>

namespace mpopt {

/// A storage that is kept.
struct SavedTensor {
  /// The tensor that fills it; of what the model has no value for (statistics,
  /// masks) a result of the op that makes it.
  mlir::Value value;
  mlir::Type elementType;
  /// Nothing if a dim, or the number of iterations, is not known.
  std::optional<int64_t> bytes;
  /// It is the value itself, no copy and nothing that the op makes beside it.
  bool isValue = true;
  /// False for what is computed from weights alone: their casts.
  bool followsInput = true;
  /// The ops of the model's main graph whose gradients read it.
  llvm::SmallVector<mlir::Operation *, 2> readers;
};

struct SavedTensors {
  std::vector<SavedTensor> tensors;

  /// The bytes that are known, with those that grow with the batch multiplied
  /// by `batch`.
  double bytes(double batch = 1) const;
  unsigned unknown() const;
};

/// The tensors saved for gradients in `block` that read `reads`.
SavedTensors findSavedTensors(mlir::Block &block,
                              llvm::ArrayRef<OpReads> reads);

/// A part of the model that checkpointing computes again.
struct CheckpointedBlock {
  /// `layers.3`.
  std::string name;
  /// Saved inside, and not kept anyway.
  double bytes = 0;
};

/// The same with checkpointing, block by block (`torch.utils.checkpoint`): what
/// goes into blocks and what others save stays; what a block saves is there
/// while its gradient is computed.
struct Checkpoints {
  std::vector<CheckpointedBlock> blocks;
  /// The bytes that stay, and the most that are there at once.
  double kept = 0, peak = 0;
};

/// The blocks by the names of parameters: those that differ in one number are
/// of blocks that repeat. `nameOf` is empty for values that are no parameters.
/// Nothing if no block repeats, or if they overlap.
std::optional<Checkpoints>
findCheckpoints(mlir::Block &block, const SavedTensors &saved, double batch,
                llvm::function_ref<llvm::StringRef(mlir::Value)> nameOf);

/// The name of the block to which a parameter of this name belongs:
/// `layers.3` of `layers.3.up.weight`. Empty if it is in none.
std::string getBlockName(llvm::StringRef parameter);

} // namespace mpopt

#endif // MPOPT_ADJOINT_SAVEDTENSORS_H
