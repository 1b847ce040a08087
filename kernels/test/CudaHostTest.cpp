//===- CudaHostTest.cpp - The host's side of CUDA probes
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "FakeCuda.h"
#include "mpopt/Kernels/Cuda.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

using namespace mpopt::kernels;

namespace {

class CudaHostTest : public testing::Test {
protected:
  void SetUp() override {
    static uint8_t tests = 0;
    setenv("MPOPT_FLUSH_MS", "1000000", 1);
    fake::reset(2);
    path = testing::TempDir() + "mpopt-cuda-" + std::to_string(getpid());
    uint8_t ledger[32] = {9, ++tests};
    recorder = mpopt_recorder_open(path.c_str(), ledger, "test");
    stream = fake::makeStream(0);
  }
  void TearDown() override {
    mpopt_recorder_close(recorder);
    std::filesystem::remove(path);
  }

  mpopt_cuda_probe *makeProbe(uint32_t id = 1) {
    return mpopt_cuda_probe_create(recorder, id, MPOPT_VALUE);
  }

  void observe(mpopt_cuda_probe *probe, const std::vector<float> &values,
               cudaStream_t on, int device = 0) {
    ASSERT_EQ(
        observeAs(probe, values, {int64_t(values.size())}, -1, on, device), 1);
  }

  int observeAs(mpopt_cuda_probe *probe, const std::vector<float> &values,
                const std::vector<int64_t> &dims, int32_t axis, cudaStream_t on,
                int device = 0) {
    void *data = fake::upload(device, values.data(), values.size() * 4);
    mpopt_tensor tensor = {
        data, MPOPT_F32, uint32_t(dims.size()), dims.data(), nullptr, axis, 0};
    return mpopt_cuda_probe_observe(probe, &tensor, on);
  }

  /// After a flush.
  mpopt_record read(uint32_t id = 1) {
    mpopt_recorder_flush(recorder);
    mpopt_record record;
    mpopt_record_init(&record, id, 0);
    mpopt_recorder_read(recorder, id, MPOPT_VALUE, &record, nullptr, 0);
    return record;
  }

  std::string path;
  mpopt_recorder *recorder;
  cudaStream_t stream;
};

} // namespace

TEST_F(CudaHostTest, CallsComeBack) {
  mpopt_cuda_probe *probe = makeProbe();
  observe(probe, {1, 2, -8}, stream);
  observe(probe, {1, 2, 16}, stream);
  mpopt_record record = read();
  EXPECT_EQ(record.calls, 2u);
  EXPECT_EQ(record.count, 6u);
  EXPECT_EQ(record.min, -8);
  EXPECT_EQ(record.absmax_step, 1u);
  EXPECT_EQ(mpopt_exact_sum_value(&record.sum), 14);
  // Only what is new is merged.
  observe(probe, {4}, stream);
  record = read();
  EXPECT_EQ(record.calls, 3u);
  EXPECT_EQ(mpopt_exact_sum_value(&record.sum), 18);
  record = read();
  EXPECT_EQ(record.calls, 3u);
  mpopt_cuda_probe_destroy(probe);
}

/// Without a graph the recorder decides, before anything is launched.
TEST_F(CudaHostTest, CallsThatAreLeftOutCostNoLaunch) {
  mpopt_cuda_probe *probe = makeProbe();
  mpopt_recorder_enable(recorder, 0);
  observe(probe, {1}, stream);
  EXPECT_EQ(fake::launches(), 0);
  mpopt_recorder_enable(recorder, 1);
  mpopt_recorder_set_period(recorder, 3);
  for (int i = 0; i < 6; ++i) // 1 2 3 4 5 6
    observe(probe, {float(i)}, stream);
  EXPECT_EQ(fake::launches(), 2);
  mpopt_recorder_set_period(recorder, 1);
  mpopt_recorder_set_step(recorder, 70);
  observe(probe, {99}, stream);
  mpopt_record record = read();
  EXPECT_EQ(record.calls, 3u);
  EXPECT_EQ(record.skipped, 5u);
  EXPECT_EQ(record.first_step, 3u);
  EXPECT_EQ(record.absmax_step, 70u);
  mpopt_cuda_probe_destroy(probe);
}

