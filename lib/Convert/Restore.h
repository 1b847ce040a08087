//===- Restore.h - 16-bit models as FP32 with their roundings ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_CONVERT_RESTORE_H
#define MPOPT_LIB_CONVERT_RESTORE_H

#include "Graph.h"

#include "mpopt/Convert/Convert.h"

namespace mpopt::convert {

/// Makes every 16-bit tensor FP32, and puts a cast down and up behind each
/// result that was stored in 16 bits. The model has no functions.
RestoredModel restoreRoundings(Model &model);

} // namespace mpopt::convert

#endif // MPOPT_LIB_CONVERT_RESTORE_H
