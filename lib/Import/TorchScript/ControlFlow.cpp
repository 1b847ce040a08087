//===- ControlFlow.cpp - prim::If and prim::Loop --------------------------===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A branch whose condition is known is imported in place; one that only raises
// is taken not to run. Otherwise both bodies are imported, each from the state
// before it, and whatever they give back or changed becomes results of mp.if.
//
// What a loop changes is not known before its body was imported: the body is
// imported on trial until the types that it carries and the variables that it
// changes are stable, then once more for good. A loop that changes more than
// tensors (it appends to a list) is unrolled if its trip count is known.
//
//===----------------------------------------------------------------------===//

#include "GraphImporter.h"

#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/Ops/ControlFlowOps.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/TypeJoin.h"

#include <climits>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::torchscript;

/// Longer loops are not unrolled.
static constexpr int64_t kMaxUnroll = 256;
/// Trials until the types that a loop carries lose their shapes.
static constexpr unsigned kMaxTrials = 4;

struct GraphImporter::Body {
  std::unique_ptr<Region> region = std::make_unique<Region>();
  std::vector<Item> results; ///< as the block gives them
  std::vector<Item> frozen;  ///< tensors as they are at its end
  State::Changes changes;
  Block &block() { return region->front(); }
};

bool GraphImporter::raises(const JitBlock &block) const {
  return llvm::any_of(block.nodes, [](const Node &node) {
    return node.op == "prim::RaiseException";
  });
}

namespace {
/// The tensors and numbers inside an item, in order.
class Leaves {
public:
  using ValueOf = llvm::function_ref<Value(const Item &)>;

  /// Appends the leaves of `item`. Static things that are no numbers have none.
  static void collect(const Item &item, ValueOf valueOf,
                      SmallVectorImpl<Value> &values) {
    if (item.isTensor() || item.isNumber()) {
      values.push_back(valueOf(item));
    } else if (item.collection && item.collection->known) {
      for (const Item &member : item.collection->items)
        collect(member, valueOf, values);
    }
  }

  /// Whether both have their leaves in the same places.
  static bool match(const Item &lhs, const Item &rhs) {
    if (lhs.isTensor() || rhs.isTensor())
      return lhs.isTensor() && rhs.isTensor();
    if (lhs.isNumber() || rhs.isNumber())
      return lhs.kind == rhs.kind;
    if (lhs.collection || rhs.collection)
      return lhs.kind == rhs.kind && lhs.collection && rhs.collection &&
             lhs.collection->known && rhs.collection->known &&
             lhs.collection->items.size() == rhs.collection->items.size() &&
             llvm::all_of(
                 llvm::zip(lhs.collection->items, rhs.collection->items),
                 [](auto pair) {
                   return match(std::get<0>(pair), std::get<1>(pair));
                 });
    return isSame(lhs, rhs);
  }

  /// `like` with its leaves taken from `values`, from `next` on.
  static Item rebuild(const Item &like, State &state, ValueRange values,
                      unsigned &next) {
    if (like.isTensor()) {
      Item item = like;
      item.variable = state.makeVariable(values[next++]);
      return item;
    }
    if (like.isNumber())
      return Item::computed(like.kind, values[next++]);
    if (!like.collection || !like.collection->known)
      return like;
    std::vector<Item> members;
    for (const Item &member : like.collection->items)
      members.push_back(rebuild(member, state, values, next));
    Item item = Item::collectionOf(like.kind, std::move(members));
    item.text = like.text;
    return item;
  }
};
} // namespace

GraphImporter::Body
GraphImporter::importBody(const JitBlock &block, ArrayRef<Item> arguments,
                          TypeRange argumentTypes, Location location,
                          llvm::function_ref<void(Block &, Body &)> prepare) {
  OpBuilder::InsertionGuard guard(builder);
  Body body;
  Block *inner = builder.createBlock(body.region.get());
  for (mlir::Type type : argumentTypes)
    facts.set(inner->addArgument(type, location), std::nullopt);
  State::Mark mark = state.mark();
  if (prepare)
    prepare(*inner, body);
  for (auto [id, item] : llvm::zip(block.arguments, arguments))
    items[id] = item;
  builder.setInsertionPointToEnd(inner);
  importNodes(block.nodes);
  auto freeze = [&](auto &self, const Item &item) -> Item {
    if (item.isTensor())
      return tensorItem(valueOf(item));
    if (!item.collection || !item.collection->known)
      return item;
    std::vector<Item> members;
    for (const Item &member : item.collection->items)
      members.push_back(self(self, member));
    Item frozen = Item::collectionOf(item.kind, std::move(members));
    frozen.text = item.text;
    return frozen;
  };
  for (ValueId id : block.results) {
    body.results.push_back(items[id]);
    body.frozen.push_back(freeze(freeze, items[id]));
  }
  body.changes = state.takeBack(mark);
  for (auto &[path, item] : body.changes.attributes)
    item = freeze(freeze, item);
  return body;
}

