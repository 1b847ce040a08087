//===- TrainingStep.cpp - A model becomes a training step
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Driver/TrainingStep.h"

#include "lib/Driver/DescribeMemory.h"

#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/TypeInference.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Driver/Assumptions.h"
#include "mpopt/Driver/OutputConflicts.h"
#include "mpopt/Driver/TrainRequest.h"
#include "mpopt/Hazards/DtypeSupport.h"
#include "mpopt/Hazards/TrainingFacts.h"
#include "passes/transforms/Differentiate.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mpopt;
using llvm::Error;

/// An error that a diagnostic told of.
static Error failReported() { return llvm::createStringError(""); }

static bool hasOutput(func::FuncOp function, StringRef name) {
  for (unsigned index = 0; index < function.getNumResults(); ++index)
    if (auto its = function.getResultAttrOfType<StringAttr>(index, "mp.name"))
      if (its.getValue() == name)
        return true;
  return false;
}

Error TrainingStep::readGraph(LossTerm &term) {
  ImportResult imported =
      importModel(term.file, ImportOptions(), *module.getContext());
  if (!imported.errors.empty())
    return llvm::createStringError("the loss '" + term.file +
                                   "': " + imported.errors.front().str());
  if (imported.module)
    for (auto graph : imported.module->getOps<func::FuncOp>())
      if (!graph.isExternal()) {
        term.graph = graph;
        break;
      }
  if (!term.graph)
    return llvm::createStringError("the loss '" + term.file +
                                   "' holds no graph");
  for (const std::string &file : imported.weightFiles)
    if (Error error = checkFoundFiles(options, "the weights", file))
      return error;
  graphs.push_back(std::move(imported.module));
  return Error::success();
}

Error TrainingStep::findTerms() {
  if (config.lossOutput && hasOutput(function, *config.lossOutput)) {
    LossTerm &term = terms.emplace_back();
    term.kind = LossKind::Sum;
    term.predictions = {*config.lossOutput};
    return Error::success();
  }
  for (const TrainLossTerm &said : config.lossTerms) {
    llvm::Expected<LossTerm> term = makeLossTerm(said);
    if (!term)
      return term.takeError();
    if (term->kind == LossKind::Graph)
      if (Error error = readGraph(*term))
        return error;
    terms.push_back(std::move(*term));
  }
  return Error::success();
}

/// Sizes need a batch where the model leaves it open: the declared samples of a
/// pass, as the leading dim of the first input and wherever its symbol is.
Error TrainingStep::setBatch() {
  if (!options.memory || !config.batch.micro || !function.getNumArguments())
    return Error::success();
  auto symbol = [&](unsigned argument, unsigned dim) {
    auto names =
        function.getArgAttrOfType<ArrayAttr>(argument, "mp.dim_params");
    return names && dim < names.size() ? cast<StringAttr>(names[dim]).getValue()
                                       : StringRef();
  };
  StringRef batch = symbol(0, 0);
  SmallVector<Type> inputs;
  bool changes = false;
  for (BlockArgument argument : function.getArguments()) {
    MaybeShape shape = getShape(argument);
    for (unsigned dim = 0; shape && dim < shape->size(); ++dim) {
      bool first = argument.getArgNumber() == 0 && dim == 0;
      bool same =
          !batch.empty() && symbol(argument.getArgNumber(), dim) == batch;
      if ((*shape)[dim] == kDynamic && (first || same)) {
        (*shape)[dim] = *config.batch.micro;
        argument.setType(getTensorType(shape, getElementType(argument)));
        changes = true;
      }
    }
    inputs.push_back(argument.getType());
  }
  if (!changes)
    return Error::success();
  function.setType(FunctionType::get(function.getContext(), inputs,
                                     function.getResultTypes()));
  return failed(inferAllTypes(module)) ? failReported() : Error::success();
}

Error TrainingStep::prepare() {
  for (auto candidate : module.getOps<func::FuncOp>())
    if (!candidate.isExternal()) {
      function = candidate;
      break;
    }
  if (!function)
    return llvm::createStringError("the model has no graph to train");
  declareStep();
  if (Error error = setBatch())
    return error;
  if (markOwnGradients(function)) {
    result.holdsGradients = true;
    return Error::success();
  }
  if (Error error = findTerms())
    return error;
  result.chosen = terms.empty();
  if (terms.empty()) {
    terms.push_back(chooseLossTerm(function));
    if (terms.front().predictions.empty())
      return llvm::createStringError(
          "no output is of floats, and a loss needs one");
  }
  std::vector<std::string> targets;
  for (const TrainValues &values : config.targets)
    targets.push_back(values.name);
  markLossPart(function, terms, targets);
  // Those of a loss that the model has itself; others come with their loss.
  for (BlockArgument argument : function.getArguments())
    if (llvm::is_contained(targets, getInputName(argument)))
      function.setArgAttr(
          argument.getArgNumber(), kLossTargetAttr,
          StringAttr::get(module.getContext(),
                          getLossKindInfo(LossKind::Graph).name));
  return Error::success();
}

