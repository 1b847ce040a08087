//===- KeepList.h - mpopt --keep-fp32 ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DRIVER_KEEPLIST_H
#define MPOPT_DRIVER_KEEPLIST_H

#include "mpopt/Report/Keep.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace mpopt {

/// Writes the ops in the form that the file's name asks for:
///   *.autocast.txt  ModelOpt's `--nodes_to_exclude`: a pattern a line
///   *.ort.json      keyword arguments of onnxruntime.transformers.float16's
///                   convert_float_to_float16
///   *.occ.json      the same of onnxconverter_common.float16's
///   *.trt.json      layers of TensorRT and their outputs, with types
///   *.openvino.json the tensors whose ops OpenVINO is to mark
///   *.coreml.json   the ops for coremltools' `op_selector`
///   *.litert.json   a recipe of AI Edge Quantizer
///   others          `mpopt-keep/1`
/// docs/keep.md has the lines that read them. Converters find ops by the names
/// of nodes, or of tensors: ops without one are left out. Returns their number.
unsigned writeKeepList(llvm::raw_ostream &os, llvm::StringRef file,
                       llvm::ArrayRef<KeptOpRef> ops);

} // namespace mpopt

#endif // MPOPT_DRIVER_KEEPLIST_H
