//===- Observe.cpp - A PyTorch tensor into the record
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Strided tensors are read where they are: in the processor's memory, and on
// CUDA devices by libmpopt_cuda.so where it is there. Everything else is copied
// to the processor first.
//
//===----------------------------------------------------------------------===//

#include "Observe.h"

#include "../ort/DeviceProbe.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/version.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

using namespace mpopt;
using namespace mpopt::torch_ops;

/// Zeros if the text is not 64 hex digits.
static void parseLedger(std::string_view text, uint8_t *ledger) {
  std::memset(ledger, 0, 32);
  if (text.size() != 64 ||
      text.find_first_not_of("0123456789abcdefABCDEF") != text.npos)
    return;
  for (int i = 0; i < 32; ++i)
    ledger[i] =
        uint8_t(std::stoul(std::string(text.substr(2 * i, 2)), nullptr, 16));
}

mpopt_recorder *mpopt::torch_ops::findRecorder(std::string_view ledger) {
  // Nearly always the same one, until somebody opens or closes one.
  static thread_local std::string last;
  static thread_local mpopt_recorder *recorder = nullptr;
  static thread_local uint64_t seen = 0;
  uint64_t now = mpopt_recorder_generation();
  if (recorder && now == seen && ledger == last)
    return recorder;
  uint8_t hash[32];
  parseLedger(ledger, hash);
  recorder = mpopt_recorder_follow(hash, "torch " TORCH_VERSION);
  last = ledger;
  seen = now;
  return recorder;
}

static uint32_t dtypeOf(const at::Tensor &tensor) {
  switch (tensor.scalar_type()) {
  case at::kFloat:
    return MPOPT_F32;
  case at::kHalf:
    return MPOPT_F16;
  case at::kBFloat16:
    return MPOPT_BF16;
  case at::kDouble:
    return MPOPT_F64;
  case at::kFloat8_e4m3fn:
    return MPOPT_F8E4M3FN;
  case at::kFloat8_e4m3fnuz:
    return MPOPT_F8E4M3FNUZ;
  case at::kFloat8_e5m2:
    return MPOPT_F8E5M2;
  case at::kFloat8_e5m2fnuz:
    return MPOPT_F8E5M2FNUZ;
  case at::kByte:
    return MPOPT_U8;
  case at::kChar:
    return MPOPT_I8;
  case at::kShort:
    return MPOPT_I16;
  case at::kInt:
    return MPOPT_I32;
  case at::kLong:
    return MPOPT_I64;
  case at::kUInt16:
    return MPOPT_U16;
  case at::kUInt32:
    return MPOPT_U32;
  case at::kUInt64:
    return MPOPT_U64;
  case at::kBool:
    return MPOPT_BOOL;
  default:
    return MPOPT_UNDEFINED;
  }
}

/// As many threads as the user gave PyTorch.
static mpopt_parallel ownThreads() {
  mpopt_parallel parallel = {};
  parallel.threads = uint32_t(at::get_num_threads());
  return parallel;
}

static void record(const Target &target, const mpopt_tensor &tensor) {
  mpopt_parallel parallel = ownThreads();
  mpopt_recorder_observe(target.recorder, target.probe, target.kind, &tensor,
                         &parallel);
}

static void countOnly(const Target &target, const at::Tensor &tensor) {
  std::vector<int64_t> dims;
  if (tensor.is_nested())
    dims = {tensor.numel()};
  else
    dims = tensor.sizes().vec();
  mpopt_tensor plain = {};
  plain.data = &plain; // not looked at
  plain.rank = uint32_t(dims.size());
  plain.dims = dims.data();
  plain.channel_axis = -1;
  record(target, plain);
}

static mpopt_tensor describe(const Target &target, const at::Tensor &tensor) {
  mpopt_tensor plain = {};
  plain.data = tensor.const_data_ptr();
  plain.dtype = dtypeOf(tensor);
  plain.rank = uint32_t(tensor.dim());
  plain.dims = tensor.sizes().data();
  // Without channels no statistic asks which element has which index, so that
  // a tensor without gaps (channels last, transposed) is read as it lies.
  bool asItLies =
      tensor.is_contiguous() ||
      (target.channelAxis < 0 && tensor.is_non_overlapping_and_dense());
  plain.strides = asItLies ? nullptr : tensor.strides().data();
  plain.channel_axis = target.channelAxis;
  return plain;
}