/// Says what is taken for granted of targets, which are arguments from `first`
/// on.
Error TrainingStep::assumeTargets(unsigned first) {
  llvm::Expected<std::vector<Assumption>> assumptions =
      mpopt::assumeTargets(options, function, first);
  if (!assumptions)
    return assumptions.takeError();
  result.targets = std::move(*assumptions);
  return Error::success();
}

/// Why no gradient passes the first op behind the loss that is not modelled;
/// empty if there is none.
static std::string describeOpaque(Value loss) {
  SmallVector<Operation *> work = {loss.getDefiningOp()};
  llvm::DenseSet<Operation *> seen;
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (!op || !seen.insert(op).second)
      continue;
    if (auto opaque = dyn_cast<mp::OpaqueOp>(op))
      return "the training step is not judged, the model is: " +
             opaque.getName().str() + " ('" + getOpName(op) +
             "') is not modelled" +
             (getMissingKernel(op).empty() ? ""
                                           : ", and PyTorch has no kernel of "
                                             "it in 16 bits: it needs f32 "
                                             "operands");
    for (Value operand : op->getOperands())
      work.push_back(operand.getDefiningOp());
  }
  return "";
}

Error TrainingStep::differentiate(Value loss) {
  if (std::optional<int64_t> count = getNumElements(getShape(loss));
      count && *count != 1)
    return llvm::createStringError(
        "the loss has " + std::to_string(*count) +
        " elements, and a training step starts from one number: "
        "reduction=mean or sum makes one");
  GradientRequest request;
  request.value = loss;
  request.seed = "ones";
  request.marks = true;
  if (!config.parameters.empty()) {
    request.wanted = GradientsOf::Names;
    request.names = config.parameters;
  } else if (!module
                  .walk([](Operation *op) {
                    return llvm::any_of(op->getResults(), isTrainable)
                               ? WalkResult::interrupt()
                               : WalkResult::advance();
                  })
                  .wasInterrupted()) {
    return llvm::createStringError(
        "the model has no trainable parameters: no op computes with a float "
        "constant that has a name");
  }
  std::vector<OpReads> reads;
  FailureOr<std::vector<std::string>> parameters =
      appendGradients(function, request, &reads);
  if (failed(parameters))
    return failReported();
  if (parameters->empty()) {
    unjudged = describeOpaque(loss);
    if (!unjudged.empty())
      return Error::success();
    return llvm::createStringError(
        config.parameters.empty()
            ? "no gradient of the loss reaches a parameter"
            : "no gradient of the loss reaches a parameter that the training "
              "configuration lists");
  }
  result.parameters = std::move(*parameters);
  if (options.memory)
    result.memory = describeMemory(function, reads, result.parameters, config);
  if (auto detached = function->getAttrOfType<ArrayAttr>("mp.detached"))
    for (auto name : detached.getAsRange<StringAttr>())
      result.detached.push_back(name.str());
  if (auto lacking =
          function->getAttrOfType<DictionaryAttr>("mp.lacks_gradient"))
    for (NamedAttribute entry : lacking)
      result.lacking[entry.getName().str()] =
          unsigned(cast<IntegerAttr>(entry.getValue()).getInt());
  return Error::success();
}

static Type toType(std::optional<TrainType> type, MLIRContext *context) {
  Builder builder(context);
  if (!type)
    return {};
  switch (*type) {
  case TrainType::F64:
    return builder.getF64Type();
  case TrainType::F32:
    return builder.getF32Type();
  case TrainType::F16:
    return builder.getF16Type();
  case TrainType::BF16:
    return builder.getBF16Type();
  case TrainType::F8:
    return Float8E4M3FNType::get(context);
  case TrainType::F8E5M2:
    return Float8E5M2Type::get(context);
  case TrainType::Int8:
    return builder.getIntegerType(8);
  case TrainType::Int4:
    return builder.getIntegerType(4);
  }
  llvm_unreachable("all types are listed");
}