void GraphImporter::importIf(const Node &node) {
  const Item condition = items[node.inputs[0]];
  auto runInPlace = [&](const JitBlock &block) {
    importNodes(block.nodes);
    for (auto [index, id] : llvm::enumerate(block.results))
      set(node, index, Item(items[id]));
  };
  std::optional<bool> known;
  if (condition.isStatic())
    known = condition.number() != 0;
  else if (condition.dynamic)
    if (auto elements = facts.constants(condition.dynamic);
        elements && elements->size() == 1)
      known = elements->front() != 0;
  if (!known && raises(node.blocks[0]) != raises(node.blocks[1]))
    known = raises(node.blocks[1]);
  if (known)
    return runInPlace(node.blocks[*known ? 0 : 1]);

  Location location = locationOf(node);
  Value predicate = valueOf(condition);
  if (!predicate)
    predicate = valueOf(unknownItem({JitType::Kind::Bool, {}}, location));
  result.coverage.ops += trial == 0;
  result.coverage.modelled += trial == 0;
  Body bodies[2] = {importBody(node.blocks[0], {}, {}, location),
                    importBody(node.blocks[1], {}, {}, location)};
  SmallVector<Value> leaves[2];
  auto addLeaves = [&](const Item &first, const Item &second) {
    const Item *both[2] = {&first, &second};
    for (int side : {0, 1}) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToEnd(&bodies[side].block());
      Leaves::collect(
          *both[side], [&](const Item &item) { return valueOf(item); },
          leaves[side]);
    }
  };
  // Outputs of the node.
  enum class Form { Same, Joined, Unknown };
  SmallVector<Form> forms;
  auto touched = [&](const Item &item) {
    if (!item.isTensor())
      return item.isCollection();
    TensorVariable *root = State::rootOf(item.variable);
    return bodies[0].changes.tensors.contains(root) ||
           bodies[1].changes.tensors.contains(root);
  };
  for (size_t index = 0; index < node.outputs.size(); ++index) {
    const Item &first = bodies[0].results[index];
    const Item &second = bodies[1].results[index];
    if (isSame(first, second) && !touched(first)) {
      forms.push_back(Form::Same);
    } else if (Leaves::match(first, second)) {
      forms.push_back(Form::Joined);
      addLeaves(bodies[0].frozen[index], bodies[1].frozen[index]);
    } else {
      forms.push_back(Form::Unknown);
    }
  }
  // Tensors that either side changed.
  llvm::SetVector<TensorVariable *> roots;
  for (Body &body : bodies)
    for (auto &[root, value] : body.changes.tensors)
      roots.insert(root);
  for (TensorVariable *root : roots)
    for (int side : {0, 1}) {
      auto changed = bodies[side].changes.tensors.find(root);
      leaves[side].push_back(changed == bodies[side].changes.tensors.end()
                                 ? root->value
                                 : changed->second);
    }
  // Attributes that either side set.
  llvm::SetVector<StringRef> paths;
  for (Body &body : bodies)
    for (auto &[path, item] : body.changes.attributes)
      paths.insert(path);
  SmallVector<std::pair<Item, bool>> attributes;
  for (StringRef path : paths) {
    Item after[2];
    for (int side : {0, 1}) {
      auto changed = bodies[side].changes.attributes.find(path);
      after[side] = changed == bodies[side].changes.attributes.end()
                        ? *state.findAttribute(path)
                        : changed->second;
    }
    bool matched = Leaves::match(after[0], after[1]);
    attributes.push_back({after[0], matched});
    if (matched)
      addLeaves(after[0], after[1]);
  }
  OperationState made(location, mp::IfOp::getOperationName());
  made.addOperands(predicate);
  made.addTypes(
      SmallVector<mlir::Type>(leaves[0].size(), getUnknownTensor(context)));
  for (int side : {0, 1}) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&bodies[side].block());
    mp::YieldOp::create(builder, location, leaves[side]);
    made.addRegion(std::move(bodies[side].region));
  }
  Operation *op = builder.create(made);
  finish(op);
  unsigned next = 0;
  for (auto [index, form] : llvm::enumerate(forms)) {
    if (form == Form::Same) {
      set(node, index, bodies[0].results[index]);
    } else if (form == Form::Unknown) {
      set(node, index,
          unknownItem(graph.values[node.outputs[index]].type, location));
    } else {
      set(node, index,
          Leaves::rebuild(bodies[0].frozen[index], state, op->getResults(),
                          next));
      const Item &joined = items[node.outputs[index]];
      if (joined.isTensor())
        nameResult(joined.variable->value, node.outputs[index]);
    }
  }
  for (TensorVariable *root : roots)
    state.write(root, op->getResult(next++));
  for (auto [path, attribute] : llvm::zip(paths, attributes))
    state.setAttribute(path, attribute.second
                                 ? Leaves::rebuild(attribute.first, state,
                                                   op->getResults(), next)
                                 : Item());
  for (Body &body : bodies)
    for (const std::shared_ptr<Collection> &owner : body.changes.owners) {
      state.touch(owner);
      owner->items.clear();
      owner->known = false;
    }
}

