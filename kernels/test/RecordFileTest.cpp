//===- RecordFileTest.cpp - Files that do not hold together
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Kernels/RecordFile.h"
#include "mpopt/Kernels/Recorder.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <unistd.h>

using namespace mpopt::kernels;

/// A file with three probes, one of them with channels, each written twice.
static std::vector<char> goodFile() {
  std::string path =
      testing::TempDir() + "mpopt-good-" + std::to_string(getpid()) + ".mprec";
  uint8_t ledger[32] = {1, 2, 3};
  mpopt_recorder *recorder = mpopt_recorder_open(path.c_str(), ledger, "test");
  float values[] = {1, 2, 3, -4};
  int64_t dims[] = {2, 2};
  for (int step = 0; step < 2; ++step) {
    for (uint32_t probe : {4u, 9u, 2u}) {
      mpopt_tensor tensor = {values,  MPOPT_F32,           2, dims,
                             nullptr, probe == 9 ? 1 : -1, 0};
      mpopt_recorder_observe(recorder, probe, MPOPT_VALUE, &tensor, nullptr);
    }
    EXPECT_EQ(mpopt_recorder_flush(recorder), 0);
  }
  EXPECT_EQ(mpopt_recorder_close(recorder), 0);
  std::vector<char> bytes;
  std::FILE *file = std::fopen(path.c_str(), "rb");
  for (int c; file && (c = std::fgetc(file)) != EOF;)
    bytes.push_back(char(c));
  std::fclose(file);
  std::remove(path.c_str());
  return bytes;
}

static RecordFileResult parse(const std::vector<char> &bytes) {
  return parseRecordFile(bytes.data(), bytes.size());
}

TEST(RecordFileTest, WholeFile) {
  RecordFileResult result = parse(goodFile());
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.file.damage, "");
  EXPECT_TRUE(result.file.closed);
  ASSERT_EQ(result.file.probes.size(), 3u);
  EXPECT_EQ(result.file.header.ledger[1], 2);
  EXPECT_EQ(result.file.header.pid, uint64_t(getpid()));
  EXPECT_STREQ(result.file.header.runtime, "test");
  for (const ProbeRecord &probe : result.file.probes) {
    EXPECT_EQ(probe.record.calls, 2u);
    EXPECT_EQ(probe.record.count, 8u);
    EXPECT_EQ(probe.record.min, -4);
    if (probe.record.probe != 9)
      continue;
    ASSERT_EQ(probe.channels.size(), 2u);
    EXPECT_EQ(probe.channels[0].max, 3);
    EXPECT_EQ(probe.channels[1].min, -4);
  }
}

/// A file cut anywhere gives the probes that are whole, and says so.
TEST(RecordFileTest, CutAnywhere) {
  std::vector<char> bytes = goodFile();
  size_t whole = 0;
  for (size_t size = 0; size < bytes.size(); size += size < 300 ? 1 : 97) {
    std::vector<char> cut(bytes.begin(), bytes.begin() + ptrdiff_t(size));
    RecordFileResult result = parse(cut);
    if (size < sizeof(mpopt_file_header)) {
      EXPECT_NE(result.error, "");
      continue;
    }
    EXPECT_EQ(result.error, "");
    EXPECT_GE(result.file.probes.size(), whole);
    whole = result.file.probes.size();
    bool between = size == sizeof(mpopt_file_header);
    EXPECT_EQ(result.file.damage.empty(), between) << size;
  }
  EXPECT_GE(whole, 2u);
}

/// The newer copy spoiled: the older one counts.
TEST(RecordFileTest, OlderCopyWhereTheNewerIsTorn) {
  std::vector<char> bytes = goodFile();
  size_t first = sizeof(mpopt_file_header) + sizeof(mpopt_extent);
  size_t second = first + mpopt_copy_bytes(0);
  mpopt_copy a, b;
  std::memcpy(&a, bytes.data() + first, sizeof(a));
  std::memcpy(&b, bytes.data() + second, sizeof(b));
  ASSERT_NE(a.sequence, b.sequence);
  size_t newer = a.sequence > b.sequence ? first : second;
  bytes[newer + 200] ^= 1;
  RecordFileResult result = parse(bytes);
  EXPECT_EQ(result.file.damage, "");
  ASSERT_EQ(result.file.probes.size(), 3u);
  EXPECT_EQ(result.file.probes[0].record.calls, 1u);
  bytes[(newer == first ? second : first) + 200] ^= 1;
  result = parse(bytes);
  EXPECT_EQ(result.file.damage, "1 of the probes' records damaged");
  EXPECT_EQ(result.file.probes.size(), 2u);
}

TEST(RecordFileTest, OtherFiles) {
  std::vector<char> bytes = goodFile();
  auto with = [&](size_t at, char value) {
    std::vector<char> changed = bytes;
    changed[at] = value;
    return parse(changed).error;
  };
  EXPECT_EQ(with(0, 'X'), "not a record file");
  EXPECT_EQ(with(offsetof(mpopt_file_header, version), 7),
            "version 7 of the record file is not known");
  EXPECT_EQ(with(offsetof(mpopt_file_header, ledger), 9), "damaged header");
  std::vector<char> swapped = bytes;
  std::reverse(swapped.begin() + 8, swapped.begin() + 12);
  EXPECT_EQ(parse(swapped).error,
            "written on a machine of the other byte order");
  EXPECT_NE(readRecordFile("/no/such/file").error, "");
}

/// A probe's extent that claims more than there is, with a good checksum.
TEST(RecordFileTest, SizesAreNotTrusted) {
  std::vector<char> bytes = goodFile();
  mpopt_extent extent;
  std::memcpy(&extent, bytes.data() + sizeof(mpopt_file_header),
              sizeof(extent));
  for (uint32_t channels : {1u, MPOPT_MAX_CHANNELS, ~0u})
    for (uint64_t size : {uint64_t(0), uint64_t(16), mpopt_copy_bytes(channels),
                          ~uint64_t(0), uint64_t(1) << 62}) {
      mpopt_extent changed = extent;
      changed.channels = channels;
      changed.copy_bytes = size;
      changed.checksum =
          mpopt_checksum(0, &changed, offsetof(mpopt_extent, checksum));
      std::vector<char> copy = bytes;
      std::memcpy(copy.data() + sizeof(mpopt_file_header), &changed,
                  sizeof(changed));
      RecordFileResult result = parse(copy);
      EXPECT_EQ(result.error, "");
      EXPECT_NE(result.file.damage, "");
      EXPECT_TRUE(result.file.probes.empty());
    }
}

TEST(RecordFileTest, AnyByteChanged) {
  std::vector<char> bytes = goodFile();
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    std::vector<char> changed = bytes;
    for (unsigned n = 1 + random() % 4; n; --n)
      changed[random() % changed.size()] ^= char(1 + random() % 255);
    RecordFileResult result = parse(changed);
    EXPECT_LE(result.file.probes.size(), 3u);
  }
}
