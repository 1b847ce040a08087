//===- ZipFile.cpp - Members of a zip archive in memory -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Signatures and offsets: PKWARE's APPNOTE.TXT, 4.3.7, 4.3.12, 4.3.14 to 4.3.16
// and 4.5.3 (zip64 extra field).
//
//===----------------------------------------------------------------------===//

#include "mpopt/Support/ZipFile.h"

#include "llvm/Support/Endian.h"

#include <zlib.h>

using namespace mpopt;
using llvm::Expected;
using llvm::StringRef;
using llvm::support::endian::read16le;
using llvm::support::endian::read32le;
using llvm::support::endian::read64le;

static llvm::Error fail(const char *text) {
  return llvm::createStringError(text);
}

namespace {
/// Where the central directory is.
struct Directory {
  uint64_t entries, offset;
};
} // namespace

/// True if `length` bytes from `at` are inside.
static bool has(StringRef zip, uint64_t at, uint64_t length) {
  return at <= zip.size() && zip.size() - at >= length;
}

static bool isAt(StringRef zip, uint64_t at, StringRef signature) {
  return has(zip, at, signature.size()) &&
         zip.substr(at, signature.size()) == signature;
}

static bool findDirectory(StringRef zip, Directory &directory) {
  size_t end = zip.rfind(StringRef("PK\5\6", 4));
  if (end == StringRef::npos || !has(zip, end, 22))
    return false;
  directory = {read16le(zip.data() + end + 10),
               read32le(zip.data() + end + 16)};
  if (directory.entries != 0xffff && directory.offset != 0xffffffff)
    return true;
  // The locator of the zip64 record lies just before.
  if (end < 20 || !isAt(zip, end - 20, StringRef("PK\6\7", 4)))
    return true;
  uint64_t record = read64le(zip.data() + end - 20 + 8);
  if (!isAt(zip, record, StringRef("PK\6\6", 4)) || !has(zip, record, 56))
    return false;
  directory = {read64le(zip.data() + record + 32),
               read64le(zip.data() + record + 48)};
  return true;
}

/// Replaces what the entry's 32 bits cannot hold by the zip64 extra field.
static bool widen(StringRef extra, uint64_t &size, uint64_t &packed,
                  uint64_t &local) {
  while (extra.size() >= 4) {
    uint16_t tag = read16le(extra.data()), length = read16le(extra.data() + 2);
    StringRef field = extra.substr(4, length);
    extra = extra.substr(std::min<size_t>(4 + length, extra.size()));
    if (tag != 1)
      continue;
    for (uint64_t *value : {&size, &packed, &local})
      if (*value == 0xffffffff) {
        if (field.size() < 8)
          return false;
        *value = read64le(field.data());
        field = field.substr(8);
      }
  }
  return true;
}

Expected<std::vector<ZipMember>> mpopt::readZipDirectory(StringRef zip) {
  Directory directory;
  if (!findDirectory(zip, directory))
    return fail("is not a zip archive");
  std::vector<ZipMember> members;
  uint64_t at = directory.offset;
  for (uint64_t index = 0; index < directory.entries; ++index) {
    if (!isAt(zip, at, StringRef("PK\1\2", 4)) || !has(zip, at, 46))
      return fail("has a damaged zip directory");
    const char *entry = zip.data() + at;
    uint64_t name = read16le(entry + 28), extra = read16le(entry + 30);
    uint64_t packed = read32le(entry + 20), size = read32le(entry + 24);
    uint64_t local = read32le(entry + 42);
    if (!has(zip, at + 46, name + extra) ||
        !widen(zip.substr(at + 46 + name, extra), size, packed, local) ||
        !isAt(zip, local, StringRef("PK\3\4", 4)) || !has(zip, local, 30))
      return fail("has a damaged zip directory");
    uint64_t length = 46 + name + extra + read16le(entry + 32);
    if (!has(zip, at, length))
      return fail("has a damaged zip directory");
    StringRef entryBytes = zip.substr(at, length);
    const char *header = zip.data() + local;
    uint64_t data = local + 30 + read16le(header + 26) + read16le(header + 28);
    if (!has(zip, data, packed))
      return fail("is truncated");
    members.push_back({std::string(entry + 46, name), read16le(entry + 10),
                       size, data, zip.substr(data, packed), entryBytes});
    at += entryBytes.size();
  }
  return members;
}

static llvm::Error
inflateMember(z_stream &stream, const ZipMember &member,
              llvm::function_ref<llvm::Error(StringRef)> visit) {
  std::vector<char> buffer(1 << 16);
  uint64_t size = 0;
  for (int status = Z_OK; status != Z_STREAM_END;) {
    stream.next_out = reinterpret_cast<Bytef *>(buffer.data());
    stream.avail_out = buffer.size();
    status = inflate(&stream, Z_NO_FLUSH);
    size_t made = buffer.size() - stream.avail_out;
    size += made;
    // Z_BUF_ERROR: the data ends too early.
    if ((status != Z_OK && status != Z_STREAM_END) || size > member.size)
      return fail("is damaged");
    if (llvm::Error error = visit(StringRef(buffer.data(), made)))
      return error;
  }
  return size == member.size ? llvm::Error::success() : fail("is damaged");
}

llvm::Error
mpopt::readZipMember(const ZipMember &member,
                     llvm::function_ref<llvm::Error(StringRef)> visit) {
  if (member.isStored())
    return visit(member.bytes);
  if (member.method != 8)
    return fail("has a member in a compression that is not read");
  // Deflate packs at most 1032 to 1: a larger claim is a damaged header.
  if (member.size / 1032 > member.bytes.size() ||
      member.bytes.size() > UINT32_MAX)
    return fail("is damaged");
  z_stream stream = {};
  // A negative window size means no zlib header, as in zip files.
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return fail("cannot be unpacked");
  stream.next_in =
      reinterpret_cast<Bytef *>(const_cast<char *>(member.bytes.data()));
  stream.avail_in = member.bytes.size();
  llvm::Error error = inflateMember(stream, member, visit);
  inflateEnd(&stream);
  return error;
}

Expected<std::string> mpopt::unpackZipMember(const ZipMember &member,
                                             uint64_t maxSize) {
  if (member.size > maxSize)
    return fail("is damaged");
  std::string out;
  if (llvm::Error error = readZipMember(member, [&](StringRef bytes) {
        out += bytes;
        return llvm::Error::success();
      }))
    return std::move(error);
  return out;
}
