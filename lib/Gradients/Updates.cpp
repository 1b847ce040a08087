//===- Updates.cpp - What an optimizer's first step changes
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rates, schedules and bias corrections are those of the first step: Adam's
// corrected moments are then the gradient and its square.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Gradients/Updates.h"

#include "mpopt/Numerics/Infinity.h"

#include "llvm/ADT/StringSwitch.h"

#include <algorithm>
#include <cmath>

using namespace mpopt;
using llvm::MutableArrayRef;
using llvm::StringRef;

/// Adafactor's least scale of a parameter (eps2 of torch.optim).
static constexpr double kLeastScale = 1e-3;
/// Elements that are read at once.
static constexpr int64_t kChunk = 4096;

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

void WeightSizes::add(double weight, double count) {
  if (!std::isfinite(weight))
    return;
  all += count;
  squares += weight * weight * count;
  if (weight == 0) {
    zeros += count;
    return;
  }
  int exponent;
  // In [0.5, 1).
  double fraction = std::frexp(std::fabs(weight), &exponent);
  int eighth = int((fraction - 0.5) * 16);
  Sum &sum = sums[{exponent * 8 + eighth, fraction == 0.5}];
  sum.squares += weight * weight * count;
  sum.count += count;
}

WeightSizes WeightSizes::of(const WeightView &weights) {
  WeightSizes result;
  int64_t size = weights.size();
  if (weights.splat) {
    double value;
    weights.read(0, value);
    result.add(value, double(size));
    return result;
  }
  std::vector<double> chunk(std::min(size, kChunk));
  for (int64_t first = 0; first < size; first += kChunk) {
    MutableArrayRef<double> part(chunk);
    part = part.take_front(std::min(kChunk, size - first));
    weights.read(first, part);
    for (double value : part)
      result.add(value);
  }
  return result;
}

double WeightSizes::rms() const { return all ? std::sqrt(squares / all) : 0; }

std::vector<WeightSizes::Part> WeightSizes::parts() const {
  std::vector<Part> result;
  if (zeros)
    result.push_back({0, zeros, false});
  for (const auto &[key, sum] : sums)
    result.push_back(
        {std::sqrt(sum.squares / sum.count), sum.count, key.second});
  return result;
}

//===----------------------------------------------------------------------===//
// Optimizers
//===----------------------------------------------------------------------===//

