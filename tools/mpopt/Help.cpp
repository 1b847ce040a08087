//===- Help.cpp - mpopt --help
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Written by hand: llvm::cl sorts by name and does not wrap.
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "llvm/Support/raw_ostream.h"

void mpopt::printHelp(llvm::raw_ostream &os) {
  os << R"(mpopt: where a model overflows, underflows or turns NaN in 16-bit floats

usage:
  mpopt --check MODEL... [options]   judge models (ONNX, or mp IR; - is stdin)
  mpopt --instrument MODEL -o OUT    the model with probes, and the ledger
                                     OUT.probes.json (takes the options below)
  mpopt --strip OUT -o MODEL         the original, byte for byte
  mpopt --confirm RUN.mprec... --ledger OUT.probes.json
                                     what became of the findings in a run
  mpopt --emit-mlir MODEL            the imported mp IR
  mpopt --list-rules                 all rules and their settings
  mpopt --explain RULE               what a rule finds, why, what to do

what is judged:
  --precision P            auto (default), as-is, fp16, bf16, autocast-fp16,
                           autocast-bf16. auto: as-is if the model computes in
                           16 or 8 bits anywhere, otherwise autocast-fp16
  --policy NAME|FILE       table that autocast follows
  --target NAME|FILE       accumulators assumed: gpu-tensorcore (default),
                           ort-cpu, strict16, or a profile of your own

what is assumed:
  --input NAME=LO:HI       every element of that input lies in [LO, HI]
  --input NAME=@FILE.npz   the same from arrays lo and hi, or from a sample
                           under the input's name
  --input NAME~MEAN,STD    its likely distribution
  --assume LO:HI           bound of the other float inputs (default -10:10)
  --dim NAME=N             size of a symbolic dimension
  --input-shape NAME=1x3x224x224[:f16]
                           shape (? for an open dim) and dtype of an input
  --method NAME            method of a TorchScript model (default forward)

which findings count:
  --select LIST            only these rules: ids, prefixes (MP2) or names
  --ignore LIST            not these
  --set KEY=VALUE          a rule's threshold (--list-rules shows them)
  --min-certainty C        list certain, likely (default) or possible and up
  --fail-on S              exit 1 from error, warning (default) or note on;
                           or never

what is written:
  --format F               text (default) or json
  -o FILE                  there instead of standard output
  --safe-input             how far each float input may be scaled before there
                           is an overflow
  --dump-ranges FILE       every tensor's bounds, as JSON
  --keep-fp32 FILE         the ops to keep in FP32, as JSON, or for converters:
                           *.autocast.txt (ModelOpt), *.ort.json (ONNX Runtime),
                           *.occ.json (onnxconverter-common)

what is probed:
  --probe WHICH            findings (default: what findings are about, and what
                           is not proved finite), all, or a regular expression
                           on names of tensors and ops
  --probe-with HOW         op (default: a custom op) or outputs (standard ops,
                           whose results become outputs)

  --jobs N                 threads (default: all)
  --version, --help

exit status: 0 nothing at or above --fail-on; 1 findings; 2 an error
)";
}
