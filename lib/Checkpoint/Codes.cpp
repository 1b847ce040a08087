//===- Codes.cpp - The numbers of codes and of scales ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Codes.h"

#include "mpopt/Numerics/FloatFormat.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"

#include <cmath>
#include <limits>

using namespace mpopt;
using namespace mpopt::checkpoints;
using llvm::Error;
using llvm::Expected;

static double decode(const llvm::fltSemantics &semantics, uint64_t bits,
                     unsigned width) {
  llvm::APFloat value(semantics, llvm::APInt(width, bits));
  bool inexact;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven,
                &inexact);
  return value.convertToDouble();
}

std::optional<Numbers> Numbers::of(const StoredDtype &dtype) {
  Numbers result;
  bool isScaleByte = dtype.word == "U8";
  const FloatFormat *format =
      FloatFormat::byName(isScaleByte ? "f8E8M0FNU" : dtype.name);
  result.isSigned = dtype.name.starts_with("i");
  if ((!format && !result.isSigned && !dtype.name.starts_with("ui")) ||
      dtype.bits % 8)
    return std::nullopt;
  result.width = dtype.bits / 8;
  result.isFloat = format != nullptr;
  result.semantics = format ? format->semantics : nullptr;
  if (result.width == 1)
    for (unsigned byte = 0; byte < 256; ++byte)
      result.table[byte] =
          format ? decode(*format->semantics, byte, 8) : double(int8_t(byte));
  return result;
}

double Numbers::at(const char *bytes, uint64_t index) const {
  const char *at = bytes + index * width;
  if (width == 1)
    return table[uint8_t(*at)];
  uint64_t bits = 0;
  for (unsigned byte = 0; byte < width; ++byte)
    bits |= uint64_t(uint8_t(at[byte])) << (8 * byte);
  // The two dtypes that float weights have are decoded without APFloat.
  if (isFloat && width == 4)
    return std::bit_cast<float>(uint32_t(bits));
  if (isFloat && semantics == &llvm::APFloat::BFloat())
    return std::bit_cast<float>(uint32_t(bits) << 16);
  if (isFloat)
    return decode(*semantics, bits, width * 8);
  return isSigned
             ? double(int64_t(bits << (64 - 8 * width)) >> (64 - 8 * width))
             : double(bits);
}

double CodeFormat::step(double value) const {
  if (digits == 0)
    return 1;
  return std::max(
      least, value == 0 ? least
                        : std::ldexp(1.0, std::ilogb(value) + 1 - int(digits)));
}

CodeFormat CodeFormat::of(const StoredDtype &dtype) {
  CodeFormat result;
  // Bytes hold two codes of E2M1 each, as MXFP4 and NVFP4 pack them.
  result.isPacked = dtype.word == "U8" || dtype.word == "F4";
  const FloatFormat *format =
      FloatFormat::byName(result.isPacked ? "f4E2M1FN" : dtype.name);
  unsigned codes = result.isPacked ? 16 : 256, half = codes / 2;
  result.value.fill(0);
  result.magnitude.fill(0);
  for (unsigned code = 0; code < codes; ++code)
    result.value[code] =
        format ? decode(*format->semantics, code, result.isPacked ? 4 : 8)
               : double(int8_t(code));
  // Floats are ordered as their bits are, less the sign; what is no number is
  // no magnitude.
  auto rankOf = [&](unsigned code) -> unsigned {
    if (!std::isfinite(result.value[code]))
      return 0;
    return format ? code & (half - 1) : std::abs(int(int8_t(code)));
  };
  for (unsigned byte = 0; byte < 256; ++byte) {
    unsigned rank = result.isPacked
                        ? std::max(rankOf(byte & 15), rankOf(byte >> 4))
                        : rankOf(byte);
    result.rank[byte] = rank;
  }
  for (unsigned code = 0; code < codes; ++code)
    if (unsigned rank = rankOf(code)) {
      result.magnitude[rank] = std::fabs(result.value[code]);
      result.top = std::max<unsigned>(result.top, rank);
    }
  // FNUZ formats have NaN where others have -0.
  result.isByBits = format && !result.isPacked;
  if (format) {
    result.digits = format->digits;
    result.least = format->minSubnormal;
  } else {
    // Symmetric quantisers leave out -128.
    result.top = 127;
  }
  result.flushAt = result.least / 2;
  return result;
}

