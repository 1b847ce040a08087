//===- ControlTest.cpp - Who keeps a copy of the controls hears of changes
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Kernels/Recorder.h"

#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

/// Stands for a device: keeps the controls that it gets.
struct Listener {
  std::vector<mpopt_control> heard;

  static void changed(void *data, const mpopt_control *now) {
    static_cast<Listener *>(data)->heard.push_back(*now);
  }
};

class ControlTest : public testing::Test {
protected:
  void SetUp() override {
    path = testing::TempDir() + "mpopt-control-" + std::to_string(getpid());
    recorder = open();
    mpopt_recorder_on_control(recorder, Listener::changed, &listener);
  }
  void TearDown() override {
    mpopt_recorder_on_control(recorder, nullptr, nullptr);
    mpopt_recorder_close(recorder);
    std::filesystem::remove(path);
  }

  mpopt_recorder *open() {
    uint8_t ledger[32] = {77};
    return mpopt_recorder_open(path.c_str(), ledger, "test");
  }
  void expectLast(uint32_t enabled, uint32_t period, uint64_t step) {
    ASSERT_FALSE(listener.heard.empty());
    EXPECT_EQ(listener.heard.back().enabled, enabled);
    EXPECT_EQ(listener.heard.back().period, period);
    EXPECT_EQ(listener.heard.back().step, step);
  }

  std::string path;
  mpopt_recorder *recorder;
  Listener listener;
};

} // namespace

TEST_F(ControlTest, IsToldAtOnceAndOfEachChange) {
  ASSERT_EQ(listener.heard.size(), 1u);
  expectLast(1, 1, MPOPT_NEVER);
  mpopt_recorder_enable(recorder, 0);
  expectLast(0, 1, MPOPT_NEVER);
  mpopt_recorder_set_period(recorder, 0);
  expectLast(0, 1, MPOPT_NEVER);
  mpopt_recorder_set_period(recorder, 7);
  expectLast(0, 7, MPOPT_NEVER);
  mpopt_recorder_set_step(recorder, 41);
  expectLast(0, 7, 41);
  mpopt_recorder_enable(recorder, 3);
  expectLast(1, 7, 41);
  EXPECT_EQ(listener.heard.size(), 6u);
}

/// A listener that comes late hears what was set before.
TEST_F(ControlTest, LateListener) {
  mpopt_recorder_set_period(recorder, 5);
  Listener late;
  mpopt_recorder_on_control(recorder, Listener::changed, &late);
  ASSERT_EQ(late.heard.size(), 1u);
  EXPECT_EQ(late.heard[0].period, 5u);
  mpopt_recorder_on_control(recorder, nullptr, nullptr);
  mpopt_recorder_set_period(recorder, 6);
  EXPECT_EQ(late.heard.size(), 1u);
}

/// A recorder whose file is named again starts anew, its controls too.
TEST_F(ControlTest, StartingAnew) {
  mpopt_recorder_set_step(recorder, 9);
  mpopt_recorder_enable(recorder, 0);
  mpopt_recorder_close(recorder);
  EXPECT_EQ(open(), recorder);
  expectLast(1, 1, MPOPT_NEVER);
}

/// Whatever the order in which threads change it, the copy ends as the
/// recorder's own value.
TEST_F(ControlTest, LastWordIsTheRecorders) {
  for (int round = 0; round < 20; ++round) {
    std::vector<std::thread> threads;
    for (uint64_t thread = 0; thread < 4; ++thread)
      threads.emplace_back([&, thread] {
        for (uint64_t step = 0; step < 100; ++step)
          mpopt_recorder_set_step(recorder, thread * 1000 + step);
      });
    for (std::thread &thread : threads)
      thread.join();
    uint64_t step;
    ASSERT_TRUE(mpopt_recorder_begin(recorder, 1, MPOPT_VALUE, &step));
    EXPECT_EQ(listener.heard.back().step, step);
  }
}

