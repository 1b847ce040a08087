//===- WeightView.cpp - Elements of constants as numbers
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Little-endian hosts only, as the files are. Wide types are read directly;
// 8-bit floats by a table, 4-bit elements two to a byte, low half first.
//
//===----------------------------------------------------------------------===//

#include "Kernels/Reader.h"

#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Ranges/Value/TransferContext.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace mpopt;

int64_t WeightView::size() const {
  int64_t count = 1;
  for (int64_t dim : shape)
    count *= dim;
  return count;
}

static double decodeHalf(uint16_t bits) {
  // Subnormals come out right: the exponent is moved by a multiplication.
  uint32_t wide = uint32_t(bits & 0x7fff) << 13;
  float magnitude = std::bit_cast<float>(wide) * 0x1p112f;
  if ((bits & 0x7c00) == 0x7c00)
    magnitude = bits & 0x3ff ? NAN : INFINITY;
  return bits & 0x8000 ? -magnitude : magnitude;
}

static double decodeBfloat(uint16_t bits) {
  return std::bit_cast<float>(uint32_t(bits) << 16);
}

template <typename T, typename Decode>
static void readAs(const char *data, int64_t first, MutableArrayRef<double> out,
                   Decode decode) {
  const char *from = data + first * sizeof(T);
  for (size_t i = 0; i < out.size(); ++i) {
    T value; // the file need not be aligned
    std::memcpy(&value, from + i * sizeof(T), sizeof(T));
    out[i] = decode(value);
  }
}

/// Every value of a format of at most 8 bits.
static std::array<double, 256> makeTable(FloatType type) {
  std::array<double, 256> table{};
  unsigned width = type.getWidth();
  for (unsigned bits = 0; bits < (1u << width); ++bits) {
    llvm::APFloat value(type.getFloatSemantics(), llvm::APInt(width, bits));
    bool inexact;
    value.convert(llvm::APFloat::IEEEdouble(),
                  llvm::APFloat::rmNearestTiesToEven, &inexact);
    table[bits] = value.convertToDouble();
  }
  return table;
}

static void readFloats(const char *data, FloatType type, int64_t first,
                       MutableArrayRef<double> out) {
  if (type.isF32())
    return readAs<float>(data, first, out, [](float x) { return double(x); });
  if (type.isF16())
    return readAs<uint16_t>(data, first, out, decodeHalf);
  if (type.isBF16())
    return readAs<uint16_t>(data, first, out, decodeBfloat);
  if (type.isF64())
    return readAs<double>(data, first, out, [](double x) { return x; });
  std::array<double, 256> table = makeTable(type);
  if (type.getWidth() == 8)
    return readAs<uint8_t>(data, first, out,
                           [&](uint8_t bits) { return table[bits]; });
  for (size_t i = 0; i < out.size(); ++i) {
    uint8_t pair = data[(first + i) / 2];
    out[i] = table[(first + i) % 2 ? pair >> 4 : pair & 15];
  }
}

static void readIntegers(const char *data, IntegerType type, int64_t first,
                         MutableArrayRef<double> out) {
  auto convert = [](auto x) { return double(x); };
  bool isUnsigned = type.isUnsigned();
  switch (type.getWidth()) {
  case 1: // a byte each
    return readAs<uint8_t>(data, first, out,
                           [](uint8_t x) { return double(x != 0); });
  case 8:
    return isUnsigned ? readAs<uint8_t>(data, first, out, convert)
                      : readAs<int8_t>(data, first, out, convert);
  case 16:
    return isUnsigned ? readAs<uint16_t>(data, first, out, convert)
                      : readAs<int16_t>(data, first, out, convert);
  case 32:
    return isUnsigned ? readAs<uint32_t>(data, first, out, convert)
                      : readAs<int32_t>(data, first, out, convert);
  case 64:
    return isUnsigned ? readAs<uint64_t>(data, first, out, convert)
                      : readAs<int64_t>(data, first, out, convert);
  default: {
    unsigned width = type.getWidth(), each = 8 / width;
    for (size_t i = 0; i < out.size(); ++i) {
      unsigned index = first + i;
      int bits = uint8_t(data[index / each]) >> (index % each * width);
      bits &= (1 << width) - 1;
      if (!isUnsigned && bits >> (width - 1))
        bits -= 1 << width;
      out[i] = bits;
    }
  }
  }
}

/// The same in vector code, for floats that are rounded once. False where one
/// of them is not finite, or overflows.
static bool readRounded(const WeightView &view, int64_t first,
                        MutableArrayRef<double> out) {
  // A reader makes a table of bytes first.
  constexpr size_t kLeast = 64;
  const FloatFormat *format = getFloatFormat(view.elementType);
  if (view.roundings.size() != 1 || out.size() < kLeast || !format ||
      format->bits < 16 || format->bits > 32)
    return false;
  WeightTensor tensor;
  tensor.bytes = view.data;
  tensor.format = format;
  tensor.storage = view.roundings.front();
  tensor.limits = view.limits;
  bool finite = true;
  kernels::WeightReader(tensor).read(first, out.size(), out.data(),
                                     [&](size_t, uint8_t) { finite = false; });
  return finite;
}

void WeightView::read(int64_t first, MutableArrayRef<double> out) const {
  if (splat && out.size() > 1) {
    read(0, out.take_front());
    std::fill(out.begin() + 1, out.end(), out.front());
    return;
  }
  if (splat)
    first = 0;
  if (readRounded(*this, first, out))
    return;
  if (auto type = dyn_cast<FloatType>(elementType))
    readFloats(data.data(), type, first, out);
  else
    readIntegers(data.data(), cast<IntegerType>(elementType), first, out);
  if (limits)
    for (double &value : out)
      value = limits.apply(value);
  for (const FloatFormat *format : roundings)
    if (format == &FloatFormat::f32())
      for (double &value : out)
        value = float(value);
    else
      for (double &value : out)
        value = format->round(value);
}
