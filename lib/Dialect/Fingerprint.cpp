//===- Fingerprint.cpp - What an op is, whatever it is called
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weisfeiler-Lehman refinement, two rounds, over the graph of ops that compute
// numbers: a round replaces an op's hash by that of itself and of the ops its
// operands come from, in any order. Exporters differ in casts, views, the order
// of factors, what is computed from shapes and constants, where a row is scaled
// by a number, and whether a bias is added by an op of its own: the walk passes
// them by. They choose, too, whether a composite is one op or written out: one
// that RecognizeIdioms has marked is one node of its kind, which its result
// stands for. Hashes must be equal on every machine and in every run, so
// pointers and llvm::hash_value stay out.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Dialect/Fingerprint.h"

#include "mpopt/Dialect/Composite.h"
#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/xxhash.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

// Rounds of refinement: an op's operands, and theirs.
static constexpr unsigned kRadius = 2;
// Bounds the walk along a chain of views and biases.
static constexpr unsigned kMostPassed = 16;

// The finaliser of splitmix64 (Steele, Lea, Flood 2014) over a running sum.
static uint64_t mix(uint64_t hash, uint64_t value) {
  uint64_t z = hash * 0x9e3779b97f4a7c15 + value + 0x632be59bd9b4e019;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

static uint64_t hashText(StringRef text) { return llvm::xxh3_64bits(text); }

// A number to five digits: one exporter writes 1e-5 as a float, another as a
// double.
static uint64_t hashNumber(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.4e", number);
  return hashText(text);
}

static bool isFloat(Value value) {
  return isa_and_present<FloatType>(getElementType(value));
}

static std::optional<int64_t> countElements(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape())
    return std::nullopt;
  return type.getNumElements();
}

static bool isNumber(Value value) { return countElements(value) == 1; }

// The constant that a float operand is made of, past casts and views: a view of
// it may have the size of the batch.
static mp::ConstantOp getConstant(Value operand) {
  return isFloat(operand)
             ? getMaker<mp::ConstantOp>(operand, Peel::CastsAndViews)
             : nullptr;
}

// The kind of an op. Exporters choose between several ops for a product with a
// weight, and for a mean.
static StringRef getOwnKind(Operation *op) {
  if (hasRole(op, Role::Contraction))
    return "contraction";
  if (hasRole(op, Role::Mean))
    return "average";
  return op->getName().stripDialect();
}

static uint64_t hashKind(Operation *op, StringRef kind) {
  uint64_t hash = hashText(kind);
  Operation *parent = op->getParentOp();
  return parent ? mix(hash, hashText(parent->getName().getStringRef())) : hash;
}

// The number of elements of the largest weight that the op reads.
static int64_t getWeightSize(Operation *op) {
  int64_t largest = 0;
  for (Value operand : op->getOperands())
    if (mp::ConstantOp constant = getConstant(operand))
      if (int64_t count = countElements(constant).value_or(0); count != 1)
        largest = std::max(largest, count);
  return largest;
}

// The op alone: its kind, the numbers it reads and the size of its largest
// weight. The sizes of other tensors change with the batch.
static uint64_t hashLocal(Operation *op) {
  uint64_t numbers = 0;
  for (Value operand : op->getOperands())
    if (mp::ConstantOp constant = getConstant(operand);
        constant && isNumber(constant))
      if (std::optional<double> number = getSplatConstant(constant))
        numbers += hashNumber(*number);
  return mix(mix(hashKind(op, getOwnKind(op)), numbers),
             uint64_t(getWeightSize(op)));
}

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

namespace {
/// An op, or the members of a composite that is written out.
struct Node {
  /// The op whose result is the node's.
  Operation *result = nullptr;
  SmallVector<Operation *, 1> members;
  uint64_t hash = 0;
  SmallVector<unsigned, 2> sources;
};

class Graph {
public:
  explicit Graph(Operation *root);

  /// One round: each node learns of the nodes that it reads.
  void refine();

  std::vector<Node> nodes;
  /// Ops whose results depend on no input but for its shape.
  DenseSet<Operation *> given;
  /// All ops in the order of the module, with the numbers of their nodes.
  llvm::MapVector<Operation *, unsigned> ofOp;

private:
  std::optional<unsigned> findSource(Value value) const;
  Value getPassedOn(Operation *op) const;
  bool isGiven(Value value) const;
  uint64_t hashNode(const Node &node) const;
};
} // namespace