/// A queued call keeps the step at which it was launched.
TEST_F(CudaHostTest, StepsOfQueuedCalls) {
  mpopt_cuda_probe *probe = makeProbe();
  fake::hold(stream);
  mpopt_recorder_set_step(recorder, 5);
  observe(probe, {5}, stream);
  mpopt_recorder_set_step(recorder, 6);
  mpopt_recorder_enable(recorder, 0);
  fake::letGo(stream);
  mpopt_record record = read();
  EXPECT_EQ(record.calls, 1u);
  EXPECT_EQ(record.last_step, 5u);
  mpopt_cuda_probe_destroy(probe);
}

/// The recorder's controls, and nothing else, reach a captured graph.
TEST_F(CudaHostTest, ControlsReachGraphs) {
  mpopt_cuda_probe *probe = makeProbe();
  fake::beginCapture(stream);
  observe(probe, {1, 2}, stream);
  fake::Graph graph = fake::endCapture(stream);
  EXPECT_FALSE(graph.spoiled);
  EXPECT_EQ(graph.work.size(), 1u);
  EXPECT_EQ(read().calls, 0u);
  for (int i = 0; i < 3; ++i)
    fake::replay(graph, stream);
  mpopt_record record = read();
  EXPECT_EQ(record.calls, 3u);
  EXPECT_EQ(record.last_step, 2u);
  mpopt_recorder_enable(recorder, 0);
  fake::replay(graph, stream);
  mpopt_recorder_enable(recorder, 1);
  mpopt_recorder_set_step(recorder, 50);
  fake::replay(graph, stream);
  mpopt_recorder_set_period(recorder, 20);
  fake::replay(graph, stream);
  mpopt_recorder_set_step(recorder, 60);
  fake::replay(graph, stream);
  record = read();
  EXPECT_EQ(record.calls, 5u);
  EXPECT_EQ(record.skipped, 2u);
  EXPECT_EQ(record.last_step, 60u);
  EXPECT_EQ(record.count, 10u);
  // Threads that did not agree with the rest would leave something behind.
  EXPECT_EQ(record.histogram[MPOPT_BIN_OF_EXPONENT(0)], 5u);
  EXPECT_EQ(record.histogram[MPOPT_BIN_OF_EXPONENT(1)], 5u);
  mpopt_cuda_probe_destroy(probe);
}

/// The host sees no replay, so one has no part in the runs that it announces.
TEST_F(CudaHostTest, WhoseStepsAGraphHas) {
  mpopt_cuda_probe *probe = makeProbe();
  mpopt_recorder_begin_run(recorder, 1);
  mpopt_recorder_begin_run(recorder, 1);
  observe(probe, {1}, stream);
  EXPECT_EQ(read().flags, uint32_t(MPOPT_STEPS_SHARED));
  EXPECT_EQ(read().last_step, 1u);
  mpopt_cuda_probe *captured = makeProbe(2);
  fake::beginCapture(stream);
  observe(captured, {1, 2}, stream);
  fake::Graph graph = fake::endCapture(stream);
  mpopt_recorder_set_step(recorder, 8);
  fake::replay(graph, stream);
  EXPECT_EQ(read(2).flags, uint32_t(MPOPT_STEPS_SHARED));
  mpopt_recorder_set_step(recorder, MPOPT_NEVER);
  fake::replay(graph, stream);
  EXPECT_EQ(read(2).flags, uint32_t(MPOPT_STEPS_SHARED | MPOPT_STEPS_COUNTED));
  EXPECT_EQ(read(2).last_step, 9u);
  mpopt_cuda_probe_destroy(captured);
  mpopt_cuda_probe_destroy(probe);
}

/// Switched off before the capture, and on after it.
TEST_F(CudaHostTest, GraphsCapturedWhileOff) {
  mpopt_recorder_enable(recorder, 0);
  mpopt_cuda_probe *probe = makeProbe();
  fake::beginCapture(stream);
  observe(probe, {1, 2}, stream);
  fake::Graph graph = fake::endCapture(stream);
  fake::replay(graph, stream);
  mpopt_recorder_enable(recorder, 1);
  fake::replay(graph, stream);
  mpopt_record record = read();
  EXPECT_EQ(record.calls, 1u);
  EXPECT_EQ(record.skipped, 1u);
  mpopt_cuda_probe_destroy(probe);
}

