//===- Loop.cpp - prim::Loop
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a loop changes is not known before its body was imported: the body is
// imported on trial until the types that it carries and the variables that it
// changes are stable, then once more for good. A loop that changes more than
// tensors (it appends to a list) is unrolled if its trip count is known.
//
//===----------------------------------------------------------------------===//

#include "ControlFlow.h"

#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/Ops/ControlFlowOps.h"
#include "mpopt/Dialect/TypeJoin.h"

#include <climits>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

/// Longer loops are not unrolled.
static constexpr int64_t kMaxUnroll = 256;
/// Trials until the types that a loop carries lose their shapes.
static constexpr unsigned kMaxTrials = 4;

/// Whether a member of a list is asked for by its place: the body then has no
/// meaning for a place that is not known.
static bool readsList(const GraphBlock &block, const Graph &graph) {
  return llvm::any_of(block.nodes, [&](const Node &node) {
    return (node.op == "aten::__getitem__" && !node.inputs.empty() &&
            graph.values[node.inputs[0]].type.kind == StaticType::Kind::List) ||
           llvm::any_of(node.blocks, [&](const GraphBlock &inner) {
             return readsList(inner, graph);
           });
  });
}

bool GraphImporter::unrollLoop(const Node &node, int64_t limit) {
  const GraphBlock &body = node.blocks.front();
  State::Mark mark = state.mark();
  Block *block = builder.getInsertionBlock();
  Operation *before = block->empty() ? nullptr : &block->back();
  ErrorSink::Mark said = sink.mark();
  const Coverage counted = result.coverage;
  const GraphPlaces placed = result.places;
  Coverage coverage = counted;
  std::vector<Item> carried;
  for (ValueId id : ArrayRef(node.inputs).drop_front(2))
    carried.push_back(items[id]);
  Item go = items[node.inputs[1]];
  std::string outer = iteration;
  rounds.push_back({body.arguments[0], 0});
  bool done = false;
  for (int64_t count = 0; count <= kMaxUnroll; ++count) {
    if (count >= limit || (go.isStatic() && !go.integer)) {
      done = true;
      break;
    }
    if (!go.isStatic() || count == kMaxUnroll)
      break;
    iteration = outer + "#" + std::to_string(count);
    rounds.back().second = count;
    items[body.arguments[0]] = Item::integerOf(count);
    for (auto [id, item] :
         llvm::zip(ArrayRef(body.arguments).drop_front(), carried))
      items[id] = item;
    importNodes(body.nodes);
    // The nodes of the body are ops of the model once.
    if (count == 0)
      coverage = result.coverage;
    go = items[body.results[0]];
    for (auto [index, id] :
         llvm::enumerate(ArrayRef(body.results).drop_front()))
      carried[index] = items[id];
  }
  iteration = outer;
  rounds.pop_back();
  if (!done) {
    while (!block->empty() && &block->back() != before)
      block->back().erase();
    state.takeBack(mark);
    sink.rollBack(said);
    result.coverage = counted;
    result.places = placed;
    return false;
  }
  result.coverage = coverage;
  for (auto [index, item] : llvm::enumerate(carried))
    set(node, index, item);
  return true;
}

