//===- Fingerprint.cpp - What an op is, whatever it is called
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weisfeiler-Lehman refinement, two rounds, over the graph of ops that compute
// numbers: a round replaces an op's hash by that of itself and of the ops its
// operands come from, in any order. Exporters differ in casts, views, the order
// of factors, what computes shapes, and whether a bias is added by an op of its
// own: the walk passes them by. Hashes must be equal on every machine and in
// every run, so pointers and llvm::hash_value stay out.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Dialect/Fingerprint.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/xxhash.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

static constexpr unsigned kRadius = 2;
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

static bool isNumber(Value constant) {
  auto type = dyn_cast<RankedTensorType>(constant.getType());
  return type && type.hasStaticShape() && type.getNumElements() == 1;
}

// The op that computes `value`, past casts, views and added biases; null for
// arguments and constants.
static Operation *getSource(Value value) {
  for (unsigned passed = 0; passed < kMostPassed; ++passed) {
    Operation *maker = getMaker(value, Peel::CastsAndViews);
    if (!maker || isa<mp::ConstantOp>(maker))
      return nullptr;
    if (!hasRole(maker, Role::Addition) || maker->getNumOperands() != 2)
      return maker;
    bool first = isConstant(maker->getOperand(0));
    if (first == isConstant(maker->getOperand(1)))
      return maker;
    // An added number is no bias.
    if (isNumber(maker->getOperand(first ? 0 : 1)))
      return maker;
    value = maker->getOperand(first ? 1 : 0);
  }
  return nullptr;
}

// The name of a composite for its members. Exporters choose between several ops
// for a product with a weight, and for a mean.
static StringRef getKind(Operation *op) {
  if (auto idiom = op->getAttrOfType<mp::IdiomAttr>("mp.idiom"))
    return idiom.getKind().getValue();
  if (hasRole(op, Role::Contraction))
    return "contraction";
  if (hasRole(op, Role::Mean))
    return "average";
  return op->getName().stripDialect();
}

// The op alone: its kind, the numbers it reads and the size of its largest
// weight. The sizes of other tensors change with the batch.
static uint64_t hashLocal(Operation *op) {
  uint64_t hash = hashText(getKind(op));
  if (Operation *parent = op->getParentOp())
    hash = mix(hash, hashText(parent->getName().getStringRef()));
  uint64_t numbers = 0;
  int64_t largest = 0;
  for (Value operand : op->getOperands()) {
    if (!isFloat(operand) || !isConstant(operand))
      continue;
    if (isNumber(operand)) {
      if (std::optional<double> number = getSplatConstant(operand))
        numbers += hashNumber(*number);
    } else if (auto type = dyn_cast<RankedTensorType>(operand.getType());
               type && type.hasStaticShape()) {
      largest = std::max(largest, type.getNumElements());
    }
  }
  return mix(mix(hash, numbers), uint64_t(largest));
}

Fingerprints::Fingerprints(Operation *root) {
  SmallVector<Operation *> ops;
  DenseMap<Operation *, uint64_t> hashes;
  DenseMap<Operation *, SmallVector<Operation *, 2>> sources;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    ops.push_back(op);
    hashes[op] = hashLocal(op);
    SmallVector<Operation *, 2> &list = sources[op];
    for (Value operand : op->getOperands())
      if (isFloat(operand))
        if (Operation *source = getSource(operand))
          list.push_back(source);
  });

  for (unsigned round = 0; round < kRadius; ++round) {
    DenseMap<Operation *, uint64_t> refined;
    refined.reserve(hashes.size());
    for (Operation *op : ops) {
      uint64_t around = 0;
      for (Operation *source : sources[op])
        around += mix(hashes[source], 1);
      refined[op] = mix(hashes[op], around);
    }
    hashes = std::move(refined);
  }

  DenseMap<uint64_t, unsigned> counts;
  for (Operation *op : ops)
    entries[op] = {hashes[op], ++counts[hashes[op]]};
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