/// A probe that is made, sees its first stream and its first channels, and a
/// flush, all while some stream is captured.
TEST_F(CudaHostTest, FirstCallsDuringACapture) {
  cudaStream_t other = fake::makeStream(0);
  fake::beginCapture(stream);
  mpopt_cuda_probe *probe = makeProbe();
  ASSERT_EQ(observeAs(probe, {1, 2, 3, 4}, {2, 2}, 1, stream), 1);
  observe(probe, {5}, other); // not the captured stream
  mpopt_recorder_flush(recorder);
  EXPECT_TRUE(mpopt_cuda_is_capturing(stream));
  EXPECT_FALSE(mpopt_cuda_is_capturing(other));
  EXPECT_TRUE(mpopt_cuda_is_capturing(nullptr));
  fake::Graph graph = fake::endCapture(stream);
  EXPECT_FALSE(graph.spoiled);
  EXPECT_EQ(graph.work.size(), 1u);
  EXPECT_EQ(read().calls, 1u);
  fake::replay(graph, stream);
  EXPECT_EQ(read().calls, 2u);
  mpopt_cuda_probe_destroy(probe);
}

/// The default stream would wait for the captured one.
TEST_F(CudaHostTest, DefaultStreamDuringACapture) {
  mpopt_cuda_probe *probe = makeProbe();
  fake::beginCapture(stream);
  observe(probe, {1}, nullptr);
  EXPECT_EQ(fake::launches(), 0);
  EXPECT_FALSE(fake::endCapture(stream).spoiled);
  observe(probe, {1}, nullptr);
  mpopt_record record = read();
  EXPECT_EQ(record.calls, 1u);
  EXPECT_EQ(record.skipped, 1u);
  mpopt_cuda_probe_destroy(probe);
}

/// Calls on two streams do not share a slot.
TEST_F(CudaHostTest, TwoStreams) {
  mpopt_cuda_probe *probe = makeProbe();
  cudaStream_t other = fake::makeStream(0);
  fake::hold(stream);
  observe(probe, {1, 2}, stream);
  observe(probe, {4}, other);
  observe(probe, {8, 8, 8}, stream);
  fake::letGo(stream);
  mpopt_record record = read();
  EXPECT_EQ(record.calls, 3u);
  EXPECT_EQ(record.count, 6u);
  EXPECT_EQ(record.absmax_step, 2u);
  EXPECT_EQ(record.last_step, 2u);
  mpopt_cuda_probe_destroy(probe);
}

/// Flushes that happen by themselves merge what an earlier one copied; they
/// never wait, not even for their own copy.
TEST_F(CudaHostTest, FlushesByThemselvesDoNotWait) {
  setenv("MPOPT_FLUSH_MS", "0", 1);
  uint8_t ledger[32] = {8};
  mpopt_recorder *eager = mpopt_recorder_open(path.c_str(), ledger, "test");
  mpopt_cuda_probe *probe = mpopt_cuda_probe_create(eager, 1, MPOPT_VALUE);
  observe(probe, {1}, stream);
  int waits = fake::waits();
  fake::hold(stream);
  for (int i = 0; i < 5; ++i)
    observe(probe, {1}, stream);
  EXPECT_EQ(fake::waits(), waits);
  mpopt_record record;
  ASSERT_TRUE(mpopt_recorder_read(eager, 1, MPOPT_VALUE, &record, nullptr, 0));
  EXPECT_EQ(record.calls, 1u);
  fake::letGo(stream);
  mpopt_cuda_probe_destroy(probe);
  mpopt_recorder_close(eager);
}

/// A flush returns the work that was launched before, however late the device
/// comes to it.
TEST_F(CudaHostTest, FlushWaitsForWhatWasLaunched) {
  mpopt_cuda_probe *probe = makeProbe();
  fake::hold(stream);
  observe(probe, {1}, stream);
  observe(probe, {2}, stream);
  std::thread device([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    fake::letGo(stream);
  });
  EXPECT_EQ(read().calls, 2u);
  device.join();
  mpopt_cuda_probe_destroy(probe);
}