/// A forked child has no device; its parent's copy is none of its business.
TEST_F(ControlTest, ForkedChildIsSilent) {
  pid_t child = fork();
  if (child == 0) {
    mpopt_recorder_enable(recorder, 0);
    _exit(listener.heard.size() == 1 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(ControlTest, CallsThatAreRecordedElsewhere) {
  mpopt_recorder_set_period(recorder, 3);
  std::vector<uint64_t> steps;
  for (int call = 0; call < 7; ++call) {
    uint64_t step;
    if (mpopt_recorder_begin(recorder, 4, MPOPT_GRADIENT, &step))
      steps.push_back(step);
  }
  EXPECT_EQ(steps, (std::vector<uint64_t>{0, 3, 6}));
  mpopt_recorder_set_step(recorder, 30);
  uint64_t step;
  EXPECT_TRUE(mpopt_recorder_begin(recorder, 4, MPOPT_GRADIENT, &step));
  EXPECT_EQ(step, 30u);
  mpopt_recorder_set_step(recorder, MPOPT_NEVER);
  EXPECT_FALSE(mpopt_recorder_begin(recorder, 4, MPOPT_GRADIENT, &step));
  EXPECT_TRUE(mpopt_recorder_begin(recorder, 4, MPOPT_GRADIENT, &step));
  EXPECT_EQ(step, 9u);
  mpopt_record record;
  ASSERT_TRUE(
      mpopt_recorder_read(recorder, 4, MPOPT_GRADIENT, &record, nullptr, 0));
  EXPECT_EQ(record.skipped, 5u);
  EXPECT_EQ(record.calls, 0u); // nobody merged them
}

namespace {

struct Seen {
  uint64_t step;
  uint32_t flags;
  bool operator==(const Seen &) const = default;
};

} // namespace

static Seen call(mpopt_recorder *recorder, uint32_t probe) {
  float value = 1;
  mpopt_tensor tensor = {&value, MPOPT_F32, 0, nullptr, nullptr, -1, 0};
  mpopt_recorder_observe(recorder, probe, MPOPT_VALUE, &tensor, nullptr);
  mpopt_record record;
  mpopt_recorder_read(recorder, probe, MPOPT_VALUE, &record, nullptr, 0);
  return {record.last_step, record.flags};
}

/// Probes that run at other times have the step of their run, and say so.
TEST_F(ControlTest, RunsAreSteps) {
  constexpr uint32_t shared = MPOPT_STEPS_SHARED, counted = MPOPT_STEPS_COUNTED;
  EXPECT_EQ(call(recorder, 1), (Seen{0, counted}));
  EXPECT_EQ(call(recorder, 1), (Seen{1, counted}));
  mpopt_recorder_begin_run(recorder, 1);
  EXPECT_EQ(call(recorder, 2), (Seen{0, shared}));
  mpopt_recorder_begin_run(recorder, 1);
  EXPECT_EQ(call(recorder, 2), (Seen{1, shared}));
  EXPECT_EQ(call(recorder, 2), (Seen{1, shared}));
  EXPECT_EQ(call(recorder, 3), (Seen{1, shared}));
  EXPECT_EQ(call(recorder, 1).flags, shared | counted);
  // A step that is set counts more; runs go on behind it.
  mpopt_recorder_set_step(recorder, 40);
  mpopt_recorder_begin_run(recorder, 1);
  EXPECT_EQ(call(recorder, 3), (Seen{40, shared}));
  mpopt_recorder_set_step(recorder, MPOPT_NEVER);
  EXPECT_EQ(call(recorder, 4), (Seen{2, shared}));
  // A device counts its graphs itself.
  expectLast(1, 1, MPOPT_NEVER);
  EXPECT_EQ(listener.heard.size(), 3u);
  // Calls that are left out bring no flag.
  mpopt_recorder_set_period(recorder, 4);
  call(recorder, 5);
  EXPECT_EQ(call(recorder, 5).flags, 0u);
  // A new record begins with run 0.
  mpopt_recorder_close(recorder);
  EXPECT_EQ(open(), recorder);
  mpopt_recorder_begin_run(recorder, 1);
  EXPECT_EQ(call(recorder, 5), (Seen{0, shared}));
}

/// A thread's calls belong to the run that it announced, whatever others do.
TEST_F(ControlTest, RunsAtTheSameTime) {
  constexpr uint32_t shared = MPOPT_STEPS_SHARED, counted = MPOPT_STEPS_COUNTED;
  auto elsewhere = [](auto &&work) { std::thread(work).join(); };
  mpopt_recorder_begin_run(recorder, 1);
  // One thread announces all: those of its pool execute the same run.
  elsewhere([&] { EXPECT_EQ(call(recorder, 1), (Seen{0, shared})); });
  mpopt_recorder_begin_run(recorder, 1);
  elsewhere([&] { EXPECT_EQ(call(recorder, 1), (Seen{1, shared})); });
  elsewhere([&] {
    mpopt_recorder_begin_run(recorder, 1);
    EXPECT_EQ(call(recorder, 2), (Seen{2, shared}));
  });
  EXPECT_EQ(call(recorder, 3), (Seen{1, shared}));
  elsewhere([&] { EXPECT_EQ(call(recorder, 4), (Seen{0, counted})); });
  // A new record knows nothing of the old one's runs.
  mpopt_recorder_close(recorder);
  EXPECT_EQ(open(), recorder);
  EXPECT_EQ(call(recorder, 1), (Seen{0, counted}));
  mpopt_recorder_begin_run(recorder, 1);
  elsewhere([&] { EXPECT_EQ(call(recorder, 2), (Seen{0, shared})); });
}

/// The thread that executes a run is not the one that announces it.
TEST_F(ControlTest, RunsThatBeginElsewhere) {
  mpopt_recorder_begin_run(recorder, 0);
  EXPECT_EQ(call(recorder, 1), (Seen{0, MPOPT_STEPS_COUNTED}));
  mpopt_recorder_begin_run(recorder, 1);
  EXPECT_EQ(call(recorder, 2), (Seen{1, MPOPT_STEPS_SHARED}));
}

/// A thread that runs many models forgets some of them, and says so.
TEST_F(ControlTest, RunsOfManyModels) {
  std::vector<mpopt_recorder *> others;
  std::thread([&] { mpopt_recorder_begin_run(recorder, 1); }).join();
  mpopt_recorder_begin_run(recorder, 1);
  for (uint8_t other = 1; other <= 6; ++other) {
    uint8_t ledger[32] = {78, other};
    std::string file = path + "-" + std::to_string(other);
    others.push_back(mpopt_recorder_open(file.c_str(), ledger, "test"));
    mpopt_recorder_begin_run(others.back(), 1);
    EXPECT_EQ(call(others.back(), 1), (Seen{0, MPOPT_STEPS_SHARED}));
  }
  EXPECT_EQ(call(recorder, 1), (Seen{0, MPOPT_STEPS_COUNTED}));
  EXPECT_EQ(call(others.front(), 1), (Seen{0, MPOPT_STEPS_SHARED}));
  for (mpopt_recorder *other : others) {
    mpopt_recorder_status status;
    mpopt_recorder_get_status(other, &status);
    mpopt_recorder_close(other);
    std::filesystem::remove(status.path);
  }
}

/// A requested flush covers the work under way, too; the periodic one must not
/// wait.
TEST_F(ControlTest, FlushesThatWait) {
  std::vector<int> waits;
  mpopt_recorder_on_flush(
      recorder,
      [](void *data, int wait) {
        static_cast<std::vector<int> *>(data)->push_back(wait);
      },
      &waits);
  float value = 1;
  mpopt_tensor tensor = {&value, MPOPT_F32, 0, nullptr, nullptr, -1, 0};
  mpopt_recorder_observe(recorder, 1, MPOPT_VALUE, &tensor, nullptr);
  mpopt_recorder_flush(recorder);
  mpopt_recorder_close(recorder);
  EXPECT_EQ(waits, (std::vector<int>{0, 1, 1}));
  mpopt_recorder_on_flush(recorder, nullptr, nullptr);
  open();
}
