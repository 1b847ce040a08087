//===- Against.cpp - MP617: codes and scales beside the weights -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Judge.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mpopt;
using namespace mpopt::checkpoints;
using llvm::Error;

namespace {
/// Sums over the elements of each group, of small groups by row.
class Comparison {
public:
  Comparison(const Grid &grid, const CodeFormat &format)
      : grid(grid), format(format),
        byRow(grid.unitRows * grid.unitColumns < kLeastGroup),
        sums(byRow ? grid.batch * grid.rows : grid.units()) {}

  void add(int64_t at, uint8_t byte, const Numbers &floats, const char *from,
           uint64_t index, const WeightScales &scales) {
    int64_t row = at / grid.columns;
    int64_t unit = grid.unitOf(row, at % grid.columns);
    FactorSums &into = sums[byRow ? row : unit];
    double scale = scales.at(unit);
    auto one = [&](double code, double w) { into.add(w, code * scale); };
    if (!format.isPacked)
      return one(format.value[byte], floats.at(from, index));
    one(format.value[byte & 15], floats.at(from, 2 * index));
    one(format.value[byte >> 4], floats.at(from, 2 * index + 1));
  }

  /// Elements from which a group's factor is known well.
  static constexpr int64_t kLeastGroup = 128;
  const Grid &grid;
  const CodeFormat &format;
  bool byRow;
  std::vector<FactorSums> sums;
};
} // namespace

/// The tensor of the same name and size; null, and a warning, if there is none.
const StoredTensor *Judge::findFloats(const std::string &name,
                                      const Module &module) {
  const StoredTensor &codes = *module.codes;
  const StoredTensor *floats = request.against->find(codes.name);
  if (!floats)
    floats = request.against->find(name + ".weight");
  if (floats && Numbers::of(*floats->dtype) &&
      floats->count() == int64_t(codes.bytes)
                             << readings[name].format->isPacked)
    return floats;
  verdict.warnings.push_back(
      "--against: " +
      (floats ? "'" + floats->name + "' is " + floats->dtype->word.str() + " " +
                    floats->shape() + ", its codes " + codes.shape()
              : "there is no '" + codes.name + "'") +
      ": not compared");
  return nullptr;
}

Error Judge::compare(const std::string &name, const Module &module,
                     const WeightScales &scales) {
  const StoredTensor &codes = *module.codes;
  const StoredTensor *floats = findFloats(name, module);
  if (!floats)
    return Error::success();
  const CodeFormat &format = *readings[name].format;
  Numbers numbers = *Numbers::of(*floats->dtype);
  Comparison comparison(*readings[name].grid, format);
  // Both in pieces of so many codes.
  constexpr uint64_t kPiece = 1 << 20;
  std::vector<char> piece, wide;
  for (uint64_t from = 0; from < codes.bytes; from += piece.size()) {
    piece.resize(std::min(kPiece, codes.bytes - from));
    wide.resize(numbers.size(piece.size() << format.isPacked));
    if (Error error = checkpoint.read(codes, from, piece))
      return error;
    if (Error error = request.against->read(
            *floats, numbers.size(from << format.isPacked), wide))
      return error;
    for (uint64_t index = 0; index < piece.size(); ++index)
      comparison.add(int64_t(from + index), uint8_t(piece[index]), numbers,
                     wide.data(), index, scales);
  }
  judgeFactors(name, module, *floats, comparison.sums);
  return Error::success();
}

void Judge::judgeFactors(const std::string &name, const Module &module,
                         const StoredTensor &floats,
                         llvm::ArrayRef<FactorSums> groups) {
  int64_t known = 0, wrong = 0, strange = 0;
  double worst = 1;
  for (const FactorSums &sums : groups) {
    if (!sums.isKnown())
      continue;
    ++known;
    double factor = std::fabs(sums.factor());
    if (sums.areOthers()) {
      ++strange;
    } else if (sums.isOff()) {
      ++wrong;
      if (std::fabs(std::log(factor)) > std::fabs(std::log(worst)))
        worst = factor;
    }
  }
  std::string of = " of " + std::to_string(known) + " groups";
  Scale given = module.of(ScaleRole::Weight);
  if (strange)
    report("scale-mismatch", name, *module.codes,
           "in " + std::to_string(strange) + of +
               (given ? " the codes are not those of the weights of '" +
                            floats.name + "', whatever their scale"
                      : " more than a fifth of the square of '" + floats.name +
                            "' is lost: weights were cast without a scale, and "
                            "magnitudes up to " +
                            text(readings[name].format->flushAt) +
                            " are read as 0"));
  if (!wrong)
    return;
  if (!given) {
    report("scale-mismatch", name, *module.codes,
           "in " + std::to_string(wrong) + of + " codes without a scale are " +
               text(std::max(worst, 1 / worst)) + " times too " +
               (worst < 1 ? "large" : "small") + " for the weights of '" +
               floats.name + "'");
    return;
  }
  double scale = readings[name].of(ScaleRole::Weight);
  bool isInverted =
      std::isfinite(scale) && std::fabs(std::log2(worst * scale * scale)) < 0.2;
  report("scale-mismatch", name, *given.tensor,
         isInverted ? "is " + text(scale) + ", and the weights of '" +
                          floats.name + "' need its inverse"
                    : "in " + std::to_string(wrong) + of +
                          " it is not the scale of the codes: up to " +
                          text(std::max(worst, 1 / worst)) + " times too " +
                          (worst < 1 ? "large" : "small") +
                          " for the weights of '" + floats.name + "'");
}
