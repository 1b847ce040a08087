//===- LoopOp.cpp - A loop that becomes mp.loop ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LoopOp.h"

#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/Ops/ControlFlowOps.h"
#include "mpopt/Dialect/TypeJoin.h"

#include <climits>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

/// Trials until the types that a loop carries lose their shapes.
static constexpr unsigned kMaxTrials = 4;

GraphImporter::LoopOp::LoopOp(GraphImporter &importer, const Node &node)
    : importer(importer), state(importer.state), node(node),
      block(node.blocks.front()), location(importer.locationOf(node)),
      trips(importer.items[node.inputs[0]]),
      start(importer.items[node.inputs[1]]) {
  for (ValueId id : ArrayRef(node.inputs).drop_front(2))
    initial.push_back(importer.items[id]);
  for (const Item &item : initial)
    collect(item, values);
  numCarried = values.size();
  llvm::append_range(types, TypeRange(ValueRange(values)));
  shared.resize(initial.size());
  for (auto [item, roots] : llvm::zip(initial, shared))
    State::findRoots(item, roots);
}

void GraphImporter::LoopOp::collect(const Item &item,
                                    SmallVectorImpl<Value> &leaves) {
  Leaves::collect(
      item, [&](const Item &leaf) { return importer.valueOf(leaf); }, leaves);
}

SmallVector<mlir::Type> GraphImporter::LoopOp::argumentTypes() const {
  OpBuilder &builder = importer.builder;
  SmallVector<mlir::Type> all = {
      RankedTensorType::get({}, builder.getI64Type()),
      RankedTensorType::get({}, builder.getI1Type())};
  llvm::append_range(all, types);
  llvm::append_range(all, rootTypes);
  llvm::append_range(all, heldTypes);
  return all;
}

//===----------------------------------------------------------------------===//
// One import of the body
//===----------------------------------------------------------------------===//

void GraphImporter::LoopOp::bindArguments(Block &inner,
                                          std::vector<Item> &arguments) {
  unsigned from = 2;
  ValueRange all = inner.getArguments();
  arguments[0] = Item::computed(Item::Kind::Int, all[0]);
  for (auto [index, item] : llvm::enumerate(initial))
    arguments[index + 1] =
        Leaves::rebuild(item, state, all, from, shared[index]);
  for (TensorVariable *root : roots)
    state.write(root, all[from++]);
  for (auto &[path, item] : held)
    state.setAttribute(path, Leaves::rebuild(item, state, all, from, {}));
}

void GraphImporter::LoopOp::collectCarried(const Body &body) {
  for (auto [index, item] : llvm::enumerate(initial)) {
    const Item &after = body.frozen[index + 1];
    if (Leaves::match(item, after))
      collect(after, yielded);
    else
      regular = false;
  }
}

void GraphImporter::LoopOp::collectHeld(const Body &body) {
  for (auto &[path, item] : body.changes.attributes)
    regular &= Leaves::match(*state.findAttribute(path), item);
  if (!regular)
    return;
  for (auto &[path, item] : held) {
    auto after = body.changes.attributes.find(path);
    collect(after == body.changes.attributes.end() ? item : after->second,
            heldYielded);
  }
}

GraphImporter::Body GraphImporter::LoopOp::importOnce() {
  yielded.clear();
  heldYielded.clear();
  std::vector<Item> arguments(block.arguments.size());
  Body body = importer.importBody(
      block, arguments, argumentTypes(), location,
      [&](Block &inner, Body &) { bindArguments(inner, arguments); });
  next = body.frozen.front();
  regular = body.changes.collections.empty();
  OpBuilder::InsertionGuard guard(importer.builder);
  importer.builder.setInsertionPointToEnd(&body.block());
  collectCarried(body);
  collectHeld(body);
  return body;
}

//===----------------------------------------------------------------------===//
// Until nothing is added
//===----------------------------------------------------------------------===//

bool GraphImporter::LoopOp::widen(mlir::Type &type, mlir::Type after,
                                  unsigned round) {
  mlir::Type joined = joinTypes(type, after);
  if (round >= kMaxTrials && joined != type)
    joined = forgetShape(joined);
  return std::exchange(type, joined) == joined;
}

bool GraphImporter::LoopOp::addShared(const Body &body) {
  bool stable = true;
  for (auto [index, known] : llvm::enumerate(shared)) {
    size_t before = known.size();
    State::findRoots(body.results[index + 1], known, body.before);
    stable &= known.size() == before;
  }
  return stable;
}