/// The facts of the configuration that rules ask for.
static TrainingFacts makeFacts(const TrainConfig &config,
                               MLIRContext *context) {
  TrainingFacts facts;
  const TrainOptimizer &optimizer = config.optimizer;
  facts.optimizer = {optimizer.name.value_or(""),
                     optimizer.learningRate,
                     optimizer.epsilon,
                     optimizer.beta1,
                     optimizer.beta2,
                     optimizer.momentum,
                     optimizer.weightDecay,
                     toType(optimizer.state, context),
                     optimizer.master};
  const TrainScaler &scaler = config.scaler;
  if (scaler.kind)
    facts.scaler.mode = *scaler.kind == ScalerKind::None ? ScalerMode::None
                        : *scaler.kind == ScalerKind::Dynamic
                            ? ScalerMode::Dynamic
                            : ScalerMode::Fixed;
  facts.scaler.initial = scaler.initial;
  facts.scaler.growth = scaler.growth;
  facts.scaler.backoff = scaler.backoff;
  facts.scaler.interval = scaler.interval;
  facts.scaler.hysteresis = scaler.hysteresis;
  facts.scaler.minimum = scaler.minimum;
  facts.batch = {config.batch.micro, config.batch.accumulate,
                 config.batch.world};
  facts.reduce.type = toType(config.reduce.type, context);
  facts.reduce.accumulate = toType(config.reduce.accumulate, context);
  facts.reduce.predivide = config.reduce.predivide;
  facts.reduce.predivideAuto = config.reduce.predivideAuto.value_or(false);
  if (config.reduce.division)
    facts.reduce.dividesAfter =
        *config.reduce.division == ReduceDivision::After;
  facts.clip = config.clip;
  const TrainSharding &sharding = config.sharding;
  if (sharding.kind)
    facts.sharding.mode =
        *sharding.kind == ShardingKind::None   ? ShardingMode::None
        : *sharding.kind == ShardingKind::Zero ? ShardingMode::Zero
                                               : ShardingMode::Fsdp;
  facts.sharding.stage = sharding.stage;
  facts.sharding.parameters = toType(sharding.parameters, context);
  facts.sharding.reduce = toType(sharding.reduce, context);
  facts.sharding.buffers = toType(sharding.buffers, context);
  return facts;
}

/// Also where nothing is declared: rules about the model ask if it is trained.
void TrainingStep::declareStep() {
  MLIRContext *context = module.getContext();
  function->setAttr(kTrainingStepAttr,
                    makeFacts(config, context).toAttribute(context));
}

void TrainingStep::setFacts() {
  Builder builder(module.getContext());
  if (config.lossValue)
    function->setAttr(kLossValueAttr,
                      builder.getF64FloatAttr(*config.lossValue));
  if (config.targetsRelated)
    function->setAttr(kTargetsRelatedAttr,
                      builder.getBoolAttr(*config.targetsRelated));
  if (config.stepsDone)
    function->setAttr(kStepsDoneAttr,
                      builder.getI64IntegerAttr(*config.stepsDone));
  if (config.batch.micro)
    function->setAttr(kMicroBatchAttr,
                      builder.getI64IntegerAttr(*config.batch.micro));
}

/// The weights that a model may learn whose gradients it holds itself.
std::vector<std::string> TrainingStep::listParameters() {
  if (!config.parameters.empty())
    return config.parameters;
  std::vector<std::string> names;
  for (Operation &op : function.getBody().front())
    for (Value result : op.getResults())
      if (isTrainable(result))
        names.push_back(getValueName(result).str());
  return names;
}

Error TrainingStep::append() {
  setFacts();
  unsigned inputs = function.getNumArguments();
  if (result.holdsGradients) {
    // Casts have come among them.
    markOwnGradients(function);
    if (options.memory)
      result.memory = describeMemory(function, findOwnReads(function),
                                     listParameters(), config);
    return assumeTargets(inputs);
  }
  FailureOr<Value> loss = attachLosses(function, terms);
  if (failed(loss) || (!graphs.empty() && failed(inferAllTypes(module))))
    return failReported();
  if (auto texts = function->getAttrOfType<ArrayAttr>(kLossAttr))
    for (auto text : texts.getAsRange<StringAttr>())
      result.loss.push_back(text.str());
  if (Error error = assumeTargets(inputs))
    return error;
  return differentiate(*loss);
}