void GraphImporter::forgetLoop(const Node &node) {
  const GraphBlock &block = node.blocks.front();
  Location location = locationOf(node);
  sink.warn("loop '" + currentNode +
            "' changes lists or attributes an unknown number of times: what "
            "it gives is not known");
  // What a carried tensor may be, and what rounds put into lists.
  std::vector<Roots> shared(node.outputs.size());
  for (auto [index, roots] : llvm::enumerate(shared))
    State::findRoots(items[node.inputs[index + 2]], roots);
  Roots put;
  auto unknown = [&](ValueId id, const Roots &roots) {
    return unknownItem(graph.values[id].type, location, roots);
  };
  // What a later round changes may depend on what an earlier one changed.
  llvm::SetVector<TensorVariable *> roots;
  llvm::SetVector<StringRef> paths;
  std::vector<std::shared_ptr<Collection>> owners;
  auto forget = [&] {
    for (TensorVariable *root : roots)
      state.write(
          root, valueOf(unknownItem({StaticType::Kind::Tensor, {}}, location)));
    for (StringRef path : paths)
      state.setAttribute(path, Item());
    forgetCollections(owners);
    for (const std::shared_ptr<Collection> &owner : owners)
      owner->sources.insert(put.begin(), put.end());
  };
  ++trial;
  for (bool stable = false; !stable;) {
    std::vector<Item> arguments(block.arguments.size());
    Body body =
        importBody(block, arguments, {}, location, [&](Block &inner, Body &) {
          OpBuilder::InsertionGuard guard(builder);
          builder.setInsertionPointToEnd(&inner);
          for (auto [index, id] : llvm::enumerate(block.arguments))
            arguments[index] = unknown(id, index ? shared[index - 1] : Roots());
          forget();
        });
    stable = true;
    for (auto [index, known] : llvm::enumerate(shared)) {
      size_t before = known.size();
      State::findRoots(body.results[index + 1], known, body.before);
      stable &= known.size() == before;
    }
    for (auto &[root, value] : body.changes.tensors)
      stable &= !roots.insert(root);
    for (auto &[path, item] : body.changes.attributes) {
      stable &= !paths.insert(path);
      // The types of one round say nothing of the next.
      state.written.slots[graph.slots.at(path.str())] =
          getUnknownTensor(context);
    }
    for (const std::shared_ptr<Collection> &owner : body.changes.owners) {
      size_t before = put.size();
      body.findRoots(*owner, put);
      stable &= put.size() == before;
      if (!llvm::is_contained(owners, owner)) {
        owners.push_back(owner);
        stable = false;
      }
    }
  }
  --trial;
  forget();
  if (trial == 0)
    recordUnfollowed(block);
  for (auto [index, output] : llvm::enumerate(node.outputs))
    set(node, index, unknown(output, shared[index]));
  result.coverage.ops += trial == 0;
  if (trial == 0)
    ++result.coverage.unmodelled[node.op];
}

