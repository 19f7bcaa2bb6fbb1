#include "libtrain/engine/exchange/tied_head.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "libtrain/engine/parallel/links/tags.h"
#include "recipe/plan/plan_values.h"

namespace titan::train {

int TiedHead::first_rank() const { return static_cast<int>(plan_.rank_of(0)); }
int TiedHead::last_rank() const { return static_cast<int>(plan_.rank_of(plan_.stage_count() - 1)); }

// Both ranks have the same micro-batches, and therefore the same number of tree nodes.
void TiedHead::send_sums(const std::vector<at::Tensor>& nodes) const {
  std::uint64_t tag = kTiedGradientTags;
  for (const at::Tensor& node : nodes) world_.pp->send(node.view(-1), first_rank(), tag++)->wait();
}

std::vector<at::Tensor> TiedHead::receive_sums(const std::vector<at::Tensor>& of_embedding) const {
  std::uint64_t tag = kTiedGradientTags;
  std::vector<at::Tensor> nodes;
  for (const at::Tensor& own : of_embedding) {
    at::Tensor received = at::empty_like(own);
    world_.pp->recv(received, last_rank(), tag++)->wait();
    nodes.push_back(std::move(received));
  }
  return nodes;
}

void TiedHead::transfer_table(const at::Tensor& table, const RowExchange& rows) const {
  const std::int64_t message = exchange_.tied_message;
  std::uint64_t tag = kTiedWeightTags;
  for (std::int64_t from = 0; from < table.numel(); from += message, ++tag) {
    at::Tensor elements = table.narrow(0, from, std::min(message, table.numel() - from));
    if (sends()) {
      world_.pp->recv(elements, first_rank(), tag)->wait();
    } else {
      if (plan_.bf16) elements = rows.buffer(0, elements.numel(), at::kBFloat16).copy_(elements);
      world_.pp->send(elements, last_rank(), tag)->wait();
    }
  }
}

}  // namespace titan::train
