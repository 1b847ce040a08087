//===- Flow.h - What NaN and Inf can follow from ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_INSTRUMENT_CONFIRM_FLOW_H
#define MPOPT_INSTRUMENT_CONFIRM_FLOW_H

#include "mpopt/Instrument/Confirm.h"

namespace mpopt::confirming {

/// A graph of records, values or gradients.
struct Flow {
  struct Node {
    const ProbeSight *seen = nullptr;
    /// Nodes that it depends on, and nodes that depend on it.
    std::vector<int64_t> from, users;
    /// True if it depends on further tensors, which are not known.
    bool fromMore = false;
    /// It only moves elements: nothing begins here if it may have begun
    /// elsewhere.
    bool copies = false;
  };
  std::vector<Node> nodes; ///< by probe

  void connect(int64_t from, int64_t to) {
    nodes[to].from.push_back(from);
    nodes[from].users.push_back(to);
  }
};

/// May the bad values of `from` be why `at` has some?
bool mayExplain(const BadValues &from, const BadValues &at);

/// "NaN", "Inf" or "-Inf": the worst that a bad one held.
llvm::StringRef nameWorst(const mpopt_record &record);

/// Those of which most came first, then by step, then in the order of the pass.
void sortBeginnings(std::vector<FirstBad> &found, bool backward);

/// Sets `begins` and `origin` by the steps that `bad` has.
void findBegins(const Flow &flow, llvm::MutableArrayRef<BadValues> bad);

/// The bad ones that depend on `probe` by a way of bad ones, itself included;
/// by probe.
std::vector<bool> findReached(const Flow &flow, llvm::ArrayRef<BadValues> bad,
                              int64_t probe);

} // namespace mpopt::confirming

#endif // MPOPT_INSTRUMENT_CONFIRM_FLOW_H
