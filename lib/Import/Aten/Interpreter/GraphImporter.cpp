//===- GraphImporter.cpp - A graph of aten ops to an mp module ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The function: inputs, body, outputs.
//
//===----------------------------------------------------------------------===//

#include "GraphImporter.h"

#include "../Lowering/Complex.h"

#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/TypeInference.h"
#include "mpopt/Dialect/TypeJoin.h"
#include "mpopt/Import/Aten/AtenImport.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

/// Rounds until the types that attributes are set to lose their shapes.
static constexpr unsigned kMaxRounds = 3;

void mpopt::aten::importGraph(const Graph &graph, StringRef path,
                              const ImportOptions &options,
                              MLIRContext &context, ErrorSink &sink,
                              ImportResult &result) {
  context.loadDialect<mp::MPDialect, func::FuncDialect>();
  // The writes of a method are known only after its import; with them, reads
  // may take other branches, which write more.
  WrittenState written;
  ErrorSink::Mark said = sink.mark();
  for (unsigned round = 0;; ++round) {
    GraphImporter importer(graph, path, options, context, sink, result,
                           written);
    importer.run();
    WrittenState found = importer.written();
    if (found == written)
      return;
    for (auto &[slot, type] : found.slots)
      if (type && round >= kMaxRounds && type != written.slots[slot])
        type = forgetShape(type);
    written = std::move(found);
    sink.rollBack(said);
    result.module = nullptr;
    result.inputs.clear();
    result.outputs.clear();
    result.places.clear();
    result.coverage = {};
  }
}

/// The float type that most elements of parameters have.
static mlir::Type commonFloat(const Graph &graph, MLIRContext *context) {
  // In order of appearance: the first wins where two have as many.
  llvm::MapVector<mlir::Type, int64_t> elements;
  for (const Tensor &tensor : graph.tensors) {
    mlir::Type type = NodeContext::elementTypeOf(context, tensor.scalarType);
    if (!isa_and_nonnull<FloatType>(type) || tensor.name.empty())
      continue;
    int64_t count = 1;
    for (int64_t size : tensor.sizes)
      count *= size;
    elements[type] += count;
  }
  mlir::Type common = Float32Type::get(context);
  for (auto [type, count] : elements)
    if (count > elements.lookup(common))
      common = type;
  return common;
}

GraphImporter::GraphImporter(const Graph &graph, StringRef path,
                             const ImportOptions &options, MLIRContext &context,
                             ErrorSink &sink, ImportResult &result,
                             const WrittenState &written)
    : graph(graph), path(path.str()), options(options), context(&context),
      sink(sink), result(result), builder(&context),
      pending(NameLoc::get(builder.getStringAttr("pending"))), entry(written),
      items(graph.values.size()), tensorValues(graph.tensors.size()),
      defaultFloat(commonFloat(graph, &context)) {
  state.written = written;
  builder.setListener(&freshFacts);
  state.lose = [this](Value before) { return loseValue(before); };
}

std::string GraphImporter::valueName(ValueId value) const {
  return graph.values[value].name + iteration;
}

std::string GraphImporter::nodeName(const Node &node) const {
  std::string name =
      node.outputs.empty() ? node.op : valueName(node.outputs.front());
  return node.scope.empty() ? name : node.scope + "/" + name;
}

Location GraphImporter::locationOf(const Node &node,
                                   ArrayRef<StringRef> values) const {
  Location line = UnknownLoc::get(context);
  if (!node.source.file.empty())
    line = FileLineColLoc::get(context, node.source.file, node.source.line,
                               node.source.column);
  return makeOrigin(context, nodeName(node), node.op, node.scope, values, line);
}

void GraphImporter::finish(Operation *op) {
  markAutocast(op);
  if (succeeded(inferTypes(op, facts)))
    return;
  // The diagnostic has reported the contradiction.
}

void GraphImporter::recordPlace(const std::string &name, GraphPlace place) {
  if (!options.wantPlaces || name.empty())
    return;
  std::vector<GraphPlace> &known = result.places[name];
  if (!llvm::is_contained(known, place))
    known.push_back(std::move(place));
}

void GraphImporter::recordPlace(Value value, ValueId id, int64_t member) {
  if (!options.wantPlaces)
    return;
  GraphPlace place;
  const GraphValue &from = graph.values[id];
  place.value = from.origin.empty() ? from.name : from.origin;
  place.repeats = from.repeats;
  // Members that have names are values of their own.
  if (size_t(member) < from.memberOrigins.size())
    place.value = from.memberOrigins[member];
  else if (member >= 0)
    place.members = {member};
  for (auto [counter, count] : rounds)
    place.rounds.push_back({graph.values[counter].name, count});
  recordPlace(getTensorPath(value), std::move(place));
}

static bool holdsTensor(const StaticType &type) {
  return type.kind == StaticType::Kind::Tensor ||
         llvm::any_of(type.elements, holdsTensor);
}

