//===- TrainConfig.h - How a model is trained, read from a file -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A training configuration as plain data. Fields that a file leaves open have
// no value, so that command-line options and defaults can fill them. A default
// that a framework's file implies (DeepSpeed's scaler once `fp16` is enabled)
// is filled in by the reader of that format. docs/train-config.md lists the
// keys of each format.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TRAIN_TRAINCONFIG_H
#define MPOPT_TRAIN_TRAINCONFIG_H

#include "mpopt/Train/Fp8Config.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mpopt {

enum class TrainFormat {
  Own,
  DeepSpeed,
  HuggingFace,
  Accelerate,
  Megatron,
  Lightning,
  Torchtitan,
  Torchao,
  Fp8Recipe
};

/// "DeepSpeed", "Hugging Face TrainingArguments", ...
llvm::StringRef toString(TrainFormat format);

/// The storage of a tensor of the training step.
enum class TrainType { F64, F32, F16, BF16, F8, F8E5M2, Int8, Int4 };

/// "f32", "bf16", ...
llvm::StringRef toString(TrainType type);

/// The type of any usual spelling (`fp16`, `half`, `torch.float16`, `f16`).
std::optional<TrainType> parseTrainType(llvm::StringRef text);

/// One term of the loss; the loss is the sum of the terms.
struct TrainLossTerm {
  /// As options spell it, with `-`: `cross-entropy`, `bce-with-logits`,
  /// `custom`; or the path of an `.onnx` or `.mlir` file.
  std::string kind;
  /// Names of outputs, separated by commas where the kind takes several.
  std::optional<std::string> prediction;
  std::optional<std::string> target;
  std::optional<double> weight;
  /// `mean`, `sum`, `none`, or `sum-then-batch-mean`: summed, then divided by
  /// the first axis only.
  std::optional<std::string> reduction;
  /// The target value that is left out.
  std::optional<int64_t> ignore;
  /// The share of targets that are not left out.
  std::optional<double> shareCounted;
  std::optional<int64_t> classAxis;
  /// `all`, or `last`: the positions that count.
  std::optional<std::string> positions;
  /// True if the right answers of a contrastive loss are on the diagonal.
  std::optional<bool> diagonal;
  /// Only some kinds have one.
  std::optional<double> margin, labelSmoothing;
  /// Numbers of smooth-l1 (`delta` is Huber's) and of focal.
  std::optional<double> beta, delta, gamma, alpha;
  /// A description in words, of a `custom` term.
  std::optional<std::string> text;
};

/// The values of an input or target, as far as they are declared.
struct TrainValues {
  std::string name;
  std::optional<double> lo, hi, mean, std;
  std::optional<std::string> dtype;
  /// -1 is a dimension that is not known.
  std::optional<std::vector<int64_t>> shape;
  /// The exponent of Zipf's law, which integers follow.
  std::optional<double> zipf;
};

struct TrainOptimizer {
  /// sgd, adam, adamw, adafactor, lion, lamb, rmsprop or adagrad.
  std::optional<std::string> name;
  std::optional<double> learningRate, epsilon, beta1, beta2, momentum,
      weightDecay;
  std::optional<TrainType> state;
  /// True if FP32 copies of 16-bit parameters are what is updated.
  std::optional<bool> master;
};

enum class ScalerKind { None, Dynamic, Static };

struct TrainScaler {
  std::optional<ScalerKind> kind;
  /// The first loss scale, or the only one. Positive.
  std::optional<double> initial;
  std::optional<double> growth, backoff;
  /// Good steps until the scale grows.
  std::optional<int64_t> interval;
  /// Overflows until the scale shrinks.
  std::optional<int64_t> hysteresis;
  std::optional<double> minimum;
};

struct TrainBatch {
  /// Samples of one forward pass of one worker; passes that are accumulated;
  /// workers whose gradients are summed (model-parallel ranks do not count).
  std::optional<int64_t> micro, accumulate, world;
  /// Samples of one optimizer step: the product of the three.
  std::optional<int64_t> total;
};

enum class ReduceDivision { Before, After };

struct TrainReduce {
  std::optional<TrainType> type;
  /// The dtype of the buffer to which each pass adds its gradients; that of the
  /// gradients if none is declared.
  std::optional<TrainType> accumulate;
  /// The factor by which workers divide before the sum; the rest of the mean's
  /// divisor comes after it.
  std::optional<double> predivide;
  /// True if the factor is chosen from the number of workers (about its root).
  std::optional<bool> predivideAuto;
  /// When the sum over workers is divided by their number.
  std::optional<ReduceDivision> division;
};

enum class ShardingKind { None, Zero, Fsdp };

struct TrainSharding {
  std::optional<ShardingKind> kind;
  /// 0: nothing is sharded; 1: optimizer state; 2: gradients, too; 3:
  /// parameters, too.
  std::optional<int64_t> stage;
  /// The types to which the policy casts parameters, what is reduced, buffers.
  std::optional<TrainType> parameters, reduce, buffers;
  /// True if activations are recomputed in the backward pass.
  std::optional<bool> checkpointing;
};

struct TrainConfig {
  TrainFormat format = TrainFormat::Own;

  std::vector<TrainLossTerm> lossTerms;
  std::optional<double> lossValue;
  /// The name of an output that is the loss.
  std::optional<std::string> lossOutput;
  std::vector<TrainValues> inputs, targets;
  /// False if targets are independent of the inputs.
  std::optional<bool> targetsRelated;
  std::optional<int64_t> stepsDone;
  /// Bytes of a rank, into which the step is to fit.
  std::optional<double> rankMemory;
  std::vector<std::string> outputs, parameters;

  TrainOptimizer optimizer;
  TrainScaler scaler;
  TrainBatch batch;
  TrainReduce reduce;
  /// The greatest norm of the gradient; 0 if the file says that none is
  /// clipped.
  std::optional<double> clip;
  TrainSharding sharding;
  /// As `--precision` spells it, or `fp32`.
  std::optional<std::string> precision;
  TrainFp8 fp8;
  /// Settings that are wrong by the file alone.
  std::vector<TrainFault> faults;

  /// One line each, `FILE: KEY: TEXT`.
  std::vector<std::string> warnings;
};

/// Reads a configuration whose format is told by its content. The error is one
/// line, `FILE: KEY: TEXT`, or `FILE: TEXT` where it is about no key.
llvm::Expected<TrainConfig> readTrainConfig(llvm::StringRef path);

/// The same of a text; `origin` is what messages call it.
llvm::Expected<TrainConfig> parseTrainConfig(llvm::StringRef text,
                                             llvm::StringRef origin);

} // namespace mpopt

#endif // MPOPT_TRAIN_TRAINCONFIG_H
