//===- TrainingFacts.h - How a model is trained, for rules ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The declaration of a training step beside its loss, which travels in one
// dictionary on the function (kTrainingStepAttr, Settings.h). Fields that are
// not declared have no value; types are null.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_HAZARDS_TRAININGFACTS_H
#define MPOPT_HAZARDS_TRAININGFACTS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Types.h"

#include <cstdint>
#include <optional>
#include <string>

namespace mpopt {

struct OptimizerFacts {
  /// sgd, adam, adamw, adafactor, lion, lamb, rmsprop or adagrad; empty if none
  /// is declared.
  std::string name;
  std::optional<double> learningRate, epsilon, beta1, beta2, momentum,
      weightDecay;
  /// The storage of its state.
  mlir::Type state;
  /// True if FP32 copies of 16-bit parameters are what is updated.
  std::optional<bool> master;
};

enum class ScalerMode { None, Dynamic, Fixed };

/// A loss scaler as declared.
struct ScalerFacts {
  std::optional<ScalerMode> mode;
  /// The first scale, or the only one.
  std::optional<double> initial;
  std::optional<double> growth, backoff;
  /// Good steps until the scale grows; overflows until it shrinks.
  std::optional<int64_t> interval, hysteresis;
  std::optional<double> minimum;
};

/// A loss scaler with torch.amp.GradScaler's values for what is not declared.
struct LossScaler {
  ScalerMode mode = ScalerMode::None;
  double initial = 1, growth = 2, backoff = 0.5, minimum = 0;
  int64_t interval = 2000, hysteresis = 1;
  /// The scaler, and its first scale, are defaults and not declared.
  bool isDefault = false, isDefaultInitial = false;
};

struct BatchFacts {
  /// Samples of one forward pass of one worker; passes that are accumulated;
  /// workers whose gradients are summed.
  std::optional<int64_t> micro, accumulate, world;
};

struct ReduceFacts {
  /// The dtype in which workers add their gradients.
  mlir::Type type;
  /// That of the buffer to which passes add them; null: the gradients' own.
  mlir::Type accumulate;
  /// The factor by which workers divide before the sum.
  std::optional<double> predivide;
  /// The factor is chosen from the number of workers (about its root).
  bool predivideAuto = false;
  /// True: the sum over workers is divided; false: they divide before it.
  std::optional<bool> dividesAfter;
};

enum class ShardingMode { None, Zero, Fsdp };

struct ShardingFacts {
  std::optional<ShardingMode> mode;
  /// 0: nothing is sharded; 1: optimizer state; 2: gradients, too; 3:
  /// parameters, too.
  std::optional<int64_t> stage;
  /// The types to which the policy casts parameters, what is reduced, buffers.
  mlir::Type parameters, reduce, buffers;
};

struct TrainingFacts {
  OptimizerFacts optimizer;
  ScalerFacts scaler;
  BatchFacts batch;
  ReduceFacts reduce;
  /// The greatest norm of the gradient; 0 if it is declared that none is
  /// clipped.
  std::optional<double> clip;
  ShardingFacts sharding;

  /// Those of the first function of `module` that declares some; without one
  /// nothing is declared. Entries that are not known, or of another type, are
  /// passed over.
  static TrainingFacts of(mlir::Operation *module);
  /// The dictionary from which `of` reads them.
  mlir::DictionaryAttr toAttribute(mlir::MLIRContext *context) const;

  /// The scaler in force: as declared, or a dynamic one where nothing is and
  /// gradients are computed in FP16 (`inF16`).
  LossScaler getScaler(bool inF16) const;
};

/// True if a training step computes the gradients of the op's function.
bool isTrained(mlir::Operation *op);

} // namespace mpopt

#endif // MPOPT_HAZARDS_TRAININGFACTS_H
