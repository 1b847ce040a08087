//===- ZipTailTest.cpp - More members for a zip archive -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Support/ZipTail.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "gtest/gtest.h"

using namespace mpopt;
using llvm::support::endian::read16le;
using llvm::support::endian::read32le;
using llvm::support::endian::read64le;

/// An archive that is nothing but a tail.
static std::string
makeArchive(std::vector<std::pair<std::string, std::string>> members) {
  ZipTail zip({}, 0);
  for (auto &[name, bytes] : members)
    zip.add(name, bytes);
  return zip.finish();
}

static std::vector<ZipMember> read(llvm::StringRef archive) {
  auto members = readZipDirectory(archive);
  EXPECT_TRUE(bool(members)) << llvm::toString(members.takeError());
  return members ? std::move(*members) : std::vector<ZipMember>();
}

static std::string unpack(const ZipMember &member) {
  auto bytes = unpackZipMember(member);
  EXPECT_TRUE(bool(bytes)) << llvm::toString(bytes.takeError());
  return bytes ? *bytes : std::string();
}

TEST(ZipTail, IsReadBack) {
  std::string text(10000, 'x');
  std::string archive =
      makeArchive({{"a/empty", ""}, {"a/short", "abc"}, {"a/text", text}});
  EXPECT_LT(archive.size(), text.size());
  std::vector<ZipMember> members = read(archive);
  ASSERT_EQ(members.size(), 3u);
  EXPECT_EQ(unpack(members[0]), "");
  EXPECT_EQ(unpack(members[1]), "abc");
  EXPECT_EQ(unpack(members[2]), text);
  for (const ZipMember &member : members)
    EXPECT_EQ(member.offset % 64, 0u);
  EXPECT_TRUE(members[1].isStored());
}

TEST(ZipTail, KeepsReplacesAndAdds) {
  std::string archive = makeArchive({{"a/kept", "one"}, {"a/old", "two"}});
  ZipTail zip(read(archive), archive.size());
  zip.add("a/old", "three");
  zip.add("a/new", "four");
  std::string longer = archive + zip.finish();
  std::vector<ZipMember> members = read(longer);
  ASSERT_EQ(members.size(), 3u);
  EXPECT_EQ(members[0].name, "a/kept");
  EXPECT_LT(members[0].offset, archive.size());
  EXPECT_EQ(unpack(members[0]), "one");
  EXPECT_EQ(members[1].name, "a/old");
  EXPECT_GT(members[1].offset, archive.size());
  EXPECT_EQ(unpack(members[1]), "three");
  EXPECT_EQ(unpack(members[2]), "four");
}

// Offsets beyond 32 bits have no room in the plain structures.
TEST(ZipTail, FollowsLargeArchives) {
  uint64_t size = uint64_t(5) << 30;
  ZipTail zip({}, size);
  zip.add("a/b", "abc");
  std::string tail = zip.finish();
  size_t entry = tail.find(std::string("PK\1\2", 4));
  ASSERT_NE(entry, std::string::npos);
  EXPECT_EQ(read32le(tail.data() + entry + 42), 0xffffffffu);
  const char *extra = tail.data() + entry + 46 + 3;
  EXPECT_EQ(read16le(extra), 1u);
  EXPECT_EQ(read16le(extra + 2), 8u);
  EXPECT_EQ(read64le(extra + 4), size);
  size_t wide = tail.find(std::string("PK\6\6", 4));
  ASSERT_NE(wide, std::string::npos);
  EXPECT_EQ(read64le(tail.data() + wide + 32), 1u);
  EXPECT_EQ(read64le(tail.data() + wide + 48), size + entry);
  size_t locator = tail.find(std::string("PK\6\7", 4));
  ASSERT_NE(locator, std::string::npos);
  EXPECT_EQ(read64le(tail.data() + locator + 8), size + wide);
  EXPECT_EQ(locator + 20, tail.find(std::string("PK\5\6", 4)));
}

TEST(ZipTail, HoldsManyMembers) {
  std::vector<std::pair<std::string, std::string>> many;
  for (int index = 0; index < 66000; ++index)
    many.push_back({"a/" + llvm::utostr(index), ""});
  std::string archive = makeArchive(many);
  EXPECT_EQ(read(archive).size(), many.size());
}
