//===- Equality.cpp - What the device records is what the CPU does
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../Cases.h"
#include "Check.h"

using namespace mpopt::kernels;
using namespace mpopt::kernels::device;
using namespace mpopt::kernels::test;

namespace {

/// Elements in memory, `first` of them before the tensor's own.
struct Elements {
  uint32_t dtype;
  std::vector<char> bytes;
  size_t first = 0;
};

/// One probe, and the record that the CPU makes of the same calls.
class Both {
public:
  Both() { mpopt_record_init(&expected, 1, MPOPT_VALUE); }

  void observe(const Elements &elements, const std::vector<int64_t> &dims,
               const int64_t *strides = nullptr, int32_t axis = -1) {
    setCurrent("dtype " + std::to_string(elements.dtype) + ", " +
               std::to_string(elements.bytes.size()) + " bytes");
    size_t at = elements.first * cuda::bytesOf(elements.dtype);
    Buffer memory(elements.bytes.data(), elements.bytes.size());
    mpopt_tensor tensor = {elements.bytes.data() + at,
                           elements.dtype,
                           uint32_t(dims.size()),
                           dims.data(),
                           strides,
                           axis,
                           0};
    if (axis >= 0 && ranges.empty())
      ranges.assign(size_t(dims[size_t(axis)]), {kInf, -kInf});
    mpopt_record_observe(&expected, ranges.empty() ? nullptr : ranges.data(),
                         &tensor, step++, nullptr);
    tensor.data = memory.at(at);
    probed.observe(tensor, stream);
    stream.wait();
  }

  void compare(const std::string &what) {
    std::vector<mpopt_channel_range> got(ranges.size());
    std::string differs = difference(probed.read(&got), expected);
    check(differs.empty(), what + ": " + differs);
    for (size_t i = 0; i < expected.channels && i < got.size(); ++i)
      if (got[i].min != ranges[i].min || got[i].max != ranges[i].max)
        return fail(what + ": channel " + std::to_string(i));
  }

private:
  Probed probed;
  Stream stream;
  mpopt_record expected;
  std::vector<mpopt_channel_range> ranges;
  uint64_t step = 0;
};

} // namespace

static std::string named(const char *what, uint32_t dtype, size_t number) {
  return std::string(what) + ", dtype " + std::to_string(dtype) + ", case " +
         std::to_string(number);
}

/// As networks have them, and with any bits.
static void checkValues() {
  for (uint32_t dtype : allDtypes()) {
    size_t number = 0;
    for (double scale : {1.0, 0.02, 1e-6, 400.0, 3e4, 1e-22, 1e25}) {
      // More than one round of all blocks.
      size_t size = number == 0 && !isShort() ? 5000001 : 100003;
      Both both;
      both.observe({dtype, bytesFor(dtype, size, number, scale)},
                   {int64_t(size)});
      both.compare(named("values", dtype, number++));
    }
    std::mt19937_64 random(dtype);
    std::vector<char> any(1 << 20);
    for (char &byte : any)
      byte = dtype == MPOPT_BOOL ? char(random() & 1) : char(random());
    Both both;
    both.observe({dtype, any}, {int64_t(any.size() / cuda::bytesOf(dtype))});
    both.compare(named("any bits", dtype, 0));
  }
}

/// All of one kind: what a histogram and its atomics like least.
static void checkSpecial() {
  for (uint32_t dtype : floatDtypes()) {
    test::Layout layout = layoutOf(dtype);
    int width = layout.exponentBits + layout.mantissaBits;
    uint64_t sign = 1ull << width;
    uint64_t one = uint64_t(layout.bias) << layout.mantissaBits;
    uint64_t inf = ((1ull << layout.exponentBits) - 1) << layout.mantissaBits;
    size_t number = 0;
    for (const std::vector<uint64_t> &codes :
         std::vector<std::vector<uint64_t>>{{0},
                                            {sign},
                                            {one},
                                            {sign | one},
                                            {1},
                                            {inf},
                                            {sign | inf},
                                            {inf | 1},
                                            {one, 0, sign | one, inf},
                                            {1, 2, 3, sign | 1}}) {
      Data data{dtype, {}};
      for (size_t i = 0; i < 300007; ++i)
        data.push(codes[i % codes.size()]);
      Both both;
      both.observe({dtype, data.bytes}, {300007});
      both.compare(named("special values", dtype, number++));
    }
  }
}