Graph::Graph(Operation *root) {
  llvm::DenseMap<int64_t, unsigned> composites;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    mp::IdiomAttr idiom = getIdiom(op);
    unsigned index = nodes.size();
    if (idiom)
      index = composites.try_emplace(idiom.getId(), index).first->second;
    if (index == nodes.size())
      nodes.emplace_back();
    Node &node = nodes[index];
    node.members.push_back(op);
    if (!node.result || (idiom && idiom.getResult()))
      node.result = op;
    ofOp[op] = index;
    if (isa<mp::ConstantOp, mp::ShapeOp, mp::SizeOp>(op) ||
        (op->getNumOperands() > 0 && op->getNumRegions() == 0 &&
         isMemoryEffectFree(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return given.contains(operand.getDefiningOp());
         })))
      given.insert(op);
  });
  for (auto [index, node] : llvm::enumerate(nodes)) {
    node.hash = hashNode(node);
    for (Operation *op : node.members)
      for (Value operand : op->getOperands())
        if (std::optional<unsigned> source =
                isFloat(operand) ? findSource(operand) : std::nullopt;
            source && *source != index)
          node.sources.push_back(*source);
    // Members share what the composite reads once.
    if (node.members.size() > 1) {
      llvm::sort(node.sources);
      node.sources.erase(llvm::unique(node.sources), node.sources.end());
    }
  }
}

// The operand that an op gives a bias or a scale, or passes on alone; null if
// it does something else. An added number is no bias: it may guard a root.
Value Graph::getPassedOn(Operation *op) const {
  if (hasRole(op, Role::Concatenation) && op->getNumOperands() == 1)
    return op->getOperand(0);
  bool adds = hasRole(op, Role::Addition);
  bool divides = hasRole(op, Role::Division);
  if (op->getNumOperands() != 2 ||
      !(adds || divides || hasRole(op, Role::Multiplication)))
    return {};
  bool first = isGiven(op->getOperand(0));
  if (first == isGiven(op->getOperand(1)) || (first && divides))
    return {};
  Value other = op->getOperand(first ? 0 : 1);
  return isNumber(other) == adds ? Value() : op->getOperand(first ? 1 : 0);
}

// The node that computes `value`, past casts, views, biases and scales; nothing
// for arguments and what is given.
std::optional<unsigned> Graph::findSource(Value value) const {
  for (unsigned passed = 0; passed < kMostPassed; ++passed) {
    Operation *maker = getMaker(value, Peel::CastsAndViews);
    auto found = given.contains(maker) ? ofOp.end() : ofOp.find(maker);
    if (found == ofOp.end())
      return std::nullopt;
    value = getIdiom(maker) ? Value() : getPassedOn(maker);
    if (!value)
      return found->second;
  }
  return std::nullopt;
}

bool Graph::isGiven(Value value) const {
  return given.contains(getMaker(value, Peel::CastsAndViews));
}

// A composite has the numbers of its formula in some exports and in others
// none.
uint64_t Graph::hashNode(const Node &node) const {
  mp::IdiomAttr idiom = getIdiom(node.result);
  if (!idiom)
    return hashLocal(node.result);
  int64_t largest = 0;
  for (Operation *op : node.members)
    largest = std::max(largest, getWeightSize(op));
  return mix(mix(hashKind(node.result, idiom.getKind().getValue()), 0),
             uint64_t(largest));
}

void Graph::refine() {
  std::vector<uint64_t> refined;
  refined.reserve(nodes.size());
  for (const Node &node : nodes) {
    uint64_t around = 0;
    for (unsigned source : node.sources)
      around += mix(nodes[source].hash, 1);
    refined.push_back(mix(node.hash, around));
  }
  for (auto [node, hash] : llvm::zip_equal(nodes, refined))
    node.hash = hash;
}

//===----------------------------------------------------------------------===//
// Fingerprints
//===----------------------------------------------------------------------===//

Fingerprints::Fingerprints(Operation *root) {
  Graph graph(root);
  for (unsigned round = 0; round < kRadius; ++round)
    graph.refine();
  DenseMap<uint64_t, unsigned> counts;
  for (auto [op, index] : graph.ofOp) {
    const Node &node = graph.nodes[index];
    // Findings on a member but the last are of the form that is written out.
    uint64_t hash =
        op == node.result ? node.hash : mix(node.hash, hashLocal(op));
    entries[op] = {hash, ++counts[hash]};
  }
}

std::string Fingerprints::get(Operation *op, StringRef key) const {
  Entry entry = entries.lookup(op);
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << llvm::format_hex_no_prefix(mix(entry.hash, hashText(key)), 16);
  if (entry.ordinal > 1)
    stream << '-' << entry.ordinal;
  return text;
}
