//===- Normalization.cpp - Ops that take statistics off
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Families.h"

#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Dialect/Ops/NormalizationOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::evaluation;

namespace {
/// The elements of a tensor by the statistic and by the parameter that they
/// have.
struct Layout {
  std::vector<uint32_t> group, parameter;
  size_t groups = 0, parameters = 0;
  /// Neighbours that may have one parameter in common.
  size_t shared = 1;

  static std::optional<Layout> ofRows(const Array &input, int64_t axis);
  /// The layout of [N, C, D1...]: each sample's groups of channels, or those of
  /// all samples.
  static std::optional<Layout> ofChannels(const Array &input, int64_t groups,
                                          bool bySample);
};

/// Mean and inverse deviation by group.
struct Statistics {
  std::vector<double> mean, inverse, variance;
};
} // namespace

std::optional<Layout> Layout::ofRows(const Array &input, int64_t axis) {
  std::optional<int64_t> first = normalizeAxis(axis, input.rank());
  if (!first)
    return std::nullopt;
  size_t inner =
      size_t(mpopt::sizeOf(ArrayRef(input.shape).drop_front(size_t(*first))));
  Layout layout;
  for (size_t at = 0; at < input.numbers.size(); ++at) {
    layout.group.push_back(uint32_t(at / inner));
    layout.parameter.push_back(uint32_t(at % inner));
  }
  layout.groups = inner ? input.numbers.size() / inner : 0;
  layout.parameters = layout.shared = inner;
  return layout;
}

std::optional<Layout> Layout::ofChannels(const Array &input, int64_t groups,
                                         bool bySample) {
  if (input.rank() < 2 || groups < 1 || input.shape[1] % groups != 0)
    return std::nullopt;
  size_t channels = size_t(input.shape[1]), spatial = size_t(input.stride(1));
  size_t each = std::max<size_t>(channels / size_t(groups), 1);
  Layout layout;
  for (size_t at = 0; at < input.numbers.size(); ++at) {
    size_t channel = at / spatial % channels, sample = at / spatial / channels;
    layout.group.push_back(
        uint32_t(channel / each + (bySample ? sample * size_t(groups) : 0)));
    layout.parameter.push_back(uint32_t(channel));
  }
  layout.groups = size_t(groups) * (bySample ? size_t(input.shape[0]) : 1);
  layout.parameters = channels;
  layout.shared = each;
  return layout;
}

static Statistics statisticsOf(const Array &input, const Layout &layout,
                               double epsilon, bool centres) {
  Statistics known;
  std::vector<double> counts(layout.groups, 0);
  known.mean.assign(layout.groups, 0);
  known.variance.assign(layout.groups, 0);
  for (size_t at = 0; at < input.numbers.size(); ++at) {
    ++counts[layout.group[at]];
    if (centres)
      known.mean[layout.group[at]] += input.numbers[at];
  }
  for (size_t group = 0; group < layout.groups; ++group)
    known.mean[group] /= std::max(counts[group], 1.0);
  for (size_t at = 0; at < input.numbers.size(); ++at) {
    size_t group = layout.group[at];
    double off = input.numbers[at] - known.mean[group];
    known.variance[group] += off * off / counts[group];
  }
  for (double variance : known.variance)
    known.inverse.push_back(1 / std::sqrt(variance + epsilon));
  return known;
}

/// The neighbours that an element of a parameter is for; nothing where it is
/// broadcast otherwise.
static std::optional<size_t> repeatOf(const Array *array,
                                      const Layout &layout) {
  if (array && !array->numbers.empty())
    for (size_t repeat : {size_t(1), layout.shared})
      if (array->numbers.size() * repeat == layout.parameters)
        return repeat;
  return std::nullopt;
}

/// A parameter's elements, by neighbour; ones or zeros without it.
static std::optional<std::vector<float>> parameterOf(Value value,
                                                     const Layout &layout,
                                                     float otherwise,
                                                     Evaluation &in) {
  std::vector<float> numbers(layout.parameters, otherwise);
  if (!value)
    return numbers;
  const Array *array = in.find(value);
  auto repeat = repeatOf(array, layout);
  if (!repeat)
    return std::nullopt;
  for (auto [at, number] : llvm::enumerate(numbers))
    number = array->numbers[at / *repeat];
  return numbers;
}