/// A probe that is gone leaves its record, and its memory to the next one.
TEST_F(CudaHostTest, DestroyedProbes) {
  for (uint32_t id = 1; id <= 8; ++id) {
    if (id == 3)
      fake::allowAllocations(0);
    mpopt_cuda_probe *probe = makeProbe(id);
    ASSERT_EQ(observeAs(probe, {1, 2, float(id)}, {3}, 0, stream), 1);
    mpopt_cuda_probe_destroy(probe);
  }
  for (uint32_t id = 1; id <= 8; ++id) {
    mpopt_record record;
    mpopt_channel_range ranges[3];
    ASSERT_TRUE(
        mpopt_recorder_read(recorder, id, MPOPT_VALUE, &record, ranges, 3));
    EXPECT_EQ(record.calls, 1u);
    EXPECT_EQ(record.channels, 3u);
    EXPECT_EQ(ranges[2].min, float(id));
    EXPECT_EQ(ranges[2].max, float(id));
  }
}

TEST_F(CudaHostTest, ChannelsOverCallsAndStreams) {
  mpopt_cuda_probe *probe = makeProbe();
  cudaStream_t other = fake::makeStream(0);
  ASSERT_EQ(observeAs(probe, {1, 2, 3, 4}, {2, 2}, 1, stream), 1);
  ASSERT_EQ(observeAs(probe, {-0.0f, 9, -5, 0}, {2, 2}, 1, other), 1);
  read();
  mpopt_record record;
  mpopt_channel_range ranges[2];
  ASSERT_TRUE(
      mpopt_recorder_read(recorder, 1, MPOPT_VALUE, &record, ranges, 2));
  EXPECT_EQ(record.channels, 2u);
  EXPECT_EQ(ranges[0].min, -5);
  EXPECT_EQ(ranges[0].max, 3);
  EXPECT_EQ(ranges[1].min, 0);
  EXPECT_EQ(ranges[1].max, 9);
  // Another number of channels: none are kept.
  ASSERT_EQ(observeAs(probe, {1, 2, 3}, {1, 3}, 1, stream), 1);
  record = read();
  EXPECT_EQ(record.channels, 0u);
  EXPECT_EQ(record.flags,
            uint32_t(MPOPT_CHANNELS_DROPPED | MPOPT_STEPS_COUNTED));
  EXPECT_EQ(record.calls, 3u);
  mpopt_cuda_probe_destroy(probe);
}

/// The tensor's device is used whichever is current, which stays so; a device
/// that the thread has not started is not started by putting it back.
TEST_F(CudaHostTest, TwoDevices) {
  cudaStream_t second = fake::makeStream(1);
  cudaSetDevice(1);
  mpopt_cuda_probe *probe = makeProbe();
  observe(probe, {3}, second, 1);
  EXPECT_FALSE(fake::wasStarted(0));
  std::thread([&] {
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(read().calls, 1u);
      EXPECT_EQ(fake::contextOfThread(), -1);
    }
    EXPECT_FALSE(fake::wasStarted(0));
  }).join();
  // Made while another device was current.
  cudaSetDevice(0);
  mpopt_cuda_probe *late = makeProbe(2);
  observe(late, {4}, second, 1);
  EXPECT_EQ(fake::contextOfThread(), 0);
  // An empty tensor does not tell where the others are.
  mpopt_cuda_probe *moved = makeProbe(3);
  int64_t none = 0;
  mpopt_tensor empty = {nullptr, MPOPT_F32, 1, &none, nullptr, 0, 0};
  EXPECT_EQ(mpopt_cuda_probe_observe(moved, &empty, stream), 1);
  observe(moved, {5}, second, 1);
  EXPECT_EQ(read(3).calls, 2u);
  mpopt_cuda_probe_destroy(moved);
  EXPECT_EQ(read(2).calls, 1u);
  mpopt_cuda_probe_destroy(probe);
  mpopt_cuda_probe_destroy(late);
}

