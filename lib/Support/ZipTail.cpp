//===- ZipTail.cpp - More members for a zip archive -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layouts: PKWARE's APPNOTE.TXT, 4.3.7, 4.3.12, 4.3.14 to 4.3.16 and 4.5.3.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Support/ZipTail.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"

#include <zlib.h>

using namespace mpopt;
using llvm::StringRef;

/// PyTorch's readers map members at multiples of 64 bytes.
static constexpr uint64_t kAlignment = 64;
/// Smaller content is not compressed, in bytes.
static constexpr size_t kLeastPacked = 256;
static constexpr uint16_t kUtf8Names = 0x0800;
/// 1 January 1980, the first day that the format knows: files that were written
/// from the same archive are the same.
static constexpr uint16_t kDate = 0x21;

namespace {
/// Numbers in the byte order of zip files.
class Writer {
public:
  explicit Writer(std::string &out) : out(out) {}
  Writer &u16(uint16_t value) { return number(value); }
  Writer &u32(uint32_t value) { return number(value); }
  Writer &u64(uint64_t value) { return number(value); }
  Writer &text(StringRef value) {
    out += value;
    return *this;
  }

private:
  template <typename T> Writer &number(T value) {
    char bytes[sizeof(T)];
    llvm::support::endian::write<T>(bytes, value, llvm::endianness::little);
    out.append(bytes, sizeof(T));
    return *this;
  }
  std::string &out;
};
} // namespace

static uint32_t clip(uint64_t value) {
  return value < 0xffffffff ? uint32_t(value) : 0xffffffff;
}

/// Empty if packing does not help.
static std::string deflated(StringRef bytes) {
  if (bytes.size() < kLeastPacked || bytes.size() > UINT32_MAX)
    return {};
  z_stream stream = {};
  // A negative window size means no zlib header, as in zip files.
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    return {};
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(bytes.data()));
  stream.avail_in = bytes.size();
  stream.next_out = reinterpret_cast<Bytef *>(out.data());
  stream.avail_out = out.size();
  bool whole = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return whole && out.size() < bytes.size() ? out : std::string();
}

void ZipTail::add(std::string name, StringRef bytes) {
  std::string packed = deflated(bytes);
  uint16_t method = packed.empty() ? 0 : 8;
  StringRef content = packed.empty() ? bytes : StringRef(packed);
  uint32_t check =
      crc32_z(0, reinterpret_cast<const Bytef *>(bytes.data()), bytes.size());
  uint64_t local = size + tail.size();

  // An extra field of a private kind fills up to the alignment.
  uint64_t data = local + 30 + name.size() + 4;
  uint16_t padding = (kAlignment - data % kAlignment) % kAlignment;
  Writer(tail)
      .text(StringRef("PK\3\4", 4))
      .u16(20)
      .u16(kUtf8Names)
      .u16(method)
      .u16(0)
      .u16(kDate)
      .u32(check)
      .u32(content.size())
      .u32(bytes.size())
      .u16(name.size())
      .u16(4 + padding)
      .text(name)
      .text("FB")
      .u16(padding)
      .text(std::string(padding, 'Z'))
      .text(content);

  std::string wide;
  if (local >= 0xffffffff)
    Writer(wide).u16(1).u16(8).u64(local);
  entries.emplace_back();
  Writer(entries.back())
      .text(StringRef("PK\1\2", 4))
      .u16(wide.empty() ? 20 : 45)
      .u16(wide.empty() ? 20 : 45)
      .u16(kUtf8Names)
      .u16(method)
      .u16(0)
      .u16(kDate)
      .u32(check)
      .u32(content.size())
      .u32(bytes.size())
      .u16(name.size())
      .u16(wide.size())
      .u16(0)
      .u16(0)
      .u16(0)
      .u32(0)
      .u32(clip(local))
      .text(name)
      .text(wide);
  added.push_back(std::move(name));
}

std::string ZipTail::finish() {
  uint64_t begin = size + tail.size(), count = entries.size();
  for (const ZipMember &member : members)
    if (!llvm::is_contained(added, member.name)) {
      tail += member.entry;
      ++count;
    }
  for (const std::string &entry : entries)
    tail += entry;
  uint64_t end = size + tail.size();
  if (count >= 0xffff || begin >= 0xffffffff || end - begin >= 0xffffffff)
    Writer(tail)
        .text(StringRef("PK\6\6", 4))
        .u64(44)
        .u16(45)
        .u16(45)
        .u32(0)
        .u32(0)
        .u64(count)
        .u64(count)
        .u64(end - begin)
        .u64(begin)
        .text(StringRef("PK\6\7", 4))
        .u32(0)
        .u64(end)
        .u32(1);
  uint16_t few = count < 0xffff ? uint16_t(count) : 0xffff;
  Writer(tail)
      .text(StringRef("PK\5\6", 4))
      .u16(0)
      .u16(0)
      .u16(few)
      .u16(few)
      .u32(clip(end - begin))
      .u32(clip(begin))
      .u16(0);
  return std::move(tail);
}