/// Whether a member of a list is asked for by its place: the body then has no
/// meaning for a place that is not known.
static bool readsList(const JitBlock &block, const Graph &graph) {
  return llvm::any_of(block.nodes, [&](const Node &node) {
    return (node.op == "aten::__getitem__" && !node.inputs.empty() &&
            graph.values[node.inputs[0]].type.kind == JitType::Kind::List) ||
           llvm::any_of(node.blocks, [&](const JitBlock &inner) {
             return readsList(inner, graph);
           });
  });
}

bool GraphImporter::unrollLoop(const Node &node, int64_t limit) {
  const JitBlock &body = node.blocks.front();
  State::Mark mark = state.mark();
  Block *block = builder.getInsertionBlock();
  Operation *before = block->empty() ? nullptr : &block->back();
  ErrorSink::Mark said = sink.mark();
  const Coverage counted = result.coverage;
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
    return false;
  }
  result.coverage = coverage;
  for (auto [index, item] : llvm::enumerate(carried))
    set(node, index, item);
  return true;
}

void GraphImporter::importLoop(const Node &node) {
  const JitBlock &block = node.blocks.front();
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

  llvm::SetVector<TensorVariable *> roots;
  SmallVector<mlir::Type> types;
  auto int64 = RankedTensorType::get({}, builder.getI64Type());
  auto boolean = RankedTensorType::get({}, builder.getI1Type());
  auto argumentTypes = [&] {
    SmallVector<mlir::Type> all = {int64, boolean};
    llvm::append_range(all, types);
    return all;
  };
  for (Value value : values)
    types.push_back(value.getType());

  // One import of the body from block arguments.
  SmallVector<Value> yielded;
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
            arguments[index + 1] = Leaves::rebuild(item, state, all, from);
          for (TensorVariable *root : roots)
            state.write(root, all[from++]);
        });
    next = body.frozen.front();
    regular =
        body.changes.collections.empty() && body.changes.attributes.empty();
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
    for (auto &[root, value] : body->changes.tensors)
      if (roots.insert(root)) {
        stable = false;
        values.push_back(root->value);
        types.push_back(root->value.getType());
      }
    for (unsigned index = 0; index < numCarried; ++index) {
      mlir::Type joined = joinTypes(types[index], yielded[index].getType());
      if (round >= kMaxTrials && joined != types[index])
        joined = forgetShape(joined);
      stable &= joined == types[index];
      types[index] = joined;
    }
    for (auto [index, root] : llvm::enumerate(roots)) {
      mlir::Type &type = types[numCarried + index];
      auto after = body->changes.tensors.find(root);
      if (after == body->changes.tensors.end())
        continue;
      mlir::Type joined = joinTypes(type, after->second.getType());
      if (round >= kMaxTrials && joined != type)
        joined = forgetShape(joined);
      stable &= joined == type;
      type = joined;
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
    sink.warn("loop '" + currentNode +
              "' changes lists or attributes an unknown number of times: what "
              "it gives is not known");
    ++trial;
    Body last = importOnce();
    --trial;
    for (auto [index, output] : llvm::enumerate(node.outputs))
      set(node, index, unknownItem(graph.values[output].type, location));
    for (auto &[root, value] : last.changes.tensors)
      state.write(root,
                  valueOf(unknownItem({JitType::Kind::Tensor, {}}, location)));
    for (const std::shared_ptr<Collection> &owner : last.changes.owners) {
      state.touch(owner);
      owner->items.clear();
      owner->known = false;
    }
    for (auto &[path, item] : last.changes.attributes)
      state.setAttribute(path, Item());
    result.coverage.ops += trial == 0;
    if (trial == 0)
      ++result.coverage.unmodelled[node.op];
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
    set(node, index, Leaves::rebuild(item, state, op->getResults(), from));
    const Item &after = items[node.outputs[index]];
    if (after.isTensor())
      nameResult(after.variable->value, node.outputs[index]);
  }
  for (TensorVariable *root : roots)
    state.write(root, op->getResult(from++));
}
