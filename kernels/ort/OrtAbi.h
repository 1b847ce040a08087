//===- OrtAbi.h - What we use of ONNX Runtime's C interface --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ONNX Runtime hands a custom-op library a table of functions whose order only
// ever grows, and reads a versioned table of the op's own functions. Declared
// here by position, the library needs no header, links nothing and runs with
// every runtime since 1.16 (whose version is asked for), whereas one compiled
// with a newer header is refused by an older runtime.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_ORT_ORTABI_H
#define MPOPT_KERNELS_ORT_ORTABI_H

#include <cstddef>
#include <cstdint>

namespace mpopt::ort {

constexpr uint32_t kApiVersion = 16;
/// Since this version kernels may use the session's threads.
constexpr uint32_t kParallelVersion = 17;

struct Status;
struct SessionOptions;
struct Domain;
struct KernelInfo;
struct KernelContext;
struct Value;
struct ShapeInfo;

/// The runtime's table, by slots. A runtime of kApiVersion has 266 of them.
struct Api {
  void *slot[275];

  Status *createDomain(const char *name, Domain **out) const {
    return call<26>(name, out);
  }
  Status *addOp(Domain *domain, const struct CustomOp *op) const {
    return call<27>(domain, op);
  }
  Status *addDomain(SessionOptions *options, Domain *domain) const {
    return call<28>(options, domain);
  }
  Status *data(Value *value, void **out) const { return call<51>(value, out); }
  Status *elementType(const ShapeInfo *info, int *out) const {
    return call<60>(info, out);
  }
  Status *rank(const ShapeInfo *info, size_t *out) const {
    return call<61>(info, out);
  }
  Status *dims(const ShapeInfo *info, int64_t *out, size_t count) const {
    return call<62>(info, out, count);
  }
  Status *shapeInfo(const Value *value, ShapeInfo **out) const {
    return call<65>(value, out);
  }
  Status *attribute(const KernelInfo *info, const char *name,
                    int64_t *out) const {
    return call<86>(info, name, out);
  }
  /// `size` counts the closing zero byte; `out` null asks for it.
  Status *attribute(const KernelInfo *info, const char *name, char *out,
                    size_t *size) const {
    return call<87>(info, name, out, size);
  }
  Status *input(const KernelContext *context, size_t index,
                const Value **out) const {
    return call<90>(context, index, out);
  }
  Status *gpuStream(const KernelContext *context, void **out) const {
    return call<193>(context, out);
  }
  /// Calls task(data, i) for every i below `count` on the threads that the
  /// session's ops run on. Since kParallelVersion.
  Status *parallelFor(const KernelContext *context,
                      void (*task)(void *, size_t), size_t count,
                      void *data) const {
    return call<274>(context, task, count, size_t(0), data);
  }
  /// Frees what a call returned and tells whether it went well.
  bool ok(Status *status) const {
    if (!status)
      return true;
    reinterpret_cast<void (*)(Status *)>(slot[93])(status);
    return false;
  }
  void release(ShapeInfo *info) const {
    reinterpret_cast<void (*)(ShapeInfo *)>(slot[99])(info);
  }

private:
  template <int index, class... Args> Status *call(Args... args) const {
    return reinterpret_cast<Status *(*)(Args...)>(slot[index])(args...);
  }
};

struct ApiBase {
  const Api *(*getApi)(uint32_t version);
  const char *(*versionString)();
};

/// The op's table as of version 16: 20 functions after the version.
struct CustomOp {
  uint32_t version;
  void *(*createKernel)(const CustomOp *, const Api *, const KernelInfo *);
  const char *(*name)(const CustomOp *);
  const char *(*provider)(const CustomOp *);
  int (*inputType)(const CustomOp *, size_t);
  size_t (*inputCount)(const CustomOp *);
  int (*outputType)(const CustomOp *, size_t);
  size_t (*outputCount)(const CustomOp *);
  void (*compute)(void *kernel, KernelContext *);
  void (*destroy)(void *kernel);
  int (*inputCharacteristic)(const CustomOp *, size_t);
  int (*outputCharacteristic)(const CustomOp *, size_t);
  int (*inputMemory)(const CustomOp *, size_t);
  int (*minInputs)(const CustomOp *);
  int (*sameInputs)(const CustomOp *);
  int (*minOutputs)(const CustomOp *);
  int (*sameOutputs)(const CustomOp *);
  /// Null where the older form above is used.
  Status *(*createKernelV2)(const CustomOp *, const Api *, const KernelInfo *,
                            void **);
  Status *(*computeV2)(void *kernel, KernelContext *);
  /// Members of later versions, which a runtime does not read at version 16.
  void *later[8];
};

} // namespace mpopt::ort

#endif // MPOPT_KERNELS_ORT_ORTABI_H
