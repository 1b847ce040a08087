//===- Memo.h - What was computed from weights
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results of streaming passes, for analyses that follow: a fix is tried on a
// copy of the module whose weights are the same bytes.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_SUPPORT_MEMO_H
#define MPOPT_SUPPORT_MEMO_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/xxhash.h"

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace mpopt {

/// Everything that a result depends on, hashed to 128 bits.
class MemoKey {
public:
  template <typename T> void add(const T &value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto *bytes = reinterpret_cast<const uint8_t *>(&value);
    data.insert(data.end(), bytes, bytes + sizeof(T));
  }
  template <typename T> void addAll(llvm::ArrayRef<T> values) {
    add(values.size());
    for (const T &value : values)
      add(value);
  }
  std::pair<uint64_t, uint64_t> get() const {
    llvm::XXH128_hash_t hash = llvm::xxh3_128bits(data);
    return {hash.high64, hash.low64};
  }

private:
  std::vector<uint8_t> data;
};

/// One thread at a time. Forgets nothing, and takes nothing more when it is
/// full.
class Memo {
public:
  /// Passes over fewer bytes are as quick as looking them up.
  static constexpr size_t kLeastWeight = 1 << 18;

  /// `T` is what was kept under the key: the caller's to know.
  template <typename T>
  std::shared_ptr<const T> find(const MemoKey &key) const {
    auto found = entries.find(key.get());
    return found == entries.end()
               ? nullptr
               : std::static_pointer_cast<const T>(found->second);
  }
  template <typename T>
  void keep(const MemoKey &key, std::shared_ptr<const T> value, size_t bytes) {
    if (held + bytes > kMostBytes)
      return;
    held += bytes;
    entries.emplace(key.get(), std::move(value));
  }

private:
  static constexpr size_t kMostBytes = 64 << 20; // of all that is kept

  std::map<std::pair<uint64_t, uint64_t>, std::shared_ptr<const void>> entries;
  size_t held = 0;
};

} // namespace mpopt

#endif // MPOPT_SUPPORT_MEMO_H