/// Null if the device's memory cannot be read there.
static mpopt_cuda_probe *deviceProbe(const ort::DeviceProbes &library,
                                     const Target &target, c10::Device on,
                                     c10::impl::VirtualGuardImpl &device) {
  static auto *mutex = new std::mutex;
  using Key = std::tuple<mpopt_recorder *, uint32_t, uint32_t, int>;
  static auto *probes = new std::map<Key, mpopt_cuda_probe *>;
  std::lock_guard<std::mutex> lock(*mutex);
  auto [entry, isNew] = probes->try_emplace(
      Key{target.recorder, target.probe, target.kind, int(on.index())},
      nullptr);
  if (isNew) {
    c10::Device before = device.exchangeDevice(on);
    entry->second = library.create(target.recorder, target.probe, target.kind);
    // Not setDevice, which would start a device that nobody used yet.
    device.uncheckedSetDevice(before);
    static std::once_flag said;
    if (!entry->second)
      std::call_once(said, [&] {
        std::fprintf(stderr,
                     "mpopt: warning: no probes on %s: its tensors are copied "
                     "to be recorded (is its driver too old?)\n",
                     on.str().c_str());
      });
  }
  return entry->second;
}

/// False if the tensor has to be copied to the processor, which a stream that
/// is captured does not allow.
static bool observeOnCuda(const Target &target, const at::Tensor &tensor) {
  const ort::DeviceProbes *library = ort::deviceProbes();
  if (!library)
    return false;
  c10::impl::VirtualGuardImpl device(c10::DeviceType::CUDA);
  void *stream =
      device.getStreamNativeHandle(device.getStream(tensor.device()));
  mpopt_cuda_probe *probe =
      deviceProbe(*library, target, tensor.device(), device);
  mpopt_tensor plain = describe(target, tensor);
  if (probe && library->observe(probe, &plain, stream))
    return true;
  return library->isCapturing(stream);
}

/// False for what has no plain elements that may be read.
static bool hasElements(const at::Tensor &given) {
  return given.layout() == at::kStrided && !given.is_quantized() &&
         !given.is_nested() && given.has_storage() &&
         dtypeOf(given) != MPOPT_UNDEFINED;
}

bool mpopt::torch_ops::observeWithNorm(const Target &target,
                                       const at::Tensor &given, double &norm) {
  if (!given.defined() || !given.is_cpu() || !hasElements(given)) {
    observe(target, given);
    return false;
  }
  mpopt_parallel parallel = ownThreads();
  mpopt_tensor plain = describe(target, given);
  return mpopt_recorder_observe_norm(target.recorder, target.probe, target.kind,
                                     &plain, &parallel, &norm);
}

/// `plain` describes `tensor`.
static mpopt_squares squaresBy(const at::Tensor &tensor,
                               const mpopt_tensor &plain, int64_t axis,
                               double *sums) {
  // As it lies, an index changes with each stride.
  int64_t inner = plain.strides ? 1 : tensor.stride(axis);
  for (int64_t i = axis + 1; plain.strides && i < tensor.dim(); ++i)
    inner *= tensor.size(i);
  return {uint64_t(inner), uint64_t(tensor.size(axis)), sums};
}

bool mpopt::torch_ops::observeWithSquares(const Target &target,
                                          const at::Tensor &given, int64_t axis,
                                          double *sums) {
  if (!given.is_cpu() || !hasElements(given)) {
    observe(target, given);
    return false;
  }
  mpopt_parallel parallel = ownThreads();
  mpopt_tensor plain = describe(target, given);
  mpopt_squares squares = squaresBy(given, plain, axis, sums);
  return mpopt_recorder_observe_squares(
      target.recorder, target.probe, target.kind, &plain, &squares, &parallel);
}

bool mpopt::torch_ops::addSquares(const at::Tensor &given, int64_t axis,
                                  double *sums) {
  if (!given.is_cpu() || !hasElements(given))
    return false;
  mpopt_parallel parallel = ownThreads();
  mpopt_tensor plain = describe({}, given);
  mpopt_squares squares = squaresBy(given, plain, axis, sums);
  return mpopt_add_squares(&plain, &squares, &parallel);
}

void mpopt::torch_ops::observe(const Target &target, const at::Tensor &given) {
  if (!given.defined() || given.is_meta())
    return;
  if (!hasElements(given))
    return countOnly(target, given);
  if (given.is_cpu())
    return record(target, describe(target, given));
  // No graph of gradients may grow from what is only looked at.
  at::NoGradGuard guard;
  at::Tensor tensor = given.detach();
  if (tensor.is_cuda() && observeOnCuda(target, tensor))
    return;
  tensor = tensor.cpu();
  record(target, describe(target, tensor));
}
