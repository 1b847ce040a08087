//===- RecorderTest.cpp - Recording, and all that may go wrong with the file
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Kernels/Recorder.h"
#include "mpopt/Kernels/RecordFile.h"

#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace mpopt::kernels;

static void observe(mpopt_recorder *recorder, uint32_t probe,
                    std::vector<float> values) {
  int64_t dims[] = {int64_t(values.size())};
  mpopt_tensor tensor = {values.data(), MPOPT_F32, 1, dims, nullptr, -1, 0};
  mpopt_recorder_observe(recorder, probe, MPOPT_VALUE, &tensor, nullptr);
}

static mpopt_record read(mpopt_recorder *recorder, uint32_t probe) {
  mpopt_record record;
  mpopt_record_init(&record, ~0u, 0);
  EXPECT_TRUE(
      mpopt_recorder_read(recorder, probe, MPOPT_VALUE, &record, nullptr, 0));
  return record;
}

/// Runs `work` in a child process, which then calls _exit(0). Returns its wait
/// status.
static int inChild(const std::function<void()> &work) {
  std::fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    work();
    std::exit(testing::Test::HasFailure());
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

namespace {

class RecorderTest : public testing::Test {
protected:
  void SetUp() override {
    folder = testing::TempDir() + "mpopt-recorder-" + std::to_string(getpid());
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string path(const char *name = "run.mprec") {
    return folder + "/" + name;
  }
  mpopt_recorder *open(const std::string &pattern, uint8_t ledger = 1) {
    uint8_t hash[32] = {ledger};
    return mpopt_recorder_open(pattern.c_str(), hash, "test");
  }
  std::vector<std::string> files() {
    std::vector<std::string> names;
    for (auto &entry : std::filesystem::directory_iterator(folder))
      names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

  std::string folder;
};

} // namespace

/// The norm comes from the pass that records; NaN and Inf are not hidden, and
/// where the pass sees no squares the caller is told.
TEST_F(RecorderTest, NormOfWhatIsRecorded) {
  mpopt_recorder *recorder = open(path());
  constexpr float inf = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  auto norm = [&](std::vector<float> values) {
    int64_t dims[] = {int64_t(values.size())};
    mpopt_tensor tensor = {values.data(), MPOPT_F32, 1, dims, nullptr, -1, 0};
    double found = -1;
    int known = mpopt_recorder_observe_norm(recorder, 3, MPOPT_VALUE, &tensor,
                                            nullptr, &found);
    EXPECT_EQ(known, found != -1);
    return found;
  };
  EXPECT_EQ(norm({3, -4}), 5);
  EXPECT_EQ(norm({}), 0);
  EXPECT_EQ(norm({1e30f, 0}), double(1e30f));
  EXPECT_EQ(norm({1, inf, 2}), inf);
  EXPECT_TRUE(std::isnan(norm({1, inf, nan})));
  EXPECT_EQ(read(recorder, 3).calls, 5u);

  double wide[] = {1e200, 1}, found = -1;
  int64_t dims[] = {2}, numbers[] = {1, 2};
  for (mpopt_tensor tensor :
       {mpopt_tensor{wide, MPOPT_F64, 1, dims, nullptr, -1, 0},
        mpopt_tensor{numbers, MPOPT_I64, 1, dims, nullptr, -1, 0}}) {
    EXPECT_FALSE(mpopt_recorder_observe_norm(recorder, 4, MPOPT_VALUE, &tensor,
                                             nullptr, &found));
    EXPECT_EQ(found, -1);
  }
  EXPECT_EQ(read(recorder, 4).calls, 2u);
  mpopt_recorder_enable(recorder, 0);
  EXPECT_EQ(norm({3, 4}), -1);
  EXPECT_EQ(read(recorder, 3).calls, 5u);
  EXPECT_EQ(read(recorder, 3).skipped, 1u);
  mpopt_recorder_enable(recorder, 1);
  EXPECT_EQ(mpopt_recorder_close(recorder), 0);
}

/// Ids that a table holds, and those beyond it.
TEST_F(RecorderTest, LargeIds) {
  mpopt_recorder *recorder = open(path());
  for (uint32_t id : {0u, 65535u, 65536u, 4000000000u, 7u, 65535u})
    observe(recorder, id, {float(id)});
  EXPECT_EQ(read(recorder, 65535).calls, 2u);
  for (uint32_t id : {0u, 65536u, 4000000000u, 7u}) {
    EXPECT_EQ(read(recorder, id).calls, 1u);
    EXPECT_EQ(read(recorder, id).max, double(float(id)));
  }
  EXPECT_EQ(mpopt_recorder_close(recorder), 0);
}

TEST_F(RecorderTest, StepsPeriodAndSwitch) {
  mpopt_recorder *recorder = open(path());
  mpopt_recorder_set_period(recorder, 3);
  for (int i = 0; i < 10; ++i)
    observe(recorder, 1, {float(i)});
  mpopt_record record = read(recorder, 1);
  EXPECT_EQ(record.calls, 4u); // 0 3 6 9
  EXPECT_EQ(record.skipped, 6u);
  EXPECT_EQ(record.max, 9);
  EXPECT_EQ(record.absmax_step, 9u);
  mpopt_recorder_enable(recorder, 0);
  observe(recorder, 1, {99});
  mpopt_recorder_enable(recorder, 1);
  mpopt_recorder_set_step(recorder, 300);
  observe(recorder, 1, {77});
  record = read(recorder, 1);
  EXPECT_EQ(record.max, 77);
  EXPECT_EQ(record.absmax_step, 300u);
  mpopt_recorder_status status;
  mpopt_recorder_get_status(recorder, &status);
  EXPECT_EQ(status.probes, 1u);
  EXPECT_EQ(status.calls, 5u);
  EXPECT_EQ(status.skipped, 7u);
  EXPECT_EQ(status.path, path());
  mpopt_recorder_close(recorder);
  EXPECT_EQ(readRecordFile(path()).file.probes[0].record.max, 77);
}

TEST_F(RecorderTest, AskedBeforeTheTensorIsThere) {
  mpopt_recorder *recorder = open(path());
  mpopt_recorder_set_period(recorder, 2);
  int observed = 0;
  for (int i = 0; i < 6; ++i)
    if (!mpopt_recorder_skip(recorder, 1, MPOPT_VALUE)) {
      observe(recorder, 1, {float(i)});
      ++observed;
    }
  EXPECT_EQ(observed, 3);
  mpopt_record record = read(recorder, 1);
  EXPECT_EQ(record.calls, 3u);
  EXPECT_EQ(record.skipped, 3u);
  EXPECT_EQ(record.absmax_step, 4u);
  mpopt_recorder_close(recorder);
}

TEST_F(RecorderTest, OneRecorderForALedger) {
  uint8_t ledger[32] = {1};
  mpopt_recorder *named = open(path());
  EXPECT_EQ(mpopt_recorder_open(nullptr, ledger, "other"), named);
  EXPECT_EQ(open(path()), named);
  mpopt_recorder *other = open(path("other.mprec"), 2);
  EXPECT_NE(other, named);
  mpopt_recorder *all[8];
  EXPECT_EQ(mpopt_recorder_all(all, 8), 2u);
  for (int i = 0; i < 3; ++i)
    mpopt_recorder_close(named);
  mpopt_recorder_close(other);
  EXPECT_EQ(mpopt_recorder_all(all, 8), 0u);
  EXPECT_EQ(mpopt_recorder_close(other), EINVAL);
}

/// Sessions come and go: what names no file goes on, what names it starts anew.
TEST_F(RecorderTest, OpenedAgain) {
  uint8_t ledger[32] = {9};
  setenv("MPOPT_RECORD", path("env-%l.mprec").c_str(), 1);
  for (int session = 0; session < 2; ++session) {
    mpopt_recorder *recorder = mpopt_recorder_open(nullptr, ledger, nullptr);
    observe(recorder, 1, {1});
    mpopt_recorder_close(recorder);
  }
  unsetenv("MPOPT_RECORD");
  EXPECT_EQ(
      readRecordFile(path("env-09000000.mprec")).file.probes[0].record.calls,
      2u);
  for (int run = 0; run < 2; ++run) {
    mpopt_recorder *recorder = open(path());
    observe(recorder, 1, {1});
    mpopt_recorder_close(recorder);
    EXPECT_EQ(readRecordFile(path()).file.probes[0].record.calls, 1u);
  }
}

/// A follower goes to the recorder that was opened last, and stays there when
/// it is closed until there is another one.
TEST_F(RecorderTest, Followed) {
  uint8_t ledger[32] = {1};
  auto follow = [&] { return mpopt_recorder_follow(ledger, "follower"); };
  mpopt_recorder *one = open(path("one.mprec"));
  EXPECT_EQ(follow(), one);
  observe(follow(), 1, {1});
  uint64_t before = mpopt_recorder_generation();
  mpopt_recorder_close(one);
  EXPECT_NE(mpopt_recorder_generation(), before);
  EXPECT_EQ(follow(), one);
  observe(follow(), 1, {2});
  // A caller that names no file still finds it.
  EXPECT_EQ(mpopt_recorder_open(nullptr, ledger, nullptr), one);
  mpopt_recorder_close(one);

  before = mpopt_recorder_generation();
  mpopt_recorder *two = open(path("two.mprec"));
  EXPECT_NE(two, one);
  EXPECT_NE(mpopt_recorder_generation(), before);
  EXPECT_EQ(follow(), two);
  observe(follow(), 1, {3});
  mpopt_recorder_close(two);
  EXPECT_EQ(follow(), two);
  // The first one has no holder any more: its file begins anew.
  EXPECT_EQ(open(path("one.mprec")), one);
  EXPECT_EQ(follow(), one);
  mpopt_recorder *all[8];
  EXPECT_EQ(mpopt_recorder_all(all, 8), 1u);
  observe(follow(), 1, {4});
  // Another ledger has nothing to do with it.
  mpopt_recorder *other = open(path("other.mprec"), 2);
  EXPECT_EQ(follow(), one);
  mpopt_recorder_close(other);
  mpopt_recorder_close(one);
  auto maximum = [&](const char *name) {
    return readRecordFile(path(name)).file.probes.at(0).record.max;
  };
  EXPECT_EQ(maximum("one.mprec"), 4);
  EXPECT_EQ(maximum("two.mprec"), 3);
}

/// A probe whose calls were all left out did run.
TEST_F(RecorderTest, OnlySkippedCalls) {
  mpopt_recorder *recorder = open(path());
  mpopt_recorder_enable(recorder, 0);
  float values[] = {1, 2};
  int64_t dims[] = {1, 2};
  mpopt_tensor tensor = {values, MPOPT_F32, 2, dims, nullptr, 1, 0};
  auto run = [&](uint32_t probe) {
    mpopt_recorder_observe(recorder, probe, MPOPT_VALUE, &tensor, nullptr);
  };
  for (uint32_t probe : {1, 2, 1})
    run(probe);
  EXPECT_EQ(mpopt_recorder_flush(recorder), 0);
  RecordFileResult result = readRecordFile(path());
  ASSERT_EQ(result.file.probes.size(), 2u);
  EXPECT_EQ(result.file.probes[0].record.calls, 0u);
  EXPECT_EQ(result.file.probes[0].record.skipped, 2u);
  // A probe that has channels only later has them in the file, too.
  mpopt_recorder_enable(recorder, 1);
  run(1);
  EXPECT_EQ(mpopt_recorder_flush(recorder), 0);
  run(1);
  mpopt_recorder_close(recorder);
  result = readRecordFile(path());
  EXPECT_EQ(result.file.damage, "");
  ASSERT_EQ(result.file.probes.size(), 2u);
  EXPECT_EQ(result.file.probes[0].record.calls, 2u);
  EXPECT_EQ(result.file.probes[0].record.skipped, 2u);
  ASSERT_EQ(result.file.probes[0].channels.size(), 2u);
  EXPECT_EQ(result.file.probes[0].channels[1].max, 2);
  EXPECT_EQ(result.file.probes[1].record.calls, 0u);
}

/// The process is killed while it records: the file is whole, and what was
/// missed is less than a flush apart.
TEST_F(RecorderTest, Killed) {
  setenv("MPOPT_FLUSH_MS", "1", 1);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  std::fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    mpopt_recorder *recorder = open(path());
    for (int step = 0;; ++step) {
      for (uint32_t probe = 0; probe < 20; ++probe)
        observe(recorder, probe, {float(step), 1, 2});
      if (step == 2000) [[maybe_unused]]
        ssize_t done = write(ready[1], "x", 1);
    }
  }
  char byte;
  EXPECT_EQ(::read(ready[0], &byte, 1), 1);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  unsetenv("MPOPT_FLUSH_MS");
  RecordFileResult result = readRecordFile(path());
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.file.damage, "");
  EXPECT_FALSE(result.file.closed);
  ASSERT_EQ(result.file.probes.size(), 20u);
  for (const ProbeRecord &probe : result.file.probes) {
    EXPECT_GT(probe.record.calls, 100u);
    EXPECT_EQ(probe.record.count, 3 * probe.record.calls);
    EXPECT_EQ(probe.record.max, double(probe.record.calls - 1));
  }
}

/// NaN is in the file at once, however far off the next flush is.
TEST_F(RecorderTest, KilledAfterTheFirstNan) {
  setenv("MPOPT_FLUSH_MS", "1000000", 1);
  int status = inChild([&] {
    mpopt_recorder *recorder = open(path());
    observe(recorder, 1, {1});
    observe(recorder, 1, {2});
    observe(recorder, 1, {NAN});
    raise(SIGKILL);
  });
  unsetenv("MPOPT_FLUSH_MS");
  EXPECT_TRUE(WIFSIGNALED(status));
  RecordFileResult result = readRecordFile(path());
  ASSERT_EQ(result.file.probes.size(), 1u);
  EXPECT_EQ(result.file.probes[0].record.first_nan_step, 2u);
}

TEST_F(RecorderTest, FlushedAtExit) {
  setenv("MPOPT_FLUSH_MS", "1000000", 1);
  int status = inChild([&] {
    mpopt_recorder *recorder = open(path());
    for (int i = 0; i < 5; ++i)
      observe(recorder, 1, {1});
  });
  unsetenv("MPOPT_FLUSH_MS");
  EXPECT_EQ(status, 0);
  RecordFileResult result = readRecordFile(path());
  EXPECT_TRUE(result.file.closed);
  ASSERT_EQ(result.file.probes.size(), 1u);
  EXPECT_EQ(result.file.probes[0].record.calls, 5u);
}

/// Counts the warnings of what runs in a child; the child ends well.
static int warningsOf(const std::function<void()> &work) {
  int pipes[2];
  EXPECT_EQ(pipe(pipes), 0);
  int status = inChild([&] {
    dup2(pipes[1], 2);
    close(pipes[0]);
    close(pipes[1]);
    work();
  });
  close(pipes[1]);
  EXPECT_EQ(status, 0);
  std::string text;
  char chunk[4096];
  for (ssize_t got; (got = ::read(pipes[0], chunk, sizeof(chunk))) > 0;)
    text.append(chunk, size_t(got));
  close(pipes[0]);
  int lines = 0;
  for (char c : text)
    lines += c == '\n';
  EXPECT_EQ(text.rfind("mpopt: warning: cannot write", 0), 0u) << text;
  return lines;
}

static void recordAnyway(mpopt_recorder *recorder) {
  for (int step = 0; step < 50; ++step)
    for (uint32_t probe = 0; probe < 5; ++probe)
      observe(recorder, probe, {1, NAN});
  mpopt_recorder_flush(recorder);
  mpopt_recorder_status status;
  mpopt_recorder_get_status(recorder, &status);
  EXPECT_NE(status.error, 0);
  EXPECT_EQ(status.calls, 250u);
  EXPECT_EQ(read(recorder, 3).nan, 50u);
}

TEST_F(RecorderTest, DiskFull) {
  EXPECT_EQ(warningsOf([&] { recordAnyway(open("/dev/full")); }), 1);
}

TEST_F(RecorderTest, NoSuchFolder) {
  EXPECT_EQ(warningsOf([&] { recordAnyway(open(path("none/run.mprec"))); }), 1);
}

TEST_F(RecorderTest, NotARecordFile) {
  std::FILE *file = std::fopen(path("model.onnx").c_str(), "w");
  std::fputs("somebody's work", file);
  std::fclose(file);
  EXPECT_EQ(warningsOf([&] { recordAnyway(open(path("model.onnx"))); }), 1);
  EXPECT_EQ(std::filesystem::file_size(path("model.onnx")), 15u);
}

/// A limit on the file's size would end the process by a signal.
TEST_F(RecorderTest, FileSizeLimit) {
  EXPECT_EQ(warningsOf([&] {
              rlimit limit = {10000, 10000};
              setrlimit(RLIMIT_FSIZE, &limit);
              recordAnyway(open(path()));
            }),
            1);
  RecordFileResult result = readRecordFile(path());
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.file.damage, "");
  EXPECT_EQ(result.file.probes.size(), 1u);
}