/// Calls that the device may run at the same time write to different slots.
TEST_F(CudaHostTest, SlotsOfCallsAtTheSameTime) {
  mpopt_cuda_probe *probe = makeProbe();
  observe(probe, {1}, stream);
  observe(probe, {2}, stream);
  EXPECT_EQ(fake::slots(), 1u);
  // A graph may be replayed on another stream, while this one goes on.
  fake::beginCapture(stream);
  observe(probe, {3}, stream);
  fake::Graph graph = fake::endCapture(stream);
  EXPECT_EQ(fake::slots(), 2u);
  cudaStream_t other = fake::makeStream(0);
  fake::replay(graph, other);
  observe(probe, {4}, stream);
  EXPECT_EQ(fake::slots(), 2u);
  // One handle, two streams.
  for (int i = 0; i < 2; ++i)
    std::thread([&] {
      for (int call = 0; call < 2; ++call)
        observe(probe, {5}, cudaStreamPerThread);
    }).join();
  EXPECT_EQ(fake::slots(), 4u);
  mpopt_record record = read();
  EXPECT_EQ(record.calls, 8u);
  EXPECT_EQ(mpopt_exact_sum_value(&record.sum), 30);
  mpopt_cuda_probe_destroy(probe);
  // Those of a graph, which may run again, serve no other probe.
  mpopt_cuda_probe *next = makeProbe(2);
  for (int i = 0; i < 4; ++i)
    observe(next, {1}, i ? fake::makeStream(0) : stream);
  EXPECT_EQ(fake::slots(), 5u);
  fake::replay(graph, other);
  record = read(2);
  EXPECT_EQ(record.calls, 4u);
  EXPECT_EQ(record.max, 1);
  mpopt_cuda_probe_destroy(next);
}

/// Without a driver that the library knows, nothing is captured as far as it
/// can tell: whoever asks has to record in another way.
TEST_F(CudaHostTest, NobodyKnowsOfCaptures) {
  EXPECT_EQ(mpopt_cuda_is_capturing(stream), 0);
  fake::beginCapture(stream);
  EXPECT_EQ(mpopt_cuda_is_capturing(stream), 1);
  // The default stream would spoil it.
  EXPECT_EQ(mpopt_cuda_is_capturing(nullptr), 1);
  fake::breakCaptures(true);
  EXPECT_EQ(mpopt_cuda_is_capturing(stream), 0);
  fake::breakCaptures(false);
  fake::endCapture(stream);
}

/// Whatever fails, the model runs on, and the call counts as left out.
TEST_F(CudaHostTest, Failures) {
  mpopt_cuda_probe *probe = makeProbe();
  fake::allowAllocations(0);
  observe(probe, {1}, stream); // no slot
  fake::allowAllocations(-1);
  observe(probe, {1}, stream);
  fake::breakLaunches(true);
  observe(probe, {1}, stream);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  fake::breakLaunches(false);
  mpopt_record record = read();
  EXPECT_EQ(record.calls, 1u);
  EXPECT_EQ(record.skipped, 2u);
  // No room for channels: the rest is recorded.
  fake::allowAllocations(0);
  ASSERT_EQ(observeAs(probe, {1, 2}, {2}, 0, stream), 1);
  fake::allowAllocations(-1);
  record = read();
  EXPECT_EQ(record.calls, 2u);
  EXPECT_EQ(record.skipped, 2u);
  EXPECT_EQ(record.flags,
            uint32_t(MPOPT_CHANNELS_DROPPED | MPOPT_STEPS_COUNTED));
  // Refused before anything is counted.
  char *data = static_cast<char *>(fake::upload(0, "12345678", 8));
  int64_t size = 1;
  mpopt_tensor odd = {data + 1, MPOPT_F32, 1, &size, nullptr, -1, 0};
  EXPECT_EQ(mpopt_cuda_probe_observe(probe, &odd, stream), 0);
  EXPECT_EQ(read().calls, 2u);
  mpopt_cuda_probe_destroy(probe);
}

/// Threads that observe, flush, and set controls at the same time.
TEST_F(CudaHostTest, ThreadsAtTheSameTime) {
  mpopt_cuda_probe *probe = makeProbe();
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread)
    threads.emplace_back([&] {
      cudaStream_t own = fake::makeStream(0);
      for (int i = 0; i < 20; ++i)
        observe(probe, {1, 2}, own);
    });
  threads.emplace_back([&] {
    for (int i = 0; i < 8; ++i) {
      mpopt_recorder_flush(recorder);
      mpopt_recorder_set_step(recorder, uint64_t(i));
    }
  });
  for (std::thread &thread : threads)
    thread.join();
  mpopt_record record = read();
  EXPECT_EQ(record.calls, 60u);
  EXPECT_EQ(record.count, 120u);
  EXPECT_EQ(mpopt_exact_sum_value(&record.sum), 180);
  mpopt_cuda_probe_destroy(probe);
}
