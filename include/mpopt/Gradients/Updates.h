//===- Updates.h - What an optimizer's first step changes -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The first step of one parameter, as torch.optim takes it, and what a narrow
// format keeps of it: a weight takes an update that is more than half the gap
// to its neighbour. Weights are known by size, gradients by how many of them
// are below a size; both are taken as independent of each other, and gradients
// as symmetric about 0. Estimates, no bounds.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_GRADIENTS_UPDATES_H
#define MPOPT_GRADIENTS_UPDATES_H

#include "mpopt/Numerics/FloatFormat.h"
#include "mpopt/Ranges/Value/TransferContext.h"

#include <functional>
#include <map>
#include <optional>
#include <string>

namespace mpopt {

/// The weights of a parameter, by magnitude: an eighth of a binary order each,
/// and powers of two, below which the gap is half as wide, apart.
class WeightSizes {
public:
  struct Part {
    /// Their root mean square.
    double magnitude = 0;
    double count = 0;
    bool power = false;
  };

  /// One pass over the elements of a constant; those that are not finite do not
  /// count.
  static WeightSizes of(const WeightView &weights);

  void add(double weight, double count = 1);
  double count() const { return all; }
  /// 0 if there are none.
  double rms() const;
  std::vector<Part> parts() const;

private:
  struct Sum {
    double squares = 0, count = 0;
  };
  /// By eight times the binary logarithm, rounded down, and `power`.
  std::map<std::pair<int, bool>, Sum> sums;
  double zeros = 0, all = 0, squares = 0;
};

/// The gradients of a parameter over a batch, divided by the loss scale.
struct GradientMagnitudes {
  /// Root mean square, zeros included.
  double rms = 0;
  /// The share of exact zeros.
  double zero = 0;
  /// The parameter has two axes or more, of which Adafactor keeps means only.
  bool matrix = false;
  /// The share of the others whose magnitude is at most that.
  std::function<double(double)> below;
};

enum class UpdateRule {
#define OPTIMIZER(RULE, NAME, EPSILON, BETA1, BETA2, DECAY) RULE,
#include "mpopt/Gradients/Optimizers.def"
};

/// An optimizer and its settings (Optimizers.def).
struct Optimizer {
  UpdateRule rule = UpdateRule::Sgd;
  double learningRate = 0, epsilon = 0, beta1 = 0, beta2 = 0, momentum = 0,
         weightDecay = 0;

  /// Its defaults by the name that configurations have; nothing for another
  /// name. The learning rate has none and is 0.
  static std::optional<Optimizer> byName(llvm::StringRef name);

  /// Weight decay shrinks weights on its own (AdamW); else it is part of the
  /// gradient.
  bool decouples() const;
  /// There is a mean of squares of single gradients.
  bool hasSecond() const;
  /// The factor by which the first step takes a gradient's square into it.
  double secondShare() const;
  /// Size of the largest gradient that a first step leaves as 0 in the second
  /// moment, where that is stored in `format`.
  double largestFlushed(const FloatFormat &format) const;
};

/// The change that a step makes to the weights of one parameter.
class UpdateEstimate {
public:
  UpdateEstimate(const Optimizer &optimizer, const WeightSizes &weights,
                 const GradientMagnitudes &gradient);

  /// The change of a weight where the gradient has its root mean square.
  double typical() const { return std::fabs(step(size)); }
  /// The root mean square of the weights.
  double typicalWeight() const { return weight; }
  /// The share of the weights with an update that is not 0 which keep their
  /// value in `format`. Nothing if no weight has one.
  std::optional<double> lost(const FloatFormat &format) const {
    return share(format, /*idle=*/true);
  }
  /// The same of the weights whose gradient is not 0, which leaves out those
  /// that only decay: rows of an embedding that no sample had.
  std::optional<double> lostSteps(const FloatFormat &format) const {
    return share(format, /*idle=*/false);
  }
  /// The share of the weights that a step carries past the largest number of
  /// `format`; nothing if none has an update.
  std::optional<double> overflowing(const FloatFormat &format) const;
  /// The share of the weights that decay on their own would not change.
  /// Nothing without such a decay.
  std::optional<double> lostDecay(const FloatFormat &format) const;
  /// The share of the second moments that are 0 in `format`, and not exactly;
  /// nothing if the optimizer does not keep them.
  std::optional<double> flushedSecond(const FloatFormat &format) const;

private:
  std::optional<double> share(const FloatFormat &format, bool idle) const;
  double step(double gradient) const;
  double inverse(double change) const;
  double cumulative(double gradient) const;
  double shareBelow(double limit) const;

  Optimizer optimizer;
  std::vector<WeightSizes::Part> parts;
  GradientMagnitudes gradient;
  /// The root mean square of non-zero gradients, weight decay included.
  double size = 0;
  /// The learning rate times the factor of the optimizer.
  double rate = 0;
  double weight = 0;
};

/// The part of its value at which a running mean of squares, stored in
/// `format`, stops to decay when squares become 0: 1 if it does not decay at
/// all, 0 if it always does. Between two powers of two it stops where v (1 -
/// beta2) is half a gap.
double stopOfDecay(double beta2, const FloatFormat &format);

} // namespace mpopt

#endif // MPOPT_GRADIENTS_UPDATES_H
