//===- Memory.cpp - What each worker holds and sends ===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ZeRO's stages: Rajbhandari et al., 2020 (sections 5 and 7). FSDP: PyTorch's
// torch/distributed/fsdp/_fully_shard: parameters are cut along dim 0, gathered
// in `param_dtype` for a block's forward and for its backward pass, and their
// gradients are reduced in `reduce_dtype`. A ring passes on (n - 1) / n of what
// it gathers or scatters.

#include "mpopt/Train/Memory.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace llvm;
using namespace mpopt;

StringRef mpopt::toString(ShardingScheme scheme) {
  switch (scheme) {
  case ShardingScheme::Replicated:
    return "DDP";
  case ShardingScheme::Zero1:
    return "ZeRO 1";
  case ShardingScheme::Zero2:
    return "ZeRO 2";
  case ShardingScheme::Zero3:
    return "ZeRO 3";
  case ShardingScheme::Fsdp:
    return "FSDP";
  }
  llvm_unreachable("every scheme has a name");
}

ShardingScheme mpopt::getScheme(const TrainConfig &config) {
  const TrainSharding &sharding = config.sharding;
  int64_t stage =
      sharding.stage.value_or(sharding.kind == ShardingKind::Fsdp ? 3 : 0);
  if (!sharding.kind || sharding.kind == ShardingKind::None || stage == 0)
    return ShardingScheme::Replicated;
  if (sharding.kind == ShardingKind::Fsdp && stage == 3)
    return ShardingScheme::Fsdp;
  return stage == 1   ? ShardingScheme::Zero1
         : stage == 2 ? ShardingScheme::Zero2
                      : ShardingScheme::Zero3;
}

double mpopt::getBytes(TrainType type) {
  switch (type) {
  case TrainType::F64:
    return 8;
  case TrainType::F32:
    return 4;
  case TrainType::F16:
  case TrainType::BF16:
    return 2;
  case TrainType::F8:
  case TrainType::F8E5M2:
  case TrainType::Int8:
    return 1;
  case TrainType::Int4:
    return 0.5;
  }
  llvm_unreachable("every type has a size");
}

static double countElements(const ParameterShape &parameter) {
  double count = 1;
  for (int64_t dim : parameter.dims)
    count *= double(dim);
  return count;
}

/// True if FP32 copies of the parameter are what the optimizer updates.
static bool hasMaster(const TrainOptimizer &optimizer,
                      const ParameterShape &parameter) {
  return optimizer.master.value_or(false) && getBytes(parameter.type) < 4;
}

/// Tensors of the parameter's shape that the optimizer keeps.
static std::optional<double> countStates(const TrainOptimizer &optimizer) {
  StringRef name = optimizer.name ? StringRef(*optimizer.name) : "";
  double momentum = optimizer.momentum.value_or(0) != 0;
  return StringSwitch<std::optional<double>>(name)
      .Cases({"adam", "adamw", "lamb"}, 2.0)
      .Cases({"lion", "adagrad"}, 1.0)
      .Case("sgd", momentum)
      .Case("rmsprop", 1 + momentum)
      .Case("adafactor", 0.0)
      .Default(std::nullopt);
}

/// Adafactor has the mean squares of rows and of columns of the last two dims,
/// of vectors all (Shazeer and Stern, 2018, without momentum).
static double countFactors(const ParameterShape &parameter) {
  double all = countElements(parameter);
  if (parameter.dims.size() < 2)
    return all;
  ArrayRef<int64_t> last = ArrayRef(parameter.dims).take_back(2);
  if (last[0] == 0 || last[1] == 0)
    return 0;
  return all / double(last[1]) + all / double(last[0]);
}

/// State of 8 bits and fewer has an FP32 scale for each block of 256 elements,
/// and tensors under 4096 elements have state in FP32 (bitsandbytes 0.44 on,
/// `blocksize` and `min_8bit_size`).
static double getQuantizedBytes(double elements, double bytes) {
  constexpr double kBlock = 256, kLeast = 4096;
  return elements < kLeast
             ? 4 * elements
             : bytes * elements + 4 * std::ceil(elements / kBlock);
}

std::optional<double> mpopt::getStateBytes(const TrainOptimizer &optimizer,
                                           const ParameterShape &parameter) {
  std::optional<double> states = countStates(optimizer);
  if (!states)
    return std::nullopt;
  double elements = countElements(parameter);
  TrainType type = optimizer.state.value_or(
      hasMaster(optimizer, parameter) ? TrainType::F32 : parameter.type);
  double bytes = getBytes(type);
  if (optimizer.name == "adafactor")
    return countFactors(parameter) * std::max(bytes, 4.0);
  if (type == TrainType::Int8 || type == TrainType::Int4)
    return *states * getQuantizedBytes(elements, bytes);
  return *states * elements * bytes;
}

namespace {
/// One scheme's sums over parameters.
class Accountant {
public:
  Accountant(ShardingScheme scheme, ArrayRef<ParameterShape> parameters,
             const TrainConfig &config)
      : scheme(scheme), parameters(parameters), config(config),
        workers(double(config.batch.world.value_or(1))),
        passes(double(config.batch.accumulate.value_or(1))) {}