/// Several processes with one and the same name of the file.
TEST_F(RecorderTest, ProcessesDoNotMix) {
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    std::fflush(nullptr);
    pid_t child = fork();
    if (child == 0) {
      mpopt_recorder *recorder = open(path());
      for (int step = 0; step < 100 * (i + 1); ++step) {
        observe(recorder, 1, {float(i)});
        if (step == 50)
          std::this_thread::sleep_for(std::chrono::milliseconds(300));
      }
      std::exit(0);
    }
    children.push_back(child);
  }
  for (pid_t child : children)
    waitpid(child, nullptr, 0);
  EXPECT_EQ(files(), (std::vector<std::string>{"run-2.mprec", "run-3.mprec",
                                               "run-4.mprec", "run.mprec"}));
  uint64_t calls = 0;
  for (const std::string &name : files()) {
    RecordFileResult result = readRecordFile(path(name.c_str()));
    ASSERT_EQ(result.file.probes.size(), 1u);
    const mpopt_record &record = result.file.probes[0].record;
    EXPECT_EQ(record.min, record.max);
    EXPECT_EQ(record.calls, 100 * (uint64_t(record.max) + 1));
    calls += record.calls;
  }
  EXPECT_EQ(calls, 1000u);
}

/// A forked child has a record of its own and leaves the parent's alone.
TEST_F(RecorderTest, EndedWithoutExit) {
  setenv("MPOPT_FLUSH_MS", "1000000", 1);
  inChild([&] {
    mpopt_recorder *recorder = open(path());
    for (int i = 0; i < 5; ++i)
      observe(recorder, 1, {1});
    mpopt_recorder_end();
    _exit(0);
  });
  unsetenv("MPOPT_FLUSH_MS");
  RecordFileResult result = readRecordFile(path());
  EXPECT_TRUE(result.file.closed);
  ASSERT_EQ(result.file.probes.size(), 1u);
  EXPECT_EQ(result.file.probes[0].record.calls, 5u);
}

