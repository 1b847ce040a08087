//===- SumOfProducts.h - Factors of products that are added up --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_RANGES_RELATIONS_SUMOFPRODUCTS_H
#define MPOPT_LIB_RANGES_RELATIONS_SUMOFPRODUCTS_H

#include "mpopt/Ranges/Relations/RelationSupport.h"

namespace mpopt::relations {

/// A sum of products, over whichever axes, of sums and products of sums.
struct SumOfProducts {
  llvm::SmallVector<mlir::Value, 4> factors;
  double number = 1;
  /// Sums on the way, contractions among them.
  unsigned sums = 0;
  /// One of the sums is a running one.
  bool running = false;
  /// A Gemm on the way adds this to its products; null if none does.
  mlir::Value bias;

  /// A value that holds none of `weights`, if there are any, is a factor
  /// itself; else what is no sum or product is.
  static SumOfProducts of(mlir::Value value,
                          llvm::ArrayRef<mlir::Value> weights,
                          TransferContext &ctx);
};

} // namespace mpopt::relations

#endif // MPOPT_LIB_RANGES_RELATIONS_SUMOFPRODUCTS_H