static LogicalResult normalize(Operation *op, const Array &input, Value scale,
                               Value bias, const Layout &layout,
                               const Statistics &known, Evaluation &in) {
  auto factors = parameterOf(scale, layout, 1, in);
  auto offsets = parameterOf(bias, layout, 0, in);
  if (!factors || !offsets)
    return failure();
  Array result = input;
  for (size_t at = 0; at < input.numbers.size(); ++at) {
    size_t group = layout.group[at], parameter = layout.parameter[at];
    result.numbers[at] =
        float((input.numbers[at] - known.mean[group]) * known.inverse[group] *
                  (*factors)[parameter] +
              (*offsets)[parameter]);
  }
  in.set(op->getResult(0), std::move(result));
  return success();
}

namespace {
struct Gradients {
  Array input;
  std::vector<double> scale, bias;
};
} // namespace

/// r (g - mean(g) - n mean(g n)), g = scale dY, n the normalised x; without the
/// means where statistics are constants.
static std::optional<Gradients>
differentiate(const Array &grad, const Array &input,
              const std::vector<float> &factors, const Layout &layout,
              const Statistics &known, bool centres, bool frozen) {
  if (grad.shape != input.shape)
    return std::nullopt;
  std::vector<double> counts(layout.groups, 0), sums(layout.groups, 0),
      products(layout.groups, 0);
  Gradients made{input, std::vector<double>(layout.parameters, 0),
                 std::vector<double>(layout.parameters, 0)};
  auto normal = [&](size_t at) {
    size_t group = layout.group[at];
    return (input.numbers[at] - known.mean[group]) * known.inverse[group];
  };
  for (size_t at = 0; at < input.numbers.size(); ++at) {
    size_t group = layout.group[at], parameter = layout.parameter[at];
    double dy = grad.numbers[at], g = dy * factors[parameter], n = normal(at);
    ++counts[group];
    sums[group] += centres ? g : 0;
    products[group] += g * n;
    made.scale[parameter] += dy * n;
    made.bias[parameter] += dy;
  }
  for (size_t at = 0; at < input.numbers.size(); ++at) {
    size_t group = layout.group[at];
    double g = grad.numbers[at] * double(factors[layout.parameter[at]]);
    double less =
        frozen ? 0
               : (sums[group] + normal(at) * products[group]) / counts[group];
    made.input.numbers[at] = float(known.inverse[group] * (g - less));
  }
  return made;
}