TEST_F(RecorderTest, Fork) {
  mpopt_recorder *recorder = open(path("%p.mprec"));
  observe(recorder, 1, {1});
  std::fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    observe(recorder, 1, {2});
    observe(recorder, 1, {3});
    std::exit(0);
  }
  waitpid(child, nullptr, 0);
  observe(recorder, 1, {4});
  mpopt_recorder_close(recorder);
  RecordFileResult parent =
      readRecordFile(path((std::to_string(getpid()) + ".mprec").c_str()));
  RecordFileResult forked =
      readRecordFile(path((std::to_string(child) + ".mprec").c_str()));
  ASSERT_EQ(parent.file.probes.size(), 1u);
  ASSERT_EQ(forked.file.probes.size(), 1u);
  EXPECT_EQ(parent.file.probes[0].record.calls, 2u);
  EXPECT_EQ(parent.file.probes[0].record.max, 4);
  EXPECT_EQ(forked.file.probes[0].record.calls, 2u);
  EXPECT_EQ(forked.file.probes[0].record.min, 2);
}

TEST_F(RecorderTest, ThreadsRecordTogether) {
  mpopt_recorder *recorder = open(path());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int step = 0; step < 500; ++step)
        observe(recorder, uint32_t(step % 3), {1, 2});
    });
  for (std::thread &thread : threads)
    thread.join();
  mpopt_recorder_close(recorder);
  RecordFileResult result = readRecordFile(path());
  uint64_t calls = 0;
  for (const ProbeRecord &probe : result.file.probes)
    calls += probe.record.calls;
  EXPECT_EQ(calls, 2000u);
}

TEST_F(RecorderTest, RecordsMadeElsewhere) {
  mpopt_recorder *recorder = open(path());
  mpopt_record record;
  mpopt_record_init(&record, 5, MPOPT_GRADIENT);
  record.calls = 1;
  record.count = 10;
  record.channels = 2;
  mpopt_channel_range ranges[] = {{1, 2}, {-3, 4}};
  EXPECT_FALSE(mpopt_recorder_merge(recorder, &record, nullptr));
  EXPECT_TRUE(mpopt_recorder_merge(recorder, &record, ranges));
  EXPECT_TRUE(mpopt_recorder_merge(recorder, &record, ranges));
  mpopt_channel_range back[2];
  EXPECT_FALSE(mpopt_recorder_read(recorder, 5, MPOPT_VALUE, &record, back, 2));
  ASSERT_TRUE(
      mpopt_recorder_read(recorder, 5, MPOPT_GRADIENT, &record, back, 2));
  EXPECT_EQ(record.count, 20u);
  EXPECT_EQ(back[1].min, -3);
  record.version = 9;
  EXPECT_FALSE(mpopt_recorder_merge(recorder, &record, ranges));
  mpopt_recorder_close(recorder);
}
