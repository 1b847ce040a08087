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
        const llvm::DenseSet<unsigned> &kept,
        llvm::function_ref<double(unsigned)> price);

  SmallVector<CoveringNode> run();

private:
  bool isMet() const;
  double worth(const RoundingSite &site) const;
  SmallVector<unsigned, 4> missing(const RoundingSite &site) const;
  double gain(ArrayRef<unsigned> nodes) const;
  void take(ArrayRef<unsigned> nodes, size_t index);

  ArrayRef<RoundingSite> all;
  std::vector<const RoundingSite *> sites;
  std::vector<RoundingSum> sums;
  llvm::DenseSet<unsigned> kept;
  llvm::DenseMap<unsigned, SmallVector<unsigned, 4>> sitesOf;
  llvm::function_ref<double(unsigned)> price;
  SmallVector<CoveringNode> added;
};
} // namespace

Cover::Cover(ArrayRef<RoundingSite> all, ArrayRef<RoundingSum> sums,
             const llvm::DenseSet<unsigned> &kept,
             llvm::function_ref<double(unsigned)> price)
    : all(all), sums(sums.begin(), sums.end()), kept(kept), price(price) {
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

void Cover::take(ArrayRef<unsigned> nodes, size_t index) {
  llvm::DenseSet<unsigned> seen;
  for (unsigned node : nodes) {
    kept.insert(node);
    added.push_back({node, index});
  }
  for (unsigned node : nodes)
    for (unsigned index : sitesOf.find(node)->second)
      if (seen.insert(index).second && missing(*sites[index]).empty())
        for (auto [sum, part] : sites[index]->parts)
          sums[sum].value -= part;
}

SmallVector<CoveringNode> Cover::run() {
  while (!isMet()) {
    SmallVector<unsigned, 4> best;
    size_t index = 0;
    double most = 0;
    for (const RoundingSite *site : sites) {
      SmallVector<unsigned, 4> nodes = missing(*site);
      if (nodes.empty())
        continue;
      double paid = 0;
      for (unsigned node : nodes)
        paid += price(node);
      double each = gain(nodes) / paid;
      if (each > most) {
        most = each;
        index = site - all.data();
        best = std::move(nodes);
      }
    }
    if (best.empty())
      break;
    take(best, index);
  }
  return added;
}

SmallVector<CoveringNode>
mpopt::coverRoundings(ArrayRef<RoundingSite> sites, ArrayRef<RoundingSum> sums,
                      const llvm::DenseSet<unsigned> &kept,
                      llvm::function_ref<double(unsigned)> price) {
  return Cover(sites, sums, kept, price).run();
}
