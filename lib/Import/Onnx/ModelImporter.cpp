//===- ModelImporter.cpp - A validated ONNX model to mp IR
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The main graph becomes `func.func @main`: one argument an input, one result
// an output, one `mp.constant` an initializer, then the nodes in order.
//
//===----------------------------------------------------------------------===//

#include "ModelImporter.h"

#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Origin.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;

const onnx::AttributeProto *
Frame::resolve(const onnx::AttributeProto &attribute) const {
  return attribute.ref_attr_name().empty()
             ? &attribute
             : attributes.lookup(attribute.ref_attr_name());
}

Value Scope::find(StringRef name) const {
  for (const Scope *scope = this; scope; scope = scope->outer)
    if (auto it = scope->values.find(name); it != scope->values.end())
      return it->second;
  return {};
}

ModelImporter::ModelImporter(MLIRContext *context, const ModelFile &file,
                             const ImportOptions &options, ErrorSink &sink,
                             ImportResult &result)
    : builder(context), sink(sink), tensors(context, file, sink),
      types(context, options.dims, sink), context(context), file(file),
      options(options), result(result) {}

Operation *ModelImporter::lastOp() {
  Block *block = builder.getInsertionBlock();
  return block->empty() ? nullptr : &block->back();
}

Value ModelImporter::makeConstant(const TensorValue &value, Location location) {
  return mp::ConstantOp::create(builder, location, value.type, value.value);
}

Value ModelImporter::makeUnknown(StringRef name, Location location) {
  return mp::OpaqueOp::create(builder, location,
                              TypeRange{getUnknownTensor(context)}, name,
                              ValueRange(), 0)
      .getResult(0);
}

void ModelImporter::declareTypes(const onnx::GraphProto &graph, Scope &scope) {
  scope.values.reserve(graph.input_size() + graph.initializer_size() +
                       graph.node_size());
  scope.declared.reserve(graph.value_info_size() + graph.output_size());
  for (const auto &info : graph.value_info())
    if (info.has_type())
      scope.declared[info.name()] = &info.type();
  for (const auto &output : graph.output())
    if (output.has_type())
      scope.declared[output.name()] = &output.type();
}

Type ModelImporter::overrideInput(StringRef name, Type type) {
  for (const InputShape &shape : options.inputShapes) {
    if (shape.input != name)
      continue;
    Type element = getElementType(type);
    if (!shape.elementType.empty()) {
      ScopedDiagnosticHandler quiet(context, [](Diagnostic &) {});
      Type given = parseType(shape.elementType, context);
      if (!given || (!isUnknown(element) && element != given))
        sink.error(ImportCode::InputShapeConflict, name,
                   "cannot have elements of type '" + Twine(shape.elementType) +
                       "'");
      else
        element = given;
    }
    Shape dims;
    for (int64_t dim : shape.dims)
      dims.push_back(dim < 0 ? kDynamic : dim);
    if (!checkShape(dims, bitsInFile(element), name, sink))
      return type;
    std::optional<Type> refined =
        refineType(type, getTensorType(dims, element));
    if (refined)
      return *refined;
    sink.error(ImportCode::InputShapeConflict, name,
               "the given shape contradicts the model's");
  }
  return type;
}

void ModelImporter::importInputs(const onnx::GraphProto &graph,
                                 func::FuncOp function, Scope &scope) {
  llvm::DenseSet<StringRef> constants;
  for (const auto &tensor : graph.initializer())
    constants.insert(tensor.name());
  for (const auto &sparse : graph.sparse_initializer())
    constants.insert(sparse.values().name());
  Block *block = builder.getInsertionBlock();
  // Given to the function at once: types and attributes are uniqued, and those
  // of each prefix of many inputs would all stay.
  SmallVector<DictionaryAttr> allAttributes;
  for (const auto &input : graph.input()) {
    // A default that nobody overrides in an analysis of the file as it is.
    if (constants.contains(input.name()))
      continue;
    Type type =
        overrideInput(input.name(), types.read(input.type(), input.name()));
    Location location = makeOrigin(context, input.name(), "Input", "",
                                   {input.name()}, UnknownLoc::get(context));
    SmallVector<NamedAttribute> attributes{
        builder.getNamedAttr("mp.name", builder.getStringAttr(input.name()))};
    std::vector<std::string> names = TypeReader::dimNames(input.type());
    if (!names.empty())
      attributes.push_back(builder.getNamedAttr(
          "mp.dim_params", builder.getStrArrayAttr(SmallVector<StringRef>(
                               names.begin(), names.end()))));
    allAttributes.push_back(builder.getDictionaryAttr(attributes));
    scope.values[input.name()] = block->addArgument(type, location);
    result.inputs.push_back(input.name());
  }
  function.setType(builder.getFunctionType(block->getArgumentTypes(), {}));
  function.setAllArgAttrs(allAttributes);
  for (const InputShape &shape : options.inputShapes)
    if (!llvm::is_contained(result.inputs, shape.input))
      sink.error(ImportCode::InputShapeConflict, shape.input,
                 "the model has no such input");
}

void ModelImporter::importInitializers(const onnx::GraphProto &graph,
                                       Scope &scope) {
  auto add = [&](StringRef name, const TensorValue &value) {
    Location location = makeOrigin(context, name, "Initializer", scope.path,
                                   {name}, UnknownLoc::get(context));
    if (value) {
      result.parameters += value.type.getNumElements();
      scope.values[name] = makeConstant(value, location);
      return;
    }
    // After an error, so that the nodes can be looked at too.
    scope.values[name] = makeUnknown("Initializer", location);
  };
  for (const auto &tensor : graph.initializer())
    add(tensor.name(), tensors.read(tensor, tensor.name()));
  for (const auto &sparse : graph.sparse_initializer())
    add(sparse.values().name(), tensors.read(sparse, sparse.values().name()));
}

