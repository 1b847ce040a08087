//===- Loop.cpp - prim::Loop
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop becomes mp.loop (LoopOp.h) if it changes tensors and attributes only.
// One that changes more (it appends to a list) is unrolled if its trip count is
// known; else nothing is known of its results and of what it changes.
//
//===----------------------------------------------------------------------===//

#include "LoopOp.h"

#include <climits>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

/// Longer loops are not unrolled.
static constexpr int64_t kMaxUnroll = 256;

/// True if the body reads a member of a list by its index: the body then has no
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
            "' changes lists or attributes an unknown number of times: its "
            "results are not known");
  // Roots of each carried tensor, and of the tensors that rounds add to lists.
  std::vector<Roots> shared(node.outputs.size());
  for (auto [index, roots] : llvm::enumerate(shared))
    State::findRoots(items[node.inputs[index + 2]], roots);
  Roots put;
  auto unknown = [&](ValueId id, const Roots &roots) {
    return unknownItem(graph.values[id].type, location, roots);
  };
  // The changes of a later round may depend on those of an earlier one.
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
  const Item trips = items[node.inputs[0]], start = items[node.inputs[1]];
  int64_t limit = trips.isStatic() ? trips.integer : -1;
  if (limit == 0 || (start.isStatic() && !start.integer)) {
    for (size_t index = 0; index < node.outputs.size(); ++index)
      set(node, index, Item(items[node.inputs[index + 2]]));
    return;
  }
  if (limit > 0 && readsList(node.blocks.front(), graph) &&
      unrollLoop(node, limit))
    return;
  LoopOp loop(*this, node);
  if (loop.settle()) {
    loop.make();
    return;
  }
  if (!unrollLoop(node, limit >= 0 ? limit : INT64_MAX))
    forgetLoop(node);
}
