//===- Prices.cpp - What FP32 costs
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Prices.h"

#include "FlowGraph.h"

#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/Arithmetic.h"
#include "mpopt/Propagate/ErrorMoments.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mpopt;

/// FP32 multiplications in the time of one byte: 6 on an A100 (9.7e12 and
/// 1.6e12 a second by its data sheet), 10 on an H100 (33e12 and 3.4e12). Those
/// of 16 bits are 16 to 30 times as fast, and count nothing.
static constexpr double kProductsPerByte = 8;
/// FP32 takes so many bytes more for each element that is read or written.
static constexpr double kWider = 2;
/// A cast reads one of 2 and 4 bytes, and writes the other.
static constexpr double kCast = 6;
/// Sums of so many are exact, and no cut has them all.
static constexpr double kMost = double(FlowGraph::kInfinite >> 16);

static double countFloats(ValueRange values) {
  double count = 0;
  for (Value value : values)
    if (isa<FloatType>(getElementType(value)))
      count += countElements(value);
  return count;
}

static int64_t toPrice(double bytes) {
  return int64_t(std::min(std::ceil(bytes), kMost));
}

Prices::Prices(const Nodes &nodes) : products(nodes.size()) {
  for (Node node = 0; node < nodes.size(); ++node) {
    double bytes = 0;
    for (Operation *op : nodes.opsOf(node)) {
      double multiplied = countMultiplications(op);
      products[node] = products[node] || multiplied > 0;
      bytes += kWider * (countFloats(op->getOperands()) +
                         countFloats(op->getResults())) +
               multiplied / kProductsPerByte;
    }
    // The smaller one of two sets of equal cost is cheaper.
    prices.push_back(toPrice(bytes + 1));
    total += bytes;
  }
}

double Prices::shareOf(Node node) const {
  return double(prices[node]) / total + 1 / double(prices.size());
}

int64_t Prices::ofCast(Value value) {
  return toPrice(kCast * countElements(value));
}