void ModelImporter::importNodes(
    const google::protobuf::RepeatedPtrField<onnx::NodeProto> &nodes,
    Scope &scope) {
  auto order = orders->find(&nodes);
  if (order == orders->end()) {
    for (auto [index, node] : llvm::enumerate(nodes))
      importNode(describe(node, index, scope), scope);
    return;
  }
  for (unsigned index : order->second)
    importNode(describe(nodes[index], index, scope), scope);
}

void ModelImporter::importBody(const onnx::GraphProto &graph, Region &region,
                               TypeRange arguments, const Scope &outer,
                               const NodeInfo &info, StringRef branch) {
  OpBuilder::InsertionGuard guard(builder);
  Scope scope;
  scope.outer = &outer;
  scope.frame = outer.frame;
  scope.path =
      (outer.path.empty() ? Twine(info.name) + "/" + branch
                          : outer.path + "/" + info.name + "/" + branch)
          .str();
  declareTypes(graph, scope);
  Block *block = builder.createBlock(&region);
  SmallVector<StringRef> names;
  for (auto [index, type] : llvm::enumerate(arguments)) {
    const auto *input =
        int(index) < graph.input_size() ? &graph.input(int(index)) : nullptr;
    Type refined = type;
    if (input && input->has_type())
      refined = refineType(type, types.read(input->type(), input->name()))
                    .value_or(type);
    StringRef name = input ? StringRef(input->name()) : StringRef();
    block->addArgument(refined, info.location);
    names.push_back(scope.frame->expanded ? StringRef() : name);
    if (!name.empty())
      scope.values[name] = block->getArguments().back();
  }
  if (Operation *parent = region.getParentOp(); parent && !names.empty())
    parent->setAttr("mp.arg_names", builder.getStrArrayAttr(names));
  builder.setInsertionPointToEnd(block);
  importInitializers(graph, scope);
  importNodes(graph.node(), scope);
  OperationState yield(info.location, "mp.yield");
  for (const auto &output : graph.output()) {
    Value value = scope.find(output.name());
    // An input that the call of the function around it omits.
    if (!value)
      value = makeUnknown("Omitted", info.location);
    yield.addOperands(value);
  }
  builder.create(yield);
}

void ModelImporter::importMain(const onnx::GraphProto &graph,
                               const OpsetMap &opsets) {
  Location location = UnknownLoc::get(context);
  result.module = ModuleOp::create(location);
  builder.setInsertionPointToEnd(result.module->getBody());
  auto function = func::FuncOp::create(builder, location, "main",
                                       builder.getFunctionType({}, {}));
  builder.setInsertionPointToEnd(function.addEntryBlock());

  Frame frame;
  frame.opsets = &opsets;
  Scope scope;
  scope.frame = &frame;
  declareTypes(graph, scope);
  importInputs(graph, function, scope);
  importInitializers(graph, scope);
  importNodes(graph.node(), scope);

  SmallVector<Value> outputs;
  SmallVector<DictionaryAttr> names;
  for (const auto &output : graph.output()) {
    Value value = scope.find(output.name());
    if (!value)
      return; // reported by the validator
    outputs.push_back(value);
    names.push_back(builder.getDictionaryAttr({builder.getNamedAttr(
        "mp.name", builder.getStringAttr(output.name()))}));
    result.outputs.push_back(output.name());
  }
  func::ReturnOp::create(builder, location, outputs);
  function.setType(builder.getFunctionType(
      function.getBody().getArgumentTypes(), ValueRange(outputs).getTypes()));
  function.setAllResultAttrs(names);
}

void ModelImporter::run(const FunctionTable &table, const NodeOrders &sorted,
                        bool valid) {
  functions = &table;
  orders = &sorted;
  // Diagnostics of inference and verifiers belong to the current node.
  ScopedDiagnosticHandler collect(context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      sink.error(currentNode.empty() ? ImportCode::Invalid
                                     : ImportCode::InferenceFailed,
                 currentNode, diagnostic.str());
  });
  OpsetMap opsets = OpsetMap::read(file.model.opset_import(),
                                   file.model.ir_version(), "", nullptr);
  if (valid) {
    importMain(file.model.graph(), opsets);
  } else {
    // The graph makes no sense, but types and weights can still be checked.
    Block block;
    builder.setInsertionPointToEnd(&block);
    Scope scope;
    const onnx::GraphProto &graph = file.model.graph();
    for (const auto *values :
         {&graph.input(), &graph.output(), &graph.value_info()})
      for (const auto &value : *values)
        types.read(value.type(), value.name());
    importInitializers(file.model.graph(), scope);
  }
  result.missingWeights = tensors.missing();
  result.weightFiles = tensors.listExternalFiles();
  for (const auto &[name, count] : result.missingWeights)
    sink.warn("'" + name + "' is missing: the values of " + Twine(count) +
              (count == 1 ? " tensor" : " tensors") + " are not known");
  if (file.model.training_info_size() > 0)
    sink.warn("training_info is not analysed");
  result.dimNames.assign(types.seenDims().begin(), types.seenDims().end());

  currentNode.clear();
  if (!sink.hasErrors() && failed(verify(*result.module)) && !sink.hasErrors())
    sink.error(ImportCode::Invalid, "", "the imported module is not valid");
  if (sink.hasErrors()) {
    result.module = nullptr;
    return;
  }
  Operation *module = *result.module;
  module->setAttr("mp.format", builder.getStringAttr("onnx"));
  module->setAttr("mp.nodes", builder.getI64IntegerAttr(result.coverage.ops));
  module->setAttr("mp.parameters",
                  builder.getI64IntegerAttr(result.parameters));
}