  SchemeMemory compute();

private:
  bool sharesState() const { return scheme != ShardingScheme::Replicated; }
  bool sharesGradients() const {
    return sharesState() && scheme != ShardingScheme::Zero1;
  }
  bool sharesParameters() const {
    return sharesGradients() && scheme != ShardingScheme::Zero2;
  }
  bool isFsdp() const { return scheme == ShardingScheme::Fsdp; }

  TrainType getStoredType(const ParameterShape &parameter) const;
  TrainType getGatheredType(const ParameterShape &parameter) const;
  double getReducedBytes(const ParameterShape &parameter) const;
  double getShard(const ParameterShape &parameter) const;
  double findGathered() const;

  ShardingScheme scheme;
  ArrayRef<ParameterShape> parameters;
  const TrainConfig &config;
  double workers, passes;
};
} // namespace

/// FSDP keeps the FP32 parameters themselves as shards, and casts what it
/// gathers.
TrainType Accountant::getStoredType(const ParameterShape &parameter) const {
  return isFsdp() && hasMaster(config.optimizer, parameter) ? TrainType::F32
                                                            : parameter.type;
}

TrainType Accountant::getGatheredType(const ParameterShape &parameter) const {
  return isFsdp() ? config.sharding.parameters.value_or(parameter.type)
                  : parameter.type;
}

double Accountant::getReducedBytes(const ParameterShape &parameter) const {
  std::optional<TrainType> type = config.reduce.type;
  if (isFsdp() && config.sharding.reduce)
    type = config.sharding.reduce;
  return getBytes(type.value_or(getGatheredType(parameter)));
}

/// The elements of a parameter that one worker has. ZeRO cuts all parameters as
/// one vector, the last part of which is filled up; for one of them that is its
/// share. FSDP cuts each along dim 0, into parts of whole rows.
double Accountant::getShard(const ParameterShape &parameter) const {
  double all = countElements(parameter);
  if (!isFsdp())
    return all / workers;
  if (parameter.dims.empty() || parameter.dims.front() == 0)
    return all;
  double rows = double(parameter.dims.front());
  return std::ceil(rows / workers) * (all / rows);
}

/// The bytes that are whole while a block runs: its parameters, and in its
/// backward pass their gradients, before they are reduced. FSDP gathers what is
/// in no block for the whole pass, ZeRO 3 each such parameter by itself.
double Accountant::findGathered() const {
  if (!sharesParameters() || workers < 2)
    return 0;
  std::map<std::string, double> blocks;
  double outside = 0;
  for (const ParameterShape &parameter : parameters) {
    double bytes =
        2 * countElements(parameter) * getBytes(getGatheredType(parameter));
    if (!parameter.block.empty())
      blocks[parameter.block] += bytes;
    else
      outside = isFsdp() ? outside + bytes : std::max(outside, bytes);
  }
  double most = 0;
  for (const auto &[name, bytes] : blocks)
    most = std::max(most, bytes);
  return isFsdp() ? outside + most : std::max(outside, most);
}

SchemeMemory Accountant::compute() {
  SchemeMemory memory;
  memory.state = 0;
  // A worker sends each other one a shard.
  double others = workers - 1;
  for (const ParameterShape &parameter : parameters) {
    double all = countElements(parameter), shard = getShard(parameter);
    TrainType stored = getStoredType(parameter);
    double kept = getBytes(stored),
           whole = getBytes(getGatheredType(parameter));
    bool copies = hasMaster(config.optimizer, parameter) && !isFsdp();
    // Megatron-LM adds gradients up in buffers of the type that it reduces.
    double gradient = config.format == TrainFormat::Megatron
                          ? getBytes(config.reduce.type.value_or(stored))
                          : kept;
    memory.parameters += (sharesParameters() ? shard : all) * kept;
    memory.masters += copies ? (sharesState() ? shard : all) * 4 : 0;
    memory.gradients += (sharesGradients() ? shard : all) * gradient;
    ParameterShape updated = parameter;
    updated.type = stored;
    if (std::optional<double> state = getStateBytes(config.optimizer, updated);
        state && memory.state)
      *memory.state +=
          sharesState() && all > 0 ? *state * (shard / all) : *state;
    else
      memory.state.reset();

    double reduced = others * shard * getReducedBytes(parameter);
    double gathered = others * shard * whole;
    switch (scheme) {
    case ShardingScheme::Replicated:
      // Scattered and gathered again, once all passes are added up.
      memory.sent += 2 * reduced;
      break;
    case ShardingScheme::Zero1:
      memory.sent += reduced + gathered;
      break;
    case ShardingScheme::Zero2:
      memory.sent += passes * reduced + gathered;
      break;
    case ShardingScheme::Zero3:
    case ShardingScheme::Fsdp:
      memory.sent += passes * (reduced + 2 * gathered);
      break;
    }
  }
  memory.gathered = findGathered();
  return memory;
}

SchemeMemory mpopt::computeMemory(ShardingScheme scheme,
                                  ArrayRef<ParameterShape> parameters,
                                  const TrainConfig &config) {
  return Accountant(scheme, parameters, config).compute();
}
