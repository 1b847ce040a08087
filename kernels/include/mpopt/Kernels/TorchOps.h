//===- TorchOps.h - The probe ops of PyTorch -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One list for the op library and for the program that puts probes into
// graphs. Every op is registered with conservative alias analysis: an op
// without results that claims to write nothing is removed as dead code.
//
// `ledger` is the SHA-256 of the ledger, 64 hex digits; an id below 0 records
// nothing.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_TORCHOPS_H
#define MPOPT_KERNELS_TORCHOPS_H

namespace mpopt::kernels {

constexpr const char *kTorchProbeOps[] = {
    // The next call belongs to another run of the model.
    "begin_run(str ledger) -> ()",
    // A tensor.
    "probe(Tensor x, int id, str ledger) -> ()",
    // A tensor, with a range for each index of an axis.
    "probe_channels(Tensor x, int id, int axis, str ledger) -> ()",
    // A tensor that may not be there.
    "probe_optional(Tensor? x, int id, str ledger) -> ()",
    // A number, as a tensor of rank 0.
    "probe_number(Scalar x, int id, str ledger) -> ()",
    // Members of a list in rounds of loops. `table` has rows of the rounds, the
    // member and the id; rows for other rounds, and for members that are not
    // there, record nothing.
    "probe_members(Tensor[] x, int[] rounds, int[] table, str ledger) -> ()",
    // The identity; what flows back through it is recorded (kind 1). A tensor
    // that needs no gradient records nothing.
    "probe_grad(Tensor x, int id, str ledger) -> Tensor",
    // An operand as autocast gives it to an op that is on its 16-bit list for
    // the processor (`cpu`) or CUDA devices (`cuda`); elsewhere the operand.
    "autocast_operand(Tensor x, bool cpu, bool cuda) -> Tensor"};

} // namespace mpopt::kernels

#endif // MPOPT_KERNELS_TORCHOPS_H
