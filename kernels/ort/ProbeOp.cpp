//===- ProbeOp.cpp - mpopt::Probe for ONNX Runtime
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One input of any type, no output. Attributes: `id` (int), `ledger` (string,
// hex SHA-256 of the ledger file), optional `channel_axis` (int). Whatever goes
// wrong in a probe, the model runs on.
//
//===----------------------------------------------------------------------===//

#include "DeviceProbe.h"
#include "OrtAbi.h"
#include "mpopt/Kernels/Recorder.h"

#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

using namespace mpopt::ort;

namespace {

struct Kernel {
  const Api &api;
  /// Null for a node whose id no probe has: it records nothing.
  mpopt_recorder *recorder;
  uint32_t id = 0;
  int32_t channelAxis = -1;
  /// Null on the CPU.
  const DeviceProbes *device = nullptr;
  mpopt_cuda_probe *deviceProbe = nullptr;
};

/// A tensor input's type and dims; false for anything else.
class Input {
public:
  Input(const Api &api, KernelContext *context) {
    const Value *value = nullptr;
    ShapeInfo *info = nullptr;
    if (!api.ok(api.input(context, 0, &value)) || !value ||
        !api.ok(api.shapeInfo(value, &info)))
      return;
    int type = 0;
    size_t rank = 0;
    if (api.ok(api.elementType(info, &type)) && api.ok(api.rank(info, &rank))) {
      dims.resize(rank);
      void *data = nullptr;
      // Values are read only: the interface has no other form.
      valid = api.ok(api.dims(info, dims.data(), rank)) &&
              api.ok(api.data(const_cast<Value *>(value), &data));
      tensor.data = data;
      tensor.dtype = uint32_t(type);
      tensor.rank = uint32_t(rank);
      tensor.dims = dims.data();
    }
    api.release(info);
  }

  bool valid = false;
  mpopt_tensor tensor = {};

private:
  std::vector<int64_t> dims;
};

} // namespace

static std::string &runtimeName() {
  static std::string *name = new std::string;
  return *name;
}

/// Asking for the newer table would do, but an older runtime prints an error.
static bool &hasParallelFor() {
  static bool has = false;
  return has;
}

/// True if "1.17.3" is at least 1.`minor`.
static bool isAtLeast(const char *version, unsigned minor) {
  unsigned major = 0, given = 0;
  return std::sscanf(version, "%u.%u", &major, &given) == 2 &&
         (major > 1 || (major == 1 && given >= minor));
}

/// All zeros if the text is not 64 hex digits.
static void parseLedger(const std::string &text, uint8_t *ledger) {
  std::memset(ledger, 0, 32);
  if (text.size() != 64 ||
      text.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
    return;
  for (int i = 0; i < 32; ++i)
    ledger[i] = uint8_t(std::stoul(text.substr(2 * i, 2), nullptr, 16));
}

static int64_t intAttribute(const Api &api, const KernelInfo *info,
                            const char *name, int64_t otherwise) {
  int64_t value = otherwise;
  return api.ok(api.attribute(info, name, &value)) ? value : otherwise;
}

static std::string stringAttribute(const Api &api, const KernelInfo *info,
                                   const char *name) {
  size_t size = 0;
  if (!api.ok(api.attribute(info, name, nullptr, &size)) || !size)
    return {};
  std::string text(size, '\0');
  if (!api.ok(api.attribute(info, name, text.data(), &size)))
    return {};
  text.resize(std::strlen(text.c_str()));
  return text;
}

static Kernel *makeKernel(const Api &api, const KernelInfo *info) {
  uint8_t ledger[32];
  parseLedger(stringAttribute(api, info, "ledger"), ledger);
  int64_t id = intAttribute(api, info, "id", 0);
  int64_t axis = intAttribute(api, info, "channel_axis", -1);
  bool isId = id >= 0 && id <= UINT32_MAX;
  auto *kernel = new Kernel{
      api, isId ? mpopt_recorder_open(nullptr, ledger, runtimeName().c_str())
                : nullptr};
  kernel->id = isId ? uint32_t(id) : 0;
  kernel->channelAxis = axis == int32_t(axis) ? int32_t(axis) : -1;
  return kernel;
}

static Status *createCpu(const CustomOp *, const Api *api,
                         const KernelInfo *info, void **out) {
  *out = makeKernel(*api, info);
  return nullptr;
}

namespace {
struct SessionThreads {
  const Api &api;
  const KernelContext *context;
};
} // namespace

static void runOnSession(void *threads, size_t count,
                         void (*task)(void *, size_t), void *data) {
  auto &[api, context] = *static_cast<SessionThreads *>(threads);
  if (!api.ok(api.parallelFor(context, task, count, data)))
    for (size_t i = 0; i < count; ++i)
      task(data, i);
}

static Status *computeCpu(void *self, KernelContext *context) {
  Kernel &kernel = *static_cast<Kernel *>(self);
  if (!kernel.recorder ||
      mpopt_recorder_skip(kernel.recorder, kernel.id, MPOPT_VALUE))
    return nullptr;
  Input input(kernel.api, context);
  if (!input.valid)
    return nullptr;
  input.tensor.channel_axis = kernel.channelAxis;
  // The session's threads spin for a while after each op: others, on the same
  // processors, would wait for them, and the user said how many there may be.
  SessionThreads threads{kernel.api, context};
  mpopt_parallel parallel{hasParallelFor() ? runOnSession : nullptr, &threads,
                          0};
  mpopt_recorder_observe(kernel.recorder, kernel.id, MPOPT_VALUE, &input.tensor,
                         &parallel);
  return nullptr;
}

static Status *createCuda(const CustomOp *, const Api *api,
                          const KernelInfo *info, void **out) {
  Kernel *kernel = makeKernel(*api, info);
  *out = kernel;
  if (!kernel->recorder)
    return nullptr;
  kernel->device = deviceProbes();
  kernel->deviceProbe =
      kernel->device->create(kernel->recorder, kernel->id, MPOPT_VALUE);
  static std::once_flag warned;
  if (!kernel->deviceProbe)
    std::call_once(warned, [] {
      std::fprintf(stderr, "mpopt: warning: no probes on this CUDA device: no "
                           "memory, or no code for it in libmpopt_cuda.so\n");
    });
  return nullptr;
}

/// Only a launch on the runtime's stream: nothing here waits for the device, so
/// the model may be captured into a CUDA graph.
static Status *computeCuda(void *self, KernelContext *context) {
  Kernel &kernel = *static_cast<Kernel *>(self);
  Input input(kernel.api, context);
  void *stream = nullptr;
  if (!input.valid || !kernel.deviceProbe ||
      !kernel.api.ok(kernel.api.gpuStream(context, &stream)))
    return nullptr;
  input.tensor.channel_axis = kernel.channelAxis;
  kernel.device->observe(kernel.deviceProbe, &input.tensor, stream);
  return nullptr;
}

static void destroy(void *self) {
  auto *kernel = static_cast<Kernel *>(self);
  if (kernel->deviceProbe)
    kernel->device->destroy(kernel->deviceProbe);
  if (kernel->recorder)
    mpopt_recorder_close(kernel->recorder);
  delete kernel;
}

static CustomOp makeOp(const char *(*provider)(const CustomOp *),
                       decltype(CustomOp::createKernelV2) create,
                       decltype(CustomOp::computeV2) compute) {
  CustomOp op = {};
  op.version = kApiVersion;
  op.name = [](const CustomOp *) { return "Probe"; };
  op.provider = provider;
  // 0 is the undefined type: any.
  op.inputType = [](const CustomOp *, size_t) { return 0; };
  op.inputCount = [](const CustomOp *) { return size_t(1); };
  op.outputType = [](const CustomOp *, size_t) { return 0; };
  op.outputCount = [](const CustomOp *) { return size_t(0); };
  op.destroy = destroy;
  // 0: required; 0: the provider's own memory.
  op.inputCharacteristic = [](const CustomOp *, size_t) { return 0; };
  op.outputCharacteristic = [](const CustomOp *, size_t) { return 0; };
  op.inputMemory = [](const CustomOp *, size_t) { return 0; };
  op.minInputs = op.minOutputs = [](const CustomOp *) { return 1; };
  op.sameInputs = op.sameOutputs = [](const CustomOp *) { return 1; };
  op.createKernelV2 = create;
  op.computeV2 = compute;
  return op;
}

extern "C" __attribute__((visibility("default"))) Status *
RegisterCustomOps(SessionOptions *options, const ApiBase *base) {
  static const CustomOp cpu =
      makeOp([](const CustomOp *) { return "CPUExecutionProvider"; }, createCpu,
             computeCpu);
  static const CustomOp cuda =
      makeOp([](const CustomOp *) { return "CUDAExecutionProvider"; },
             createCuda, computeCuda);
  const Api *api = base->getApi(kApiVersion);
  // A runtime before 1.16. There is no way to make a status without its table,
  // and a model with the fallback function still runs.
  if (!api)
    return nullptr;
  static std::once_flag named;
  std::call_once(named, [&] {
    const char *version = base->versionString();
    runtimeName() = std::string("onnxruntime ") + version;
    hasParallelFor() = isAtLeast(version, kParallelVersion);
  });
  // Never freed: it has to outlive the sessions, which do not own it.
  Domain *domain = nullptr;
  if (Status *status = api->createDomain("mpopt", &domain))
    return status;
  if (Status *status = api->addOp(domain, &cpu))
    return status;
  if (deviceProbes())
    if (Status *status = api->addOp(domain, &cuda))
      return status;
  return api->addDomain(options, domain);
}