/// The gradient of a parameter, whose elements are each for several.
static std::optional<Array> fold(const std::vector<double> &sums, Value like,
                                 const Layout &layout, Evaluation &in) {
  const Array *array = in.find(like);
  auto repeat = repeatOf(array, layout);
  if (!repeat)
    return std::nullopt;
  Array result = Array::zeros(array->shape);
  for (auto [at, number] : llvm::enumerate(result.numbers)) {
    double sum = 0;
    for (double each : ArrayRef(sums).slice(at * *repeat, *repeat))
      sum += each;
    number = float(sum);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// A statistic by row: the normalised dims are 1.
static void setStatistic(Value result, const std::vector<double> &numbers,
                         const Array &input, int64_t axis, Evaluation &in) {
  Shape shape = input.shape;
  for (int64_t &dim : llvm::MutableArrayRef(shape).drop_front(
           size_t(*normalizeAxis(axis, input.rank()))))
    dim = 1;
  in.set(result, {shape, std::vector<float>(numbers.begin(), numbers.end())});
}

static LogicalResult layerNorm(mp::LayerNormOp op, Evaluation &in) {
  const Array *input = in.find(op.getInput());
  auto layout = input ? Layout::ofRows(*input, op.getAxis()) : std::nullopt;
  if (!layout)
    return failure();
  Statistics known =
      statisticsOf(*input, *layout, op.getEpsilon().convertToDouble(), true);
  if (op.getStats().size() == 2) {
    setStatistic(op.getStats()[0], known.mean, *input, op.getAxis(), in);
    setStatistic(op.getStats()[1], known.inverse, *input, op.getAxis(), in);
  }
  return normalize(op, *input, op.getScale(), op.getBias(), *layout, known, in);
}

static LogicalResult rmsNorm(mp::RMSNormOp op, Evaluation &in) {
  const Array *input = in.find(op.getInput());
  auto layout = input ? Layout::ofRows(*input, op.getAxis()) : std::nullopt;
  if (!layout)
    return failure();
  Statistics known =
      statisticsOf(*input, *layout, op.getEpsilon().convertToDouble(), false);
  if (op.getInvRms())
    setStatistic(op.getInvRms(), known.inverse, *input, op.getAxis(), in);
  return normalize(op, *input, op.getScale(), {}, *layout, known, in);
}

/// Statistics of a forward pass, where they are operands.
static bool readStatistics(Statistics &known, Value mean, Value inverse,
                           Evaluation &in) {
  auto read = [&](Value value, std::vector<double> &list) {
    const Array *array = value ? in.find(value) : nullptr;
    if (value && (!array || array->numbers.size() != list.size()))
      return false;
    if (value)
      list.assign(array->numbers.begin(), array->numbers.end());
    return true;
  };
  return read(mean, known.mean) && read(inverse, known.inverse);
}

static LogicalResult rowGradient(Operation *op, Value scale, Value mean,
                                 Value inverse, int64_t axis,
                                 std::optional<llvm::APFloat> epsilon,
                                 bool centres, Evaluation &in) {
  const Array *grad = in.find(op->getOperand(0)),
              *input = in.find(op->getOperand(1));
  auto layout = input ? Layout::ofRows(*input, axis) : std::nullopt;
  if (!grad || !layout || (!epsilon && !inverse))
    return failure();
  Statistics known = statisticsOf(
      *input, *layout, epsilon ? epsilon->convertToDouble() : 1, centres);
  auto factors = parameterOf(scale, *layout, 1, in);
  if (!factors || !readStatistics(known, mean, inverse, in))
    return failure();
  auto made =
      differentiate(*grad, *input, *factors, *layout, known, centres, false);
  auto byScale = made ? fold(made->scale, scale, *layout, in) : std::nullopt;
  auto byBias = made ? fold(made->bias, scale, *layout, in) : std::nullopt;
  if (!byScale || !byBias)
    return failure();
  in.set(op->getResult(0), std::move(made->input));
  in.set(op->getResult(1), std::move(*byScale));
  if (op->getNumResults() > 2)
    in.set(op->getResult(2), std::move(*byBias));
  return success();
}

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

static LogicalResult groupNorm(Operation *op, const Array *input, Value scale,
                               Value bias, int64_t groups, double epsilon,
                               Evaluation &in) {
  auto layout = input ? Layout::ofChannels(*input, groups, true) : std::nullopt;
  if (!layout)
    return failure();
  return normalize(op, *input, scale, bias, *layout,
                   statisticsOf(*input, *layout, epsilon, true), in);
}

static LogicalResult groupGradient(Operation *op, Value scale, Value bias,
                                   int64_t groups, double epsilon,
                                   Evaluation &in) {
  const Array *grad = in.find(op->getOperand(0)),
              *input = in.find(op->getOperand(1));
  auto layout = input ? Layout::ofChannels(*input, groups, true) : std::nullopt;
  if (!grad || !layout)
    return failure();
  auto factors = parameterOf(scale, *layout, 1, in);
  if (!factors)
    return failure();
  auto made =
      differentiate(*grad, *input, *factors, *layout,
                    statisticsOf(*input, *layout, epsilon, true), true, false);
  return setGradients(op, in, [&](int64_t operand) -> std::optional<Array> {
    if (!made)
      return std::nullopt;
    Value value = op->getOperand(unsigned(operand));
    if (operand == 1)
      return made->input;
    return fold(value == scale ? made->scale : made->bias, value, *layout, in);
  });
}

static int64_t channelsOf(const Array *input) {
  return input && input->rank() > 1 ? input->shape[1] : 0;
}

static LogicalResult batchNorm(mp::BatchNormOp op, Evaluation &in) {
  const Array *input = in.find(op.getInput());
  if (!input || !op.getSpatial())
    return failure();
  auto found = Layout::ofChannels(*input, channelsOf(input), false);
  if (!found)
    return failure();
  double epsilon = op.getEpsilon().convertToDouble(),
         momentum = op.getMomentum().convertToDouble();
  Statistics known = statisticsOf(*input, *found, epsilon, true);
  const Array *mean = in.find(op.getMean()),
              *variance = in.find(op.getVariance());
  size_t channels = found->groups;
  bool hasRunning = mean && variance && mean->numbers.size() == channels &&
                    variance->numbers.size() == channels;
  if (!op.getTraining()) {
    if (!hasRunning)
      return failure();
    for (size_t channel = 0; channel < channels; ++channel) {
      known.mean[channel] = mean->numbers[channel];
      known.inverse[channel] =
          1 / std::sqrt(variance->numbers[channel] + epsilon);
    }
  } else if (hasRunning && op.getStats().size() >= 2) {
    Array means = *mean, variances = *variance;
    for (size_t channel = 0; channel < channels; ++channel) {
      means.numbers[channel] = float(means.numbers[channel] * momentum +
                                     known.mean[channel] * (1 - momentum));
      variances.numbers[channel] =
          float(variances.numbers[channel] * momentum +
                known.variance[channel] * (1 - momentum));
    }
    in.set(op.getStats()[0], std::move(means));
    in.set(op.getStats()[1], std::move(variances));
  }
  return normalize(op, *input, op.getScale(), op.getBias(), *found, known, in);
}

/// `variance` is the inverse deviation of the forward pass, or the variance.
static LogicalResult batchNormGradient(mp::BatchNormGradOp op, Evaluation &in) {
  const Array *grad = in.find(op.getGrad()), *input = in.find(op.getInput());
  auto layout = input ? Layout::ofChannels(*input, channelsOf(input), false)
                      : std::nullopt;
  if (!grad || !layout)
    return failure();
  Statistics known;
  known.mean.assign(layout->groups, 0);
  known.inverse.assign(layout->groups, 0);
  auto factors = parameterOf(op.getScale(), *layout, 1, in);
  if (!factors || !readStatistics(known, op.getMean(), op.getVariance(), in))
    return failure();
  auto made = differentiate(*grad, *input, *factors, *layout, known, true,
                            op.getFrozen());
  auto byScale =
      made ? fold(made->scale, op.getScale(), *layout, in) : std::nullopt;
  auto byBias =
      made ? fold(made->bias, op.getScale(), *layout, in) : std::nullopt;
  if (!byScale || !byBias)
    return failure();
  in.set(op.getInputGrad(), std::move(made->input));
  in.set(op.getScaleGrad(), std::move(*byScale));
  in.set(op.getBiasGrad(), std::move(*byBias));
  return success();
}

LogicalResult evaluation::evaluateNormalization(Operation *op, Evaluation &in) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](mp::LayerNormOp each) { return layerNorm(each, in); })
      .Case([&](mp::RMSNormOp each) { return rmsNorm(each, in); })
      .Case([&](mp::LayerNormGradOp each) {
        if (each.getFromOutput())
          return failure();
        return rowGradient(op, each.getScale(), each.getMean(),
                           each.getInverseDeviation(), each.getAxis(),
                           each.getEpsilon(), true, in);
      })
      .Case([&](mp::RmsNormGradOp each) {
        return rowGradient(op, each.getScale(), {}, each.getInverseDeviation(),
                           each.getAxis(), each.getEpsilon(), false, in);
      })
      .Case([&](mp::InstanceNormOp each) {
        const Array *input = in.find(each.getInput());
        return groupNorm(op, input, each.getScale(), each.getBias(),
                         channelsOf(input), each.getEpsilon().convertToDouble(),
                         in);
      })
      .Case([&](mp::GroupNormOp each) {
        if (each.getChannelsLast())
          return failure();
        return groupNorm(op, in.find(each.getInput()), each.getScale(),
                         each.getBias(), each.getNumGroups(),
                         each.getEpsilon().convertToDouble(), in);
      })
      .Case([&](mp::InstanceNormGradOp each) {
        return groupGradient(op, each.getScale(), each.getBias(),
                             channelsOf(in.find(each.getInput())),
                             each.getEpsilon().convertToDouble(), in);
      })
      .Case([&](mp::GroupNormGradOp each) {
        if (each.getChannelsLast())
          return failure();
        return groupGradient(op, each.getScale(), each.getBias(),
                             each.getNumGroups(),
                             each.getEpsilon().convertToDouble(), in);
      })
      .Case([&](mp::BatchNormOp each) { return batchNorm(each, in); })
      .Case(
          [&](mp::BatchNormGradOp each) { return batchNormGradient(each, in); })
      .Default(failure());
}