void GraphImporter::recordUnfollowed(const StaticType &type,
                                     const std::string &name) {
  if (options.wantPlaces && holdsTensor(type))
    result.places[name].clear();
}

void GraphImporter::recordUnfollowed(const GraphBlock &block) {
  for (const Node &node : block.nodes) {
    for (ValueId output : node.outputs)
      if (graph.values[output].type.kind == StaticType::Kind::Tensor &&
          isOp(node) && node.blocks.empty())
        recordUnfollowed(graph.values[output].type,
                         (node.scope.empty() ? "" : node.scope + "/") +
                             valueName(output));
    for (const GraphBlock &inner : node.blocks)
      recordUnfollowed(inner);
  }
}

void GraphImporter::returnItem(const Item &item, const std::string &name,
                               SmallVectorImpl<Value> &values) {
  if (item.isCollection()) {
    bool isDict = item.kind == Item::Kind::Dict;
    const std::vector<Item> &members = item.collection->items;
    for (auto [index, member] : llvm::enumerate(members)) {
      std::string key = std::to_string(index);
      // Keys and values in turn.
      if (isDict && index % 2 == 1 &&
          members[index - 1].kind == Item::Kind::String)
        key = members[index - 1].text;
      returnItem(member, name + "." + key, values);
    }
    return;
  }
  Value value = valueOf(item);
  if (!value)
    return;
  values.push_back(value);
  std::string own = getTensorPath(value);
  result.outputs.push_back(own.empty() ? name : own);
}

/// Erases placeholders after writes that are not followed, and complex tensors
/// of which the parts were read, if nothing reads them.
static void eraseUnread(ModuleOp module) {
  SmallVector<mp::OpaqueOp> dead;
  module.walk([&](mp::OpaqueOp op) {
    if (op.getName() == kLostName || op.getName() == kComplexName)
      dead.push_back(op);
  });
  for (mp::OpaqueOp op : llvm::reverse(dead))
    if (op->use_empty())
      op.erase();
}

void GraphImporter::describeModule(ModuleOp module) {
  module->setAttr("mp.format",
                  builder.getStringAttr(getFormatName(result.format)));
  if (!autocastDevice.empty())
    module->setAttr("mp.autocast_device",
                    builder.getStringAttr(autocastDevice));
  module->setAttr("mp.nodes", builder.getI64IntegerAttr(result.coverage.ops));
  module->setAttr("mp.parameters",
                  builder.getI64IntegerAttr(result.parameters));
}

void GraphImporter::run() {
  Location unknown = UnknownLoc::get(context);
  ScopedDiagnosticHandler collect(context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      sink.error(currentNode.empty() ? ImportCode::Invalid
                                     : ImportCode::InferenceFailed,
                 currentNode, diagnostic.str());
  });
  for (const std::string &warning : graph.warnings)
    sink.warn(warning);
  result.module = ModuleOp::create(unknown);
  builder.setInsertionPointToEnd(result.module->getBody());
  auto function = func::FuncOp::create(builder, unknown, "main",
                                       builder.getFunctionType({}, {}));
  builder.setInsertionPointToEnd(function.addEntryBlock());

  std::vector<std::string> known;
  for (auto [index, input] : llvm::enumerate(graph.inputs)) {
    const GraphValue &value = graph.values[input];
    collectInputNames(value.type, value.name, known);
    GraphPlace place;
    place.input = index;
    items[input] = importInput(value.type, value.name, place, function);
  }
  for (const InputShape &shape : options.inputShapes)
    if (!llvm::is_contained(result.inputs, shape.input))
      sink.error(ImportCode::InputShapeConflict, shape.input,
                 "the model has no such input");
  importNodes(graph.body.nodes);

  SmallVector<mlir::Value> outputs;
  for (auto [index, id] : llvm::enumerate(graph.body.results)) {
    bool single = graph.body.results.size() == 1;
    returnItem(items[id], single ? "output" : "output." + std::to_string(index),
               outputs);
  }
  auto names = llvm::map_to_vector(result.outputs, [&](StringRef name) {
    return builder.getDictionaryAttr(
        {builder.getNamedAttr("mp.name", builder.getStringAttr(name))});
  });
  func::ReturnOp::create(builder, unknown, outputs);
  function.setType(builder.getFunctionType(
      function.getBody().getArgumentTypes(), ValueRange(outputs).getTypes()));
  function.setAllResultAttrs(names);
  result.parameters = graph.parameters;
  eraseUnread(*result.module);
  currentNode.clear();
  if (!sink.hasErrors() && failed(verify(*result.module)) && !sink.hasErrors())
    sink.error(ImportCode::Invalid, "", "the imported module is not valid");
  if (sink.hasErrors()) {
    result.module = nullptr;
    return;
  }
  describeModule(*result.module);
}
