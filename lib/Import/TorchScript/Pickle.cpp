//===- Pickle.cpp - A pickle looked at without running it -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The opcodes are those of torch/csrc/jit/serialization/unpickler.cpp; their
// meaning is Python's pickletools. Of every value only what it holds is kept,
// to find how deep values nest: LibTorch reads and frees them by recursion. A
// list can grow after it was put into another one, so the depth is known at the
// end.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Import/TorchScript/Archive.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Endian.h"

#include <optional>
#include <vector>

using namespace mpopt::torchscript;
using llvm::ArrayRef;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;

// Values are read by recursion, a frame of the stack for each level.
static constexpr uint32_t kMaxDepth = 512;
// Entries of the stack that are no container.
static constexpr uint32_t kMark = UINT32_MAX;
static constexpr uint32_t kLeaf = 0;

static Error fail(const Twine &text) {
  return llvm::createStringError(text.str());
}

/// True for the globals of TorchScript pickles: their own classes and
/// functions, tensors, storages, quantisation schemes.
static bool isKnownGlobal(StringRef module, StringRef name) {
  if (module.starts_with("__torch__"))
    return true;
  if (module == "torch._utils")
    return name == "_rebuild_tensor" || name == "_rebuild_tensor_v2" ||
           name == "_rebuild_qtensor" || name == "_rebuild_parameter" ||
           name == "_rebuild_sparse_tensor" ||
           name == "_rebuild_meta_tensor_no_storage";
  if (module == "torch.jit._pickle")
    return name.starts_with("build_") || name == "restore_type_tag";
  if (module == "collections")
    return name == "OrderedDict";
  if (module == "builtins")
    return name == "complex";
  if (module == "torch")
    return name.ends_with("Storage") || name.starts_with("per_") ||
           name == "device" || name == "Size" || name == "strided" ||
           name.starts_with("sparse_");
  if (module == "torch.storage")
    return name == "UntypedStorage";
  return false;
}

namespace {
class PickleWalk {
public:
  explicit PickleWalk(StringRef bytes) : bytes(bytes) {}

  Error run() {
    while (true) {
      if (at >= bytes.size())
        return fail("has a pickle without an end");
      uint8_t opcode = bytes[at++];
      if (opcode == '.')
        return checkDepth();
      if (Error error = step(opcode))
        return error;
    }
  }

private:
  Error truncated() { return fail("has a damaged pickle"); }
  bool has(uint64_t count) const { return bytes.size() - at >= count; }

  void push(uint32_t value = kLeaf) { stack.push_back(value); }
  uint32_t makeContainer() { return ++containers; }
  void hold(uint32_t container, uint32_t value) {
    if (value != kLeaf)
      held.push_back({container, value});
  }
  bool pop(uint32_t &value) {
    if (stack.empty() || stack.back() == kMark)
      return false;
    value = stack.pop_back_val();
    return true;
  }
  /// Replaces the topmost `count` values by something that holds them.
  bool wrap(unsigned count) {
    uint32_t container = makeContainer();
    for (; count; --count) {
      uint32_t value;
      if (!pop(value))
        return false;
      hold(container, value);
    }
    push(container);
    return true;
  }
  /// The position after the last mark.
  std::optional<size_t> findMark() const {
    for (size_t index = stack.size(); index > 0; --index)
      if (stack[index - 1] == kMark)
        return index;
    return std::nullopt;
  }
  /// Replaces everything from the last mark on by something that holds it.
  bool wrapMarked() {
    std::optional<size_t> first = findMark();
    if (!first)
      return false;
    uint32_t container = makeContainer();
    for (uint32_t value : llvm::drop_begin(stack, *first))
      hold(container, value);
    stack.truncate(*first - 1);
    push(container);
    return true;
  }
  /// Puts everything above `first` into the value below the mark, or below it.
  bool fill(size_t first, bool marked) {
    size_t target = first - marked;
    if (target == 0 || stack[target - 1] == kMark)
      return false;
    uint32_t container = stack[target - 1];
    if (container == kLeaf)
      container = stack[target - 1] = makeContainer();
    for (uint32_t value : llvm::drop_begin(stack, first))
      hold(container, value);
    stack.truncate(target);
    return true;
  }
  bool fillMarked() {
    std::optional<size_t> first = findMark();
    return first && fill(*first, /*marked=*/true);
  }
  bool fillLast(size_t count) {
    if (stack.size() <= count ||
        llvm::is_contained(ArrayRef(stack).take_back(count), kMark))
      return false;
    return fill(stack.size() - count, /*marked=*/false);
  }

  /// The longest chain of containers, by taking away the outermost ones in
  /// turn; what is left over goes in circles.
  Error checkDepth() {
    llvm::sort(held);
    std::vector<uint32_t> holders(containers + 1), depth(containers + 1, 1);
    for (auto [container, value] : held)
      ++holders[value];
    std::vector<uint32_t> ready;
    for (uint32_t container = 1; container <= containers; ++container)
      if (holders[container] == 0)
        ready.push_back(container);
    uint32_t seen = 0;
    while (!ready.empty()) {
      uint32_t container = ready.back();
      ready.pop_back();
      ++seen;
      if (depth[container] > kMaxDepth)
        return fail("nests values more than " + Twine(kMaxDepth) + " deep");
      auto from = llvm::lower_bound(held, std::pair(container, 0u));
      for (; from != held.end() && from->first == container; ++from) {
        depth[from->second] =
            std::max(depth[from->second], depth[container] + 1);
        if (--holders[from->second] == 0)
          ready.push_back(from->second);
      }
    }
    return seen == containers ? Error::success()
                              : fail("has a value that holds itself");
  }