bool GraphImporter::LoopOp::addTypes(unsigned round) {
  bool stable = true;
  for (unsigned index = 0; index < numCarried; ++index)
    stable &= widen(types[index], yielded[index].getType(), round);
  for (auto [type, value] : llvm::zip_equal(heldTypes, heldYielded))
    stable &= widen(type, value.getType(), round);
  return stable;
}

bool GraphImporter::LoopOp::addRoots(const Body &body, unsigned round) {
  bool stable = true;
  for (auto &[root, value] : body.changes.tensors)
    if (roots.insert(root)) {
      stable = false;
      rootTypes.push_back(root->value.getType());
    }
  for (auto [root, type] : llvm::zip_equal(roots, rootTypes))
    if (auto after = body.changes.tensors.find(root);
        after != body.changes.tensors.end())
      stable &= widen(type, after->second.getType(), round);
  return stable;
}

bool GraphImporter::LoopOp::addHeld(const Body &body) {
  bool stable = true;
  for (auto &[path, item] : body.changes.attributes)
    if (held.insert({path, *state.findAttribute(path)}).second) {
      stable = false;
      SmallVector<Value> leaves;
      collect(held[path], leaves);
      llvm::append_range(heldValues, leaves);
      llvm::append_range(heldTypes, TypeRange(ValueRange(leaves)));
    }
  return stable;
}

bool GraphImporter::LoopOp::settle() {
  ++importer.trial;
  ErrorSink::Mark said = importer.sink.mark();
  bool stable = false;
  for (unsigned round = 0; !stable; ++round) {
    Body body = importOnce();
    importer.sink.rollBack(said);
    if (!regular)
      break;
    stable = addShared(body);
    stable &= addTypes(round);
    stable &= addRoots(body, round);
    stable &= addHeld(body);
  }
  --importer.trial;
  return regular;
}

//===----------------------------------------------------------------------===//
// The op
//===----------------------------------------------------------------------===//

void GraphImporter::LoopOp::make() {
  Coverage &coverage = importer.result.coverage;
  coverage.ops += importer.trial == 0;
  coverage.modelled += importer.trial == 0;
  Body body = importOnce();
  for (TensorVariable *root : roots) {
    auto after = body.changes.tensors.find(root);
    yielded.push_back(after == body.changes.tensors.end() ? root->value
                                                          : after->second);
  }
  llvm::append_range(yielded, heldYielded);
  for (TensorVariable *root : roots)
    values.push_back(root->value);
  llvm::append_range(values, heldValues);
  bindResults(makeOp(std::move(body)));
}

Operation *GraphImporter::LoopOp::makeOp(Body body) {
  OpBuilder &builder = importer.builder;
  bool counted = !(trips.isStatic() && trips.integer == INT64_MAX);
  bool endless = start.isStatic() && next.isStatic() && next.integer;
  OperationState made(location, mp::LoopOp::getOperationName());
  SmallVector<int32_t> segments = {counted, !endless, int32_t(values.size())};
  if (counted)
    made.addOperands(importer.valueOf(trips));
  if (!endless)
    made.addOperands(importer.valueOf(start));
  made.addOperands(values);
  made.addAttribute("operandSegmentSizes",
                    builder.getDenseI32ArrayAttr(segments));
  made.addTypes(SmallVector<mlir::Type>(values.size(),
                                        getUnknownTensor(importer.context)));
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&body.block());
    SmallVector<Value> results = {importer.valueOf(next)};
    llvm::append_range(results, yielded);
    mp::YieldOp::create(builder, location, results);
  }
  made.addRegion(std::move(body.region));
  Operation *op = builder.create(made);
  importer.finish(op);
  return op;
}

void GraphImporter::LoopOp::bindResults(Operation *op) {
  unsigned from = 0;
  SmallVector<NamedResult> named;
  for (auto [index, item] : llvm::enumerate(initial)) {
    importer.set(
        node, index,
        Leaves::rebuild(item, state, op->getResults(), from, shared[index]));
    const Item &after = importer.items[node.outputs[index]];
    if (after.isTensor())
      named.push_back({after.variable->value, node.outputs[index]});
  }
  importer.nameResults(node, named);
  for (TensorVariable *root : roots)
    state.write(root, op->getResult(from++));
  for (auto &[path, item] : held)
    state.setAttribute(
        path, Leaves::rebuild(item, state, op->getResults(), from, {}));
}