/// Bytes that are read at a time: a row of most weights, and little memory.
static constexpr uint64_t kPiece = 1 << 22;

namespace {
/// Counts codes piece by piece.
class Scanner {
public:
  Scanner(const CodeFormat &format, const Grid &grid, CodeUse &use)
      : format(format), grid(grid), use(use) {
    use.largest.assign(grid.units(), 0);
  }

  void add(llvm::ArrayRef<char> piece) {
    count(piece);
    while (!piece.empty()) {
      int64_t row = at / grid.columns, column = at % grid.columns;
      int64_t end = std::min<int64_t>(
          (column / grid.unitColumns + 1) * grid.unitColumns, grid.columns);
      // Rows of a unit that spans all columns lie together.
      bool isWhole = column == 0 && end == grid.columns;
      int64_t rows =
          isWhole ? grid.unitRows - row % grid.rows % grid.unitRows : 1;
      rows = std::min(rows, grid.rows - row % grid.rows);
      int64_t size = std::min<int64_t>(
          isWhole ? rows * grid.columns : end - column, piece.size());
      uint8_t &largest = use.largest[grid.unitOf(row, column)];
      largest = std::max(largest, largestOf(piece.take_front(size)));
      piece = piece.drop_front(size);
      at += size;
    }
  }
  void finish() {
    for (const auto &part : parts)
      for (unsigned byte = 0; byte < 256; ++byte)
        use.count[byte] += part[byte];
    use.bytes = at;
  }

private:
  /// Four counters of each byte: equal bytes in a row would wait for one.
  void count(llvm::ArrayRef<char> piece) {
    const auto *bytes = reinterpret_cast<const uint8_t *>(piece.data());
    size_t index = 0;
    for (; index + 4 <= piece.size(); index += 4)
      for (unsigned part = 0; part < 4; ++part)
        ++parts[part][bytes[index + part]];
    for (; index < piece.size(); ++index)
      ++parts[0][bytes[index]];
  }
  uint8_t largestOf(llvm::ArrayRef<char> bytes) const {
    uint8_t most = 0;
    // The bits of a float less its sign are its rank: a loop without look-ups.
    if (format.isByBits) {
      for (char byte : bytes) {
        uint8_t rank = uint8_t(byte) & 0x7f;
        most = std::max<uint8_t>(most, rank > format.top ? 0 : rank);
      }
      return most;
    }
    for (char byte : bytes)
      most = std::max(most, format.rank[uint8_t(byte)]);
    return most;
  }

  const CodeFormat &format;
  const Grid &grid;
  CodeUse &use;
  int64_t at = 0;
  std::array<std::array<uint64_t, 256>, 4> parts{};
};
} // namespace

Expected<CodeUse> checkpoints::scanCodes(const Checkpoint &checkpoint,
                                         const StoredTensor &codes,
                                         const CodeFormat &format,
                                         const Grid &grid) {
  CodeUse use;
  Scanner scanner(format, grid, use);
  std::vector<char> piece;
  for (uint64_t from = 0; from < codes.bytes; from += piece.size()) {
    piece.resize(std::min(kPiece, codes.bytes - from));
    if (Error error = checkpoint.read(codes, from, piece))
      return std::move(error);
    scanner.add(piece);
  }
  scanner.finish();
  return use;
}

Expected<std::vector<char>> checkpoints::readAll(const Checkpoint &checkpoint,
                                                 const StoredTensor &tensor) {
  std::vector<char> bytes(tensor.bytes);
  if (Error error = checkpoint.read(tensor, 0, bytes))
    return std::move(error);
  return bytes;
}