  bool skip(uint64_t count) {
    if (!has(count))
      return false;
    at += count;
    return true;
  }
  bool readLine(StringRef &line) {
    size_t end = bytes.find('\n', at);
    if (end == StringRef::npos)
      return false;
    line = bytes.slice(at, end);
    at = end + 1;
    return true;
  }
  uint32_t read32() const {
    return llvm::support::endian::read32le(bytes.data() + at);
  }

  Error step(uint8_t opcode) {
    uint32_t value = kLeaf;
    switch (opcode) {
    case 0x80: // PROTO
      return skip(1) ? Error::success() : truncated();
    case '(': // MARK
      stack.push_back(kMark);
      return Error::success();
    case 'N':  // NONE
    case 0x88: // NEWTRUE
    case 0x89: // NEWFALSE
    case ')':  // EMPTY_TUPLE
      push();
      return Error::success();
    case ']': // EMPTY_LIST
    case '}': // EMPTY_DICT
      push(makeContainer());
      return Error::success();
    case 'K': // BININT1
      push();
      return skip(1) ? Error::success() : truncated();
    case 'M': // BININT2
      push();
      return skip(2) ? Error::success() : truncated();
    case 'J': // BININT
      push();
      return skip(4) ? Error::success() : truncated();
    case 'G': // BINFLOAT
      push();
      return skip(8) ? Error::success() : truncated();
    case 0x8a: // LONG1
    case 'U':  // SHORT_BINSTRING
    case 0x8c: // SHORT_BINUNICODE
    case 'C':  // SHORT_BINBYTES
      push();
      return has(1) && skip(1 + uint64_t(uint8_t(bytes[at]))) ? Error::success()
                                                              : truncated();
    case 'X': // BINUNICODE
    case 'T': // BINSTRING
    case 'B': // BINBYTES
      push();
      return has(4) && skip(4 + uint64_t(read32())) ? Error::success()
                                                    : truncated();
    case 0x8d: { // BINUNICODE8
      push();
      if (!has(8))
        return truncated();
      uint64_t length = llvm::support::endian::read64le(bytes.data() + at);
      at += 8;
      return skip(length) ? Error::success() : truncated();
    }
    case 0x85: // TUPLE1
    case 0x86: // TUPLE2
    case 0x87: // TUPLE3
      return wrap(opcode - 0x84) ? Error::success() : truncated();
    case 't': // TUPLE
    case 'l': // LIST
    case 'd': // DICT
      return wrapMarked() ? Error::success() : truncated();
    case 'e': // APPENDS
    case 'u': // SETITEMS
      return fillMarked() ? Error::success() : truncated();
    case 'a': // APPEND
    case 'b': // BUILD
      return fillLast(1) ? Error::success() : truncated();
    case 's': // SETITEM
      return fillLast(2) ? Error::success() : truncated();
    case 'c': { // GLOBAL
      StringRef module, name;
      if (!readLine(module) || !readLine(name))
        return truncated();
      if (!isKnownGlobal(module, name)) {
        std::string text;
        for (char c : (module + "." + name).str().substr(0, 100))
          text += llvm::isPrint(c) ? c : '?';
        return fail("names '" + text +
                    "' in a pickle, which is not part of TorchScript");
      }
      push();
      return Error::success();
    }
    case 'R':  // REDUCE
    case 0x81: // NEWOBJ
      return wrap(2) ? Error::success() : truncated();
    case 'Q': // BINPERSID
      return wrap(1) ? Error::success() : truncated();
    case '0': // POP
      return pop(value) ? Error::success() : truncated();
    case 'q':  // BINPUT
    case 'r':  // LONG_BINPUT
    case 0x94: // MEMOIZE
      return memoize(opcode);
    case 'h':   // BINGET
    case 'j': { // LONG_BINGET
      unsigned width = opcode == 'h' ? 1 : 4;
      if (!has(width))
        return truncated();
      uint32_t key = width == 1 ? uint8_t(bytes[at]) : read32();
      at += width;
      // The two largest numbers are DenseMap's own.
      auto known = key >= kMark - 1 ? memo.end() : memo.find(key);
      if (known == memo.end())
        return truncated();
      push(known->second);
      return Error::success();
    }
    default:
      return fail("has a pickle with opcode 0x" +
                  llvm::utohexstr(opcode, true, 2) +
                  ", which TorchScript does not use");
    }
  }

  Error memoize(uint8_t opcode) {
    unsigned width = opcode == 'q' ? 1 : opcode == 'r' ? 4 : 0;
    if (!has(width) || stack.empty() || stack.back() == kMark)
      return truncated();
    uint32_t key = width == 0   ? memo.size()
                   : width == 1 ? uint8_t(bytes[at])
                                : read32();
    at += width;
    if (key >= kMark - 1)
      return truncated();
    memo[key] = stack.back();
    return Error::success();
  }

  StringRef bytes;
  size_t at = 0;
  llvm::SmallVector<uint32_t> stack; ///< containers by number, leaves, marks
  uint32_t containers = 0;
  std::vector<std::pair<uint32_t, uint32_t>> held; ///< container -> value
  llvm::DenseMap<uint32_t, uint32_t> memo;
};
} // namespace

Error mpopt::torchscript::inspectPickle(StringRef bytes) {
  return PickleWalk(bytes).run();
}
