//===- Loss.h - Losses that are attached to a model -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model that predicts becomes one that computes its loss. Formulas and their
// sources: docs/adjoint.md.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_ADJOINT_LOSS_H
#define MPOPT_ADJOINT_LOSS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace mpopt {

enum class LossKind {
  CrossEntropy,
  BceWithLogits,
  Bce,
  Mse,
  L1,
  SmoothL1,
  Nll,
  Kl,
  KlNormal,
  Contrastive,
  Hinge,
  Triplet,
  Focal,
  Ctc,
  PolicyGradient,
  Sum,
  Mean,
  Graph ///< a function that computes the loss
};

enum class LossReduction {
  Mean,
  Sum,
  SumThenBatchMean, ///< the sum over the size of the batch
  None
};

/// A kind of loss, with what its terms cannot choose.
struct LossKindInfo {
  LossKind kind;
  llvm::StringRef name;
  unsigned predictions;
  bool takesTarget;
  bool hasClasses; ///< reads a class axis, and may ignore a class
  /// The margin that it has by default; nothing for kinds without one.
  std::optional<double> margin = std::nullopt;
};

const LossKindInfo &getLossKindInfo(LossKind kind);

/// By name, spelled with `-` or `_`.
std::optional<LossKind> findLossKind(llvm::StringRef name);
std::optional<LossReduction> findLossReduction(llvm::StringRef name);
llvm::StringRef getLossReductionName(LossReduction reduction);
/// All kinds, for messages: `cross-entropy, bce-with-logits, ...`.
std::string listLossKinds();

/// One summand of a loss.
struct LossTerm {
  LossKind kind = LossKind::Mse;
  /// Names of outputs, as many as the kind takes; none for the model's first
  /// float ones. In the order mean, logarithm of the variance (kl-normal), and
  /// anchor, positive, negative (triplet).
  llvm::SmallVector<std::string, 1> predictions;
  /// Name of an argument, which is added unless the function has it.
  std::string target;
  double weight = 1;
  /// By default the mean.
  std::optional<LossReduction> reduction;
  std::optional<int64_t> ignoreIndex;
  /// Negative ones count from the back. By default the last of up to three
  /// axes, else axis 1.
  std::optional<int64_t> classAxis;
  /// Only the last element of the first axis that is neither batch nor classes
  /// is judged.
  bool lastPosition = false;
  /// By default the kind's.
  std::optional<double> margin;
  /// SmoothL1's square ends there: `beta` of PyTorch's smooth L1 loss (by
  /// default 1), or `delta` of Huber's, which is `delta` times as large.
  std::optional<double> beta, delta;
  /// Focal's exponent and weight of positives; by default 2 and
  /// 0.25. A negative `alpha`, as in torchvision: no weights.
  std::optional<double> gamma, alpha;
  /// The share of the target's mass that all classes share, in [0, 1).
  double labelSmoothing = 0;
  /// The share of targets that count, in [0, 1]; for estimates only.
  std::optional<double> shareCounted;
  /// The loss of kind Graph, and the file it was read from. Its arguments are
  /// outputs and arguments of the model by their names; others are targets. It
  /// has one result of one element, or one that is called `loss`.
  mlir::func::FuncOp graph;
  std::string file;

  /// As parseLossTerm reads it.
  std::string str() const;
};

/// Reads `KIND[:PREDICTION[,TARGET]]`, followed by any of `:weight=W`,
/// `:reduction=mean|sum|sum_then_batch_mean|none`, `:ignore=I`,
/// `:class_axis=A`, `:positions=last`, `:margin=M`, `:label_smoothing=S`,
/// `:beta=B`, `:delta=D`, `:gamma=G`, `:alpha=A` and `:share_counted=S`. Names
/// may have colons. The error is one line.
llvm::Expected<LossTerm> parseLossTerm(llvm::StringRef text);

/// The loss that outputs suggest: a scalar that is called so, or the only
/// output without dims; or else by name and shape of the first of floats. It
/// has no prediction if there is none.
LossTerm chooseLossTerm(mlir::func::FuncOp function);

/// Marks (kLossPartAttr) the ops of a function that holds its loss on which
/// only results depend that are terms by themselves (`sum`, `mean`). No weights
/// are among their operands, nor behind them. Where there is no other result,
/// they also depend on an argument in `targets`. Has to be called before
/// precision is applied.
void markLossPart(mlir::func::FuncOp function, llvm::ArrayRef<LossTerm> terms,
                  llvm::ArrayRef<std::string> targets);

/// Appends the sum of `terms` to the function as a result named `loss`
/// (`total_loss` where an output of that name is not the loss itself), and a
/// target of each term as an argument: class numbers i64, others floats.
/// Without terms the loss is chosen by the outputs. Computed in FP32, or in
/// FP64 for predictions in FP64, whatever the model's dtypes; so it comes after
/// precision was applied. A remark says what was chosen; the attribute
/// `mp.loss` lists the terms as LossTerm::str, `mp.loss_target` on arguments
/// says which are targets, and `mp.loss_part` is set on the ops. Returns the
/// loss.
/// Failure: a term does not fit the model, which is reported at the function.
llvm::FailureOr<mlir::Value> attachLosses(mlir::func::FuncOp function,
                                          llvm::ArrayRef<LossTerm> terms);

} // namespace mpopt

#endif // MPOPT_ADJOINT_LOSS_H
