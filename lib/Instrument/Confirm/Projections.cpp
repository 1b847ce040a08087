//===- Projections.cpp - Random sums of a run's tensors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Projections.h"

#include "mpopt/Instrument/Against.h"
#include "mpopt/Support/BoundedJson.h"
#include "mpopt/Support/InputFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"

#include <cmath>
#include <vector>

using namespace mpopt;
using namespace mpopt::confirming;
using llvm::StringRef;

/// The quantile of the normal distribution at 0.999.
static constexpr double kNormalQuantile = 3.0902;

/// The quantile at 0.999 of a sum of `count` squares of normal numbers, over
/// their number (Wilson and Hilferty, The distribution of chi-square, 1931).
static double getSpread(double count) {
  double variance = 2 / (9 * count);
  return std::pow(1 - variance + kNormalQuantile * std::sqrt(variance), 3);
}

/// An upper bound of the cosine of two tensors by that of `count` sums, whose
/// inverse hyperbolic tangent has the deviation 1 / sqrt(count - 3) (Fisher, On
/// the probable error of a coefficient of correlation, 1921): tight where the
/// two are turned around.
static double boundCosine(double seen, double count) {
  double clamped = std::clamp(seen, -1 + 1e-12, 1 - 1e-12);
  return std::tanh(std::atanh(clamped) +
                   kNormalQuantile / std::sqrt(count - 3));
}

void Projections::readLine(StringRef line, size_t file) {
  llvm::Expected<llvm::json::Value> value = parseJson(line);
  if (!value) {
    llvm::consumeError(value.takeError());
    return;
  }
  const llvm::json::Object *object = value->getAsObject();
  if (!object)
    return;
  if (const llvm::json::Array *names = object->getArray("formats"))
    for (const llvm::json::Value &name : *names)
      if (std::optional<StringRef> text = name.getAsString())
        formats[text->str()] = true;
  std::optional<int64_t> step = object->getInteger("projections");
  std::optional<double> scale = object->getNumber("scale");
  const llvm::json::Array *entries = object->getArray("of");
  if (!step || *step < 0 || !scale || !(*scale > 0) || !entries)
    return;
  for (const llvm::json::Value &entry : *entries) {
    const llvm::json::Array *fields = entry.getAsArray();
    if (!fields || fields->size() != 3)
      continue;
    std::optional<StringRef> kind = (*fields)[0].getAsString(),
                             name = (*fields)[1].getAsString(),
                             text = (*fields)[2].getAsString();
    std::vector<char> bytes;
    if (!kind || !name || !text)
      continue;
    if (llvm::Error error = llvm::decodeBase64(*text, bytes)) {
      llvm::consumeError(std::move(error));
      continue;
    }
    if (bytes.size() != sizeof(float) * (kCount + 1))
      continue;
    // Recorded gradients are multiplied by the loss scale.
    double factor = *kind == getKindName(MPOPT_GRADIENT) ? *scale : 1;
    Numbers &numbers = tensors[{kind->str(), name->str()}][{file, *step}];
    for (auto [place, number] : llvm::enumerate(numbers))
      number = llvm::bit_cast<float>(llvm::support::endian::read32le(
                   bytes.data() + sizeof(float) * place)) /
               factor;
  }
}

Projections Projections::read(llvm::ArrayRef<std::string> records) {
  Projections found;
  for (auto [file, path] : llvm::enumerate(records)) {
    StringRef stem = path;
    stem.consume_back(".mprec");
    std::string beside = stem.str() + ".history.jsonl";
    if (!llvm::sys::fs::is_regular_file(beside))
      continue;
    llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> text =
        readInputFile(beside);
    if (!text) {
      llvm::consumeError(text.takeError());
      continue;
    }
    for (StringRef rest = (*text)->getBuffer(); !rest.empty();) {
      auto [line, more] = rest.split('\n');
      if (line.starts_with("{\"projections\"") ||
          line.starts_with("{\"schema\""))
        found.readLine(line, file);
      rest = more;
    }
  }
  return found;
}

std::optional<double> Projections::findDistance(const Projections &other,
                                                StringRef kind,
                                                StringRef tensor) const {
  auto own = tensors.find({kind.str(), tensor.str()});
  auto others = other.tensors.find({kind.str(), tensor.str()});
  if (own == tensors.end() || others == other.tensors.end())
    return std::nullopt;
  double apart = 0, sizes[2] = {}, sums[2] = {}, products = 0, count = 0;
  for (const auto &[place, numbers] : own->second) {
    auto found = others->second.find(place);
    if (found == others->second.end())
      continue;
    const Numbers *both[2] = {&numbers, &found->second};
    // Counts of NaN and Inf are compared by themselves.
    if (!llvm::all_of(both, [](const Numbers *one) {
          return llvm::all_of(*one, [](double x) { return std::isfinite(x); });
        }))
      continue;
    for (unsigned i = 0; i < kCount; ++i) {
      apart += std::pow(numbers[i] - found->second[i], 2);
      products += numbers[i] * found->second[i];
    }
    for (int side : {0, 1}) {
      sizes[side] += std::pow((*both[side])[kCount], 2);
      for (double sum : llvm::ArrayRef(*both[side]).take_front(kCount))
        sums[side] += sum * sum;
    }
    count += kCount;
  }
  if (!(sizes[0] > 0))
    return std::nullopt;
  double distance = apart / sizes[0] / getSpread(count);
  if (products < 0) {
    double cosine = boundCosine(products / std::sqrt(sums[0] * sums[1]), count);
    double ratio = std::sqrt(sizes[1] / sizes[0]);
    distance = std::max(distance, 1 + ratio * ratio - 2 * ratio * cosine);
  }
  return std::sqrt(distance);
}
