//===- Prices.h - What FP32 costs -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In bytes that a device moves in the same time. Only ratios matter.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_REPAIR_SEARCH_PRICES_H
#define MPOPT_LIB_REPAIR_SEARCH_PRICES_H

#include "Nodes.h"

#include <vector>

namespace mpopt {

class Prices {
public:
  explicit Prices(const Nodes &nodes);

  /// The extra cost of a node in FP32 over 16 bits.
  int64_t of(Node node) const { return prices[node]; }
  /// True if it adds up products.
  bool multiplies(Node node) const { return products[node]; }
  /// The share of the whole model, counted by price and by nodes.
  double shareOf(Node node) const;
  /// A cast between FP32 and 16 bits.
  static int64_t ofCast(mlir::Value value);

private:
  std::vector<int64_t> prices;
  std::vector<bool> products;
  double total = 1;
};

} // namespace mpopt

#endif // MPOPT_LIB_REPAIR_SEARCH_PRICES_H