static void checkSizes() {
  for (uint32_t dtype : allDtypes()) {
    size_t number = 0;
    for (size_t size : {0, 1, 2, 7, 15, 16, 17, 200, 4095, 65537})
      for (size_t first : {0, 1, 3, 7}) {
        Both both;
        both.observe({dtype, bytesFor(dtype, size + first, size), first},
                     {int64_t(size)});
        both.compare(named("sizes", dtype, number++));
      }
  }
}

static void checkViews() {
  for (uint32_t dtype : allDtypes()) {
    size_t number = 0;
    for (const ViewCase &view : viewCases())
      for (int axis = -1; axis < int(view.dims.size()); ++axis, ++number) {
        Both both;
        both.observe({dtype, bytesFor(dtype, kViewElements, dtype), view.first},
                     view.dims, view.strides.data(), axis);
        both.compare(named("views", dtype, number));
      }
  }
}

static void checkChannels() {
  const std::vector<std::vector<int64_t>> shapes = {
      {4, 3, 7}, {9, 1000, 3}, {2, 4001}, {3, 0}, {300, 4096}, {3, 65536, 5}};
  for (uint32_t dtype : allDtypes()) {
    size_t number = 0;
    for (const std::vector<int64_t> &dims : shapes)
      for (int32_t axis : {0, 1})
        for (size_t first : {0, 5}) {
          size_t size = 1;
          for (int64_t dim : dims)
            size *= size_t(dim);
          Both both;
          for (uint64_t call = 0; call < 2; ++call)
            both.observe({dtype, bytesFor(dtype, size + first, call), first},
                         dims, nullptr, axis);
          both.compare(named("channels", dtype, number++));
        }
  }
}

/// Calls that differ in what a record keeps of a tensor.
static void checkMixedCalls() {
  Both both;
  both.observe({MPOPT_F32, bytesFor(MPOPT_F32, 60, 1)}, {3, 20}, nullptr, 0);
  both.observe({MPOPT_F16, bytesFor(MPOPT_F16, 60, 2)}, {3, 20}, nullptr, 0);
  both.observe({MPOPT_I64, bytesFor(MPOPT_I64, 60, 3)}, {3, 4, 5}, nullptr, 0);
  both.compare("calls of several dtypes");
  both.observe({MPOPT_F32, bytesFor(MPOPT_F32, 60, 4)}, {60});
  both.compare("calls without channels");
}

/// One byte, seen again and again, and as many in memory.
static void checkLarge() {
  constexpr uint64_t count = (1ull << 31) + 5;
  Stream stream;
  Buffer memory(count);
  MPOPT_CUDA(cudaMemset(memory.at(0), 0x30, count)); // 0.5 in E4M3
  MPOPT_CUDA(cudaDeviceSynchronize());
  int64_t dims[] = {int64_t(count)}, rows[] = {2, int64_t(count / 2)},
          expanded[] = {0};
  for (const mpopt_tensor &tensor :
       {mpopt_tensor{memory.at(0), MPOPT_F8E4M3FN, 1, dims, nullptr, -1, 0},
        mpopt_tensor{memory.at(0), MPOPT_F8E4M3FN, 1, dims, expanded, -1, 0},
        mpopt_tensor{memory.at(1), MPOPT_F8E4M3FN, 2, rows, nullptr, 0, 0}}) {
    Probed probed;
    probed.observe(tensor, stream);
    mpopt_record record = probed.read();
    uint64_t wanted = tensor.rank == 1 ? count : count / 2 * 2;
    check(record.count == wanted &&
              record.histogram[MPOPT_BIN_OF_EXPONENT(-1)] == wanted &&
              mpopt_record_mean(&record) == 0.5,
          "more than 2^31 elements");
  }
}

void device::checkEquality() {
  checkValues();
  checkMixedCalls();
  checkSizes();
  if (isShort())
    return;
  checkSpecial();
  checkViews();
  checkChannels();
  checkLarge();
}