void GraphImporter::importLoop(const Node &node) {
  const GraphBlock &block = node.blocks.front();
  Location location = locationOf(node);
  const Item trips = items[node.inputs[0]], start = items[node.inputs[1]];
  bool counted = !(trips.isStatic() && trips.integer == INT64_MAX);
  int64_t limit = trips.isStatic() ? trips.integer : -1;
  if (limit == 0 || (start.isStatic() && !start.integer)) {
    for (size_t index = 0; index < node.outputs.size(); ++index)
      set(node, index, Item(items[node.inputs[index + 2]]));
    return;
  }
  if (limit > 0 && readsList(block, graph) && unrollLoop(node, limit))
    return;
  std::vector<Item> initial;
  for (ValueId id : ArrayRef(node.inputs).drop_front(2))
    initial.push_back(items[id]);
  auto valueNow = [&](const Item &item) { return valueOf(item); };
  SmallVector<Value> values;
  for (const Item &item : initial)
    Leaves::collect(item, valueNow, values);
  unsigned numCarried = values.size();

  // What the body changes beside that: tensors from before it, attributes.
  llvm::SetVector<TensorVariable *> roots;
  llvm::MapVector<StringRef, Item> held;
  SmallVector<mlir::Type> types, rootTypes, heldTypes;
  SmallVector<Value> heldValues;
  auto int64 = RankedTensorType::get({}, builder.getI64Type());
  auto boolean = RankedTensorType::get({}, builder.getI1Type());
  auto argumentTypes = [&] {
    SmallVector<mlir::Type> all = {int64, boolean};
    llvm::append_range(all, types);
    llvm::append_range(all, rootTypes);
    llvm::append_range(all, heldTypes);
    return all;
  };
  llvm::append_range(types, TypeRange(ValueRange(values)));

  // What a carried tensor may be: the one that the loop began with, or one that
  // a round made of tensors outside.
  std::vector<Roots> shared(initial.size());
  for (auto [item, roots] : llvm::zip(initial, shared))
    State::findRoots(item, roots);

  // One import of the body from block arguments.
  SmallVector<Value> yielded, heldYielded;
  Item next;
  bool regular = true;
  auto importOnce = [&] {
    yielded.clear();
    std::vector<Item> arguments(block.arguments.size());
    Body body = importBody(
        block, arguments, argumentTypes(), location, [&](Block &inner, Body &) {
          unsigned from = 2;
          ValueRange all = inner.getArguments();
          arguments[0] = Item::computed(Item::Kind::Int, all[0]);
          for (auto [index, item] : llvm::enumerate(initial))
            arguments[index + 1] =
                Leaves::rebuild(item, state, all, from, shared[index]);
          for (TensorVariable *root : roots)
            state.write(root, all[from++]);
          for (auto &[path, item] : held)
            state.setAttribute(path,
                               Leaves::rebuild(item, state, all, from, {}));
        });
    next = body.frozen.front();
    regular = body.changes.collections.empty();
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&body.block());
    for (auto [index, item] : llvm::enumerate(initial)) {
      const Item &after = body.frozen[index + 1];
      if (!Leaves::match(item, after)) {
        regular = false;
        continue;
      }
      Leaves::collect(after, valueNow, yielded);
    }
    heldYielded.clear();
    for (auto &[path, item] : body.changes.attributes)
      if (!Leaves::match(*state.findAttribute(path), item))
        regular = false;
    if (!regular)
      return body;
    for (auto &[path, item] : held) {
      auto after = body.changes.attributes.find(path);
      Leaves::collect(after == body.changes.attributes.end() ? item
                                                             : after->second,
                      valueNow, heldYielded);
    }
    return body;
  };
  std::optional<Body> body;
  ++trial;
  ErrorSink::Mark said = sink.mark();
  for (unsigned round = 0;; ++round) {
    body = importOnce();
    if (!regular)
      break;
    bool stable = true;
    for (size_t index = 0; index < initial.size(); ++index) {
      size_t known = shared[index].size();
      State::findRoots(body->results[index + 1], shared[index], body->before);
      stable &= shared[index].size() == known;
    }
    auto widen = [&](mlir::Type &type, mlir::Type after) {
      mlir::Type joined = joinTypes(type, after);
      if (round >= kMaxTrials && joined != type)
        joined = forgetShape(joined);
      stable &= joined == type;
      type = joined;
    };
    for (unsigned index = 0; index < numCarried; ++index)
      widen(types[index], yielded[index].getType());
    for (auto [type, value] : llvm::zip_equal(heldTypes, heldYielded))
      widen(type, value.getType());
    for (auto &[root, value] : body->changes.tensors)
      if (roots.insert(root)) {
        stable = false;
        rootTypes.push_back(root->value.getType());
      }
    for (auto [root, type] : llvm::zip_equal(roots, rootTypes))
      if (auto after = body->changes.tensors.find(root);
          after != body->changes.tensors.end())
        widen(type, after->second.getType());
    for (auto &[path, item] : body->changes.attributes)
      if (held.insert({path, *state.findAttribute(path)}).second) {
        stable = false;
        SmallVector<Value> leaves;
        Leaves::collect(held[path], valueNow, leaves);
        llvm::append_range(heldValues, leaves);
        llvm::append_range(heldTypes, TypeRange(ValueRange(leaves)));
      }
    if (stable)
      break;
    sink.rollBack(said);
  }
  --trial;
  sink.rollBack(said);
  if (!regular) {
    body.reset();
    if (unrollLoop(node, limit >= 0 ? limit : INT64_MAX))
      return;
    forgetLoop(node);
    return;
  }
  result.coverage.ops += trial == 0;
  result.coverage.modelled += trial == 0;
  body = importOnce();
  for (TensorVariable *root : roots) {
    auto after = body->changes.tensors.find(root);
    yielded.push_back(after == body->changes.tensors.end() ? root->value
                                                           : after->second);
  }
  llvm::append_range(yielded, heldYielded);
  for (TensorVariable *root : roots)
    values.push_back(root->value);
  llvm::append_range(values, heldValues);
  bool endless = start.isStatic() && next.isStatic() && next.integer;
  OperationState made(location, mp::LoopOp::getOperationName());
  SmallVector<int32_t> segments = {0, 0, int32_t(values.size())};
  if (counted) {
    made.addOperands(valueOf(trips));
    segments[0] = 1;
  }
  if (!endless) {
    made.addOperands(valueOf(start));
    segments[1] = 1;
  }
  made.addOperands(values);
  made.addAttribute("operandSegmentSizes",
                    builder.getDenseI32ArrayAttr(segments));
  made.addTypes(
      SmallVector<mlir::Type>(values.size(), getUnknownTensor(context)));
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&body->block());
    SmallVector<Value> results = {valueOf(next)};
    llvm::append_range(results, yielded);
    mp::YieldOp::create(builder, location, results);
  }
  made.addRegion(std::move(body->region));
  Operation *op = builder.create(made);
  finish(op);
  unsigned from = 0;
  for (auto [index, item] : llvm::enumerate(initial)) {
    set(node, index,
        Leaves::rebuild(item, state, op->getResults(), from, shared[index]));
    const Item &after = items[node.outputs[index]];
    if (after.isTensor())
      nameResult(after.variable->value, node.outputs[index]);
  }
  for (TensorVariable *root : roots)
    state.write(root, op->getResult(from++));
  for (auto &[path, item] : held)
    state.setAttribute(
        path, Leaves::rebuild(item, state, op->getResults(), from, {}));
}