std::optional<Optimizer> Optimizer::byName(StringRef name) {
  return llvm::StringSwitch<std::optional<Optimizer>>(name)
#define OPTIMIZER(RULE, NAME, EPSILON, BETA1, BETA2, DECAY)                    \
  .Case(#NAME, Optimizer{UpdateRule::RULE, 0, EPSILON, BETA1, BETA2, 0, DECAY})
#include "mpopt/Gradients/Optimizers.def"
      .Default(std::nullopt);
}

bool Optimizer::decouples() const {
  return rule == UpdateRule::AdamW || rule == UpdateRule::Lion ||
         rule == UpdateRule::Lamb || rule == UpdateRule::Adafactor;
}

bool Optimizer::hasSecond() const {
  return rule == UpdateRule::Adam || rule == UpdateRule::AdamW ||
         rule == UpdateRule::Lamb || rule == UpdateRule::RmsProp ||
         rule == UpdateRule::Adagrad;
}

double Optimizer::secondShare() const {
  return rule == UpdateRule::Adagrad ? 1 : 1 - beta2;
}

double Optimizer::largestFlushed(const FloatFormat &format) const {
  return std::sqrt(format.flushAt / secondShare());
}

//===----------------------------------------------------------------------===//
// A step
//===----------------------------------------------------------------------===//

UpdateEstimate::UpdateEstimate(const Optimizer &optimizer,
                               const WeightSizes &weights,
                               const GradientMagnitudes &gradient)
    : optimizer(optimizer), parts(weights.parts()), gradient(gradient),
      rate(optimizer.learningRate), weight(weights.rms()) {
  double live = std::max(1 - gradient.zero, 1e-9);
  size = gradient.rms / std::sqrt(live);
  double decay = optimizer.weightDecay, rms = weight;
  if (!optimizer.decouples())
    size = std::hypot(size, decay * rms);
  if (optimizer.rule == UpdateRule::Adafactor)
    rate = std::min(rate, 1.0) * std::max(kLeastScale, rms);
  // A layer-wise step has the weights' size times the rate.
  if (optimizer.rule == UpdateRule::Lamb && rms > 0) {
    double relative = size / (size + optimizer.epsilon) * std::sqrt(live);
    double all = std::hypot(relative, decay * rms);
    if (all > 0)
      rate *= rms / all;
  }
}

/// The change that a gradient makes, in its own direction and without a decay
/// of its own.
double UpdateEstimate::step(double gradient) const {
  double magnitude = std::fabs(gradient), epsilon = optimizer.epsilon;
  double change = 0;
  if (magnitude > 0)
    switch (optimizer.rule) {
    case UpdateRule::Sgd:
      change = rate * magnitude;
      break;
    case UpdateRule::Lion:
      change = rate;
      break;
    case UpdateRule::Adafactor:
      change =
          this->gradient.matrix && size > 0 ? rate * magnitude / size : rate;
      break;
    case UpdateRule::RmsProp:
      change = rate * magnitude /
               (std::sqrt(optimizer.secondShare()) * magnitude + epsilon);
      break;
    case UpdateRule::Adam:
    case UpdateRule::AdamW:
    case UpdateRule::Lamb:
    case UpdateRule::Adagrad:
      change = rate * magnitude / (magnitude + epsilon);
      break;
    }
  return std::copysign(change, gradient);
}

/// The gradient up to which changes are at most `change`.
double UpdateEstimate::inverse(double change) const {
  double most = std::fabs(change), epsilon = optimizer.epsilon;
  double result = 0;
  switch (optimizer.rule) {
  case UpdateRule::Sgd:
    result = rate > 0 ? most / rate : kInfinity;
    break;
  case UpdateRule::Adafactor:
    if (gradient.matrix && size > 0) {
      result = rate > 0 ? most / rate * size : kInfinity;
      break;
    }
    [[fallthrough]];
  case UpdateRule::Lion:
    result = most < rate ? 0 : kInfinity;
    break;
  case UpdateRule::RmsProp: {
    double full = std::sqrt(optimizer.secondShare());
    result =
        full * most < rate ? most * epsilon / (rate - full * most) : kInfinity;
    break;
  }
  case UpdateRule::Adam:
  case UpdateRule::AdamW:
  case UpdateRule::Lamb:
  case UpdateRule::Adagrad:
    result = most < rate ? most * epsilon / (rate - most) : kInfinity;
    break;
  }
  return std::copysign(result, change);
}

/// The share of the gradients that are not 0 which are at most that, with its
/// sign.
double UpdateEstimate::cumulative(double limit) const {
  double share = gradient.below(std::fabs(limit)) / 2;
  return limit < 0 ? 0.5 - share : 0.5 + share;
}

namespace {
/// Changes of at most half the gap to the next number in `format`, away from 0
/// and towards it, leave a weight as it is.
struct HalfGap {
  double away, towards;

  HalfGap(const WeightSizes::Part &part, const FloatFormat &format) {
    double magnitude = part.magnitude;
    if (magnitude < format.minNormal) {
      away = towards = format.minSubnormal / 2;
      return;
    }
    away = format.ulp(magnitude) / 2;
    towards = part.power && magnitude > format.minNormal ? away / 2 : away;
  }

  bool covers(double change) const {
    return change <= away && -change <= towards;
  }
};
} // namespace

// With n the gradient in the direction away from 0, c what decay adds to it and
// d what decay takes by itself, a weight changes by step(n - c) - d.
std::optional<double> UpdateEstimate::share(const FloatFormat &format,
                                            bool idle) const {
  double moved = 0, kept = 0;
  bool apart = optimizer.decouples();
  for (const WeightSizes::Part &part : parts) {
    HalfGap gap(part, format);
    double decay = optimizer.weightDecay * part.magnitude;
    double added = apart ? 0 : decay, taken = apart ? rate * decay : 0;
    if (gradient.zero < 1) {
      double count = part.count * (1 - gradient.zero);
      moved += count;
      kept +=
          count *
          std::max(0.0, cumulative(inverse(gap.away + taken) + added) -
                            cumulative(inverse(taken - gap.towards) + added));
    }
    if (double change = step(-added) - taken; idle && change != 0) {
      moved += part.count * gradient.zero;
      kept += gap.covers(change) ? part.count * gradient.zero : 0;
    }
  }
  if (!(moved > 0))
    return std::nullopt;
  return kept / moved;
}

std::optional<double>
UpdateEstimate::overflowing(const FloatFormat &format) const {
  if (gradient.zero >= 1 || !std::isfinite(format.overflowFrom))
    return std::nullopt;
  // A weight is small beside such an update.
  double least = inverse(format.overflowFrom);
  double share = std::isfinite(least) ? 1 - gradient.below(least) : 0;
  return share * (1 - gradient.zero);
}

std::optional<double>
UpdateEstimate::lostDecay(const FloatFormat &format) const {
  if (!optimizer.decouples() || optimizer.weightDecay == 0)
    return std::nullopt;
  double all = 0, kept = 0;
  for (const WeightSizes::Part &part : parts) {
    if (part.magnitude == 0)
      continue;
    all += part.count;
    double taken = rate * optimizer.weightDecay * part.magnitude;
    kept += HalfGap(part, format).covers(-taken) ? part.count : 0;
  }
  if (!(all > 0))
    return std::nullopt;
  return kept / all;
}

/// The share of the gradients, with what decay adds to them, that are at most
/// `limit` in magnitude and not 0.
double UpdateEstimate::shareBelow(double limit) const {
  double all = 0, below = 0;
  for (const WeightSizes::Part &part : parts) {
    double added =
        optimizer.decouples() ? 0 : optimizer.weightDecay * part.magnitude;
    double live = part.count * (1 - gradient.zero);
    all += live;
    below += live * (cumulative(added + limit) - cumulative(added - limit));
    if (added > 0) {
      all += part.count * gradient.zero;
      below += added <= limit ? part.count * gradient.zero : 0;
    }
  }
  return all > 0 ? std::clamp(below / all, 0.0, 1.0) : 0;
}

std::optional<double>
UpdateEstimate::flushedSecond(const FloatFormat &format) const {
  if (!optimizer.hasSecond())
    return std::nullopt;
  return shareBelow(optimizer.largestFlushed(format));
}

double mpopt::stopOfDecay(double beta2, const FloatFormat &format) {
  // Between 1/2 and 1 the gap is 2^-digits; a half of that is the unit roundoff
  // over 2.
  double stop = format.unitRoundoff() / 2 / (1 - beta2);
  return stop < 0.5 ? 0 : std::min(stop, 1.0);
}
