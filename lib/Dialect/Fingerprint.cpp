//===- Fingerprint.cpp - What an op is, whatever it is called
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weisfeiler-Lehman refinement, two rounds, over the graph of ops: a round
// replaces an op's hash by that of itself, its operands' makers in order, and
// its users in any order. Hashes must be equal on every machine and in every
// run, so pointers and llvm::hash_value stay out.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Dialect/Fingerprint.h"

#include "mpopt/Dialect/Ops/CoreOps.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace mpopt;

// Constants up to this many bytes count by value: epsilons, scales, axes, pads.
static constexpr size_t kSmallBytes = 64;
static constexpr unsigned kRadius = 2;

// The finaliser of splitmix64 (Steele, Lea, Flood 2014) over a running sum.
static uint64_t mix(uint64_t hash, uint64_t value) {
  uint64_t z = hash * 0x9e3779b97f4a7c15 + value + 0x632be59bd9b4e019;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

static uint64_t hashText(StringRef text) { return llvm::xxh3_64bits(text); }

namespace {
class Hasher {
public:
  // The op alone: no names, no operands.
  uint64_t hashLocal(Operation *op) {
    uint64_t hash = hashText(op->getName().getStringRef());
    if (Operation *parent = op->getParentOp())
      hash = mix(hash, hashText(parent->getName().getStringRef()));
    if (auto constant = dyn_cast<mp::ConstantOp>(op))
      return mix(hash, hashConstant(constant));
    for (NamedAttribute attribute : op->getAttrDictionary()) {
      // Left by passes (mp.category, mp.idiom), or names (mp.arg_names).
      if (attribute.getName().strref().starts_with("mp."))
        continue;
      hash = mix(hash, hashText(attribute.getName().strref()));
      hash = mix(hash, hashAttribute(attribute.getValue()));
    }
    return hash;
  }

private:
  uint64_t hashConstant(mp::ConstantOp constant) {
    uint64_t hash = hashType(constant.getType());
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!dense || dense.getRawData().size() > kSmallBytes)
      return hash;
    ArrayRef<char> bytes = dense.getRawData();
    return mix(hash, llvm::xxh3_64bits(StringRef(bytes.data(), bytes.size())));
  }

  // Few distinct types and attributes in a graph of many ops: printed once.
  uint64_t hashType(Type type) {
    uint64_t &hash = types[type];
    return hash ? hash : hash = hashPrinted(type);
  }
  uint64_t hashAttribute(Attribute attribute) {
    uint64_t &hash = attributes[attribute];
    return hash ? hash : hash = hashPrinted(attribute);
  }
  template <typename T> static uint64_t hashPrinted(T printed) {
    std::string text;
    llvm::raw_string_ostream(text) << printed;
    return hashText(text);
  }

  DenseMap<Type, uint64_t> types;
  DenseMap<Attribute, uint64_t> attributes;
};
} // namespace

Fingerprints::Fingerprints(Operation *root) {
  Hasher hasher;
  SmallVector<Operation *> ops;
  DenseMap<Operation *, uint64_t> hashes;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    ops.push_back(op);
    hashes[op] = hasher.hashLocal(op);
  });

  for (unsigned round = 0; round < kRadius; ++round) {
    DenseMap<Operation *, uint64_t> refined;
    refined.reserve(hashes.size());
    for (Operation *op : ops) {
      uint64_t hash = hashes[op];
      for (Value operand : op->getOperands()) {
        Operation *maker = operand.getDefiningOp();
        uint64_t result =
            maker ? cast<OpResult>(operand).getResultNumber() : ~uint64_t(0);
        hash = mix(hash, mix(maker ? hashes[maker] : 0, result));
      }
      uint64_t users = 0;
      for (OpOperand &use : op->getUses())
        users += mix(hashes[use.getOwner()], use.getOperandNumber());
      refined[op] = mix(hash, users);
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
