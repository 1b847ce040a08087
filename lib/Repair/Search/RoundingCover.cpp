//===- RoundingCover.cpp - Few nodes that hold most roundings
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RoundingCover.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mpopt;
using llvm::ArrayRef;
using llvm::SmallVector;

/// Sites that are looked at; the others add too little.
static constexpr size_t kMostSites = 2048;

namespace {
class Cover {
public:
  Cover(ArrayRef<RoundingSite> sites, ArrayRef<RoundingSum> sums,
        const llvm::DenseSet<unsigned> &kept);

  SmallVector<unsigned> run();

private:
  bool isMet() const;
  double worth(const RoundingSite &site) const;
  SmallVector<unsigned, 4> missing(const RoundingSite &site) const;
  double gain(ArrayRef<unsigned> nodes) const;
  void take(ArrayRef<unsigned> nodes);

  std::vector<const RoundingSite *> sites;
  std::vector<RoundingSum> sums;
  llvm::DenseSet<unsigned> kept;
  llvm::DenseMap<unsigned, SmallVector<unsigned, 4>> sitesOf;
  SmallVector<unsigned> added;
};
} // namespace

Cover::Cover(ArrayRef<RoundingSite> all, ArrayRef<RoundingSum> sums,
             const llvm::DenseSet<unsigned> &kept)
    : sums(sums.begin(), sums.end()), kept(kept) {
  for (const RoundingSite &site : all)
    if (!missing(site).empty())
      sites.push_back(&site);
  llvm::stable_sort(sites,
                    [&](const RoundingSite *lhs, const RoundingSite *rhs) {
                      return worth(*lhs) > worth(*rhs);
                    });
  sites.resize(std::min(sites.size(), kMostSites));
  for (auto [index, site] : llvm::enumerate(sites))
    for (unsigned node : site->nodes)
      sitesOf[node].push_back(index);
}

bool Cover::isMet() const {
  return llvm::all_of(
      sums, [](const RoundingSum &sum) { return sum.value <= sum.limit; });
}

/// The share of what is too much in the sums that the site takes away.
double Cover::worth(const RoundingSite &site) const {
  double share = 0;
  for (auto [index, part] : site.parts)
    if (double excess = sums[index].value - sums[index].limit; excess > 0)
      share += std::min(part / excess, 1.0);
  return share;
}

SmallVector<unsigned, 4> Cover::missing(const RoundingSite &site) const {
  SmallVector<unsigned, 4> nodes;
  for (unsigned node : site.nodes)
    if (!kept.contains(node))
      nodes.push_back(node);
  return nodes;
}

double Cover::gain(ArrayRef<unsigned> nodes) const {
  double sum = 0;
  llvm::DenseSet<unsigned> seen;
  for (unsigned node : nodes)
    for (unsigned index : sitesOf.find(node)->second)
      if (seen.insert(index).second &&
          llvm::all_of(sites[index]->nodes, [&](unsigned other) {
            return kept.contains(other) || llvm::is_contained(nodes, other);
          }))
        sum += worth(*sites[index]);
  return sum;
}

void Cover::take(ArrayRef<unsigned> nodes) {
  llvm::DenseSet<unsigned> seen;
  for (unsigned node : nodes) {
    kept.insert(node);
    added.push_back(node);
  }
  for (unsigned node : nodes)
    for (unsigned index : sitesOf.find(node)->second)
      if (seen.insert(index).second && missing(*sites[index]).empty())
        for (auto [sum, part] : sites[index]->parts)
          sums[sum].value -= part;
}

SmallVector<unsigned> Cover::run() {
  while (!isMet()) {
    SmallVector<unsigned, 4> best;
    double most = 0;
    for (const RoundingSite *site : sites) {
      SmallVector<unsigned, 4> nodes = missing(*site);
      if (nodes.empty())
        continue;
      double each = gain(nodes) / double(nodes.size());
      if (each > most) {
        most = each;
        best = std::move(nodes);
      }
    }
    if (best.empty())
      break;
    take(best);
  }
  return added;
}

SmallVector<unsigned>
mpopt::coverRoundings(ArrayRef<RoundingSite> sites, ArrayRef<RoundingSum> sums,
                      const llvm::DenseSet<unsigned> &kept) {
  return Cover(sites, sums, kept).run();
}
