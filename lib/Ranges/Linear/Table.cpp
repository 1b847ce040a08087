//===- Table.cpp - Steps of rows of a constant table
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An embedding is a row of its table, whichever the index is: a form of its
// elements is at most the largest of the forms of the rows. The hull of the
// elements by column holds numbers of different rows together.
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"
#include "Step.h"

#include "mpopt/Dialect/Ops/IndexingOps.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::linear;

namespace {
class TableStep : public Step {
public:
  TableStep(std::vector<double> table, size_t width)
      : table(std::move(table)), width(width) {
    for (double number : this->table)
      most = std::max(most, std::fabs(number));
  }

  bool isExact() const override { return true; }
  bool isContraction() const override { return true; }
  size_t held() const override { return table.size(); }
  void trace(const Box &box, Trace &trace) const override {
    trace.note(box.first.back());
  }
  double cost(const Box &box) const override {
    return costOf(box, double(table.size() / width));
  }
  void pull(const Part &part, Forms &forms) const override;

private:
  std::vector<double> table;
  size_t width;
  double most = 0;
};
} // namespace

void TableStep::pull(const Part &part, Forms &forms) const {
  // Rows of the table that are multiplied at once.
  constexpr size_t kRows = 32;
  std::vector<double> values(kRows * forms.rows), largest(forms.rows);
  size_t columns = size_t(part.box.size.back()), all = table.size() / width;
  part.box.forEach([&](ArrayRef<int64_t> index, int64_t at) {
    const double *from = part.numbers.data() + size_t(at) * forms.rows;
    forms.lose(from, kSlack * most);
    if (index.back() != part.box.first.back())
      return;
    std::fill(largest.begin(), largest.end(), -kInfinity);
    for (size_t row = 0; row < all; row += kRows) {
      size_t count = std::min(kRows, all - row);
      std::fill(values.begin(), values.end(), 0);
      WeightedSum{from,
                  columns,
                  forms.rows,
                  values.data(),
                  count,
                  forms.rows,
                  table.data() + row * width + size_t(index.back()),
                  1,
                  width,
                  forms.rows}
          .add();
      for (size_t i = 0; i < count * forms.rows; ++i)
        largest[i % forms.rows] = std::max(largest[i % forms.rows], values[i]);
    }
    for (size_t row = 0; row < forms.rows; ++row)
      forms.constant[row] += largest[row];
  });
}

/// Indices beyond the table are errors of the model.
std::unique_ptr<Step> linear::makeTable(OpResult result, TransferContext &ctx) {
  Operation *op = result.getOwner();
  auto gather = dyn_cast<mp::GatherOp>(op);
  if (!isa<mp::EmbeddingOp>(op) && !(gather && gather.getAxis() == 0))
    return nullptr;
  std::optional<WeightView> view = ctx.weights(op->getOperand(0));
  if (!view || view->shape.size() != 2 || view->size() == 0 ||
      !getShape(op->getOperand(1)) || view->splat)
    return nullptr;
  std::optional<std::vector<double>> numbers = readWeights(view);
  if (!numbers)
    return nullptr;
  return std::make_unique<TableStep>(std::move(*numbers),
                                     size_t(view->shape[1]));
}
