//===- ProbeInsertion.h - Probes in an exported program ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nodes `torch.ops.mpopt.probe` in the JSON of a .pt2 archive, each right
// behind the node whose result it looks at: later changes in place are not what
// the value's name means. All else of the text stays as it is.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_IMPORT_EXPORTEDPROGRAM_PROBEINSERTION_H
#define MPOPT_IMPORT_EXPORTEDPROGRAM_PROBEINSERTION_H

#include "mpopt/Import/GraphPlace.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>

namespace mpopt::exported {

/// A probe on a tensor of which `whyNot` has nothing to say.
struct PlacedProbe {
  int64_t id;
  std::string tensor;
  int64_t channelAxis; ///< -1: no ranges by channel
};

class ProbeInsertion {
public:
  /// `archive` is one that was imported, `places` are from that. The error is a
  /// phrase for after the file's name.
  static llvm::Expected<ProbeInsertion> open(llvm::StringRef archive,
                                             GraphPlaces places);

  /// The program has nodes of mpopt already.
  bool hasProbes() const;
  /// The reason why the tensor can have no probe; empty if it can.
  std::string whyNot(llvm::StringRef tensor) const;

  /// The member of the archive's folder that changes (`models/model.json`).
  llvm::StringRef member() const { return memberName; }
  /// Its text with the probes. `ledgerHash` is 64 hex digits.
  std::string insert(llvm::ArrayRef<PlacedProbe> probes,
                     llvm::StringRef ledgerHash) const;

private:
  friend class SlotFinder;
  /// A point between two nodes, in the text.
  struct Gap {
    size_t offset = 0;
    bool hasBefore = false, hasBehind = false;
  };
  /// A tensor that a node gives, or an input of a graph.
  struct Slot {
    std::string name;        ///< in its graph
    Gap gap;                 ///< behind the node
    std::string moduleStack; ///< of the node
    bool isShared = false;   ///< two graphs of one name define it
  };

  const Slot *find(llvm::StringRef tensor) const;

  std::string memberName, text;
  GraphPlaces places;
  llvm::StringMap<Slot> slots;    ///< by path (`true_graph_0.sin`)
  llvm::StringMap<unsigned> uses; ///< of each, the tensors that it is
  Gap start;
  std::string rootModule; ///< the stack of what runs in no module inside
};

} // namespace mpopt::exported

#endif // MPOPT_IMPORT_EXPORTEDPROGRAM_PROBEINSERTION_H
