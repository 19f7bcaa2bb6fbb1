#include "libtrain/engine/exchange/weight_copies.h"

#include <ATen/ATen.h>

#include "libtrain/engine/parallel/links/tags.h"
#include "recipe/plan/plan_values.h"

namespace titan::train {

WeightCopies::WeightCopies(const ExchangeSetup& setup) : setup_(setup), sent_(setup.exchange.parts.size()) {
  for (const StageParameter* parameter : setup.stages.parameters())
    weights_.push_back(parameter->compute.detach().view(-1));
}

void WeightCopies::send(std::size_t part) {
  setup_.run([this, part] { copy_rows(part); });
  if (setup_.lane) sent_[part] = setup_.lane->given();
  if (part + 1 < sent_.size() || !(setup_.tied.sends() || setup_.tied.receives())) return;
  // The table is sent over world.pp in this thread, not in the lane, since the executor uses world.pp too.
  if (setup_.lane) setup_.lane->wait_all();  // the executor's transfers are in the same group
  setup_.tied.transfer_table(setup_.tied.sends() ? weights_.back() : weights_.front(), setup_.rows);
}

void WeightCopies::copy_rows(std::size_t part) const {
  std::uint64_t tag = kCopyTags + part * kTagsOfPart;
  for (const StageExchange::Copies& copies : setup_.exchange.parts[part].copies) {
    const at::ScalarType type = copies.width == 4 ? at::kFloat : at::kBFloat16;
    tag = setup_.rows.copy(*setup_.world.dp, copies.plan, tag, type, weights_);
  }
  // A tied head on the same rank as its embedding has a copy of its own in bf16, or if it is on another of the rank's
  // stages. Otherwise both are one tensor.
  const StageParameter& head = *setup_.stages.parameters().back();
  if (!head.tied_head || setup_.tied.sends() || !(setup_.plan.bf16 || setup_.plan.chunks > 1)) return;
  const std::size_t embedding = setup_.summand_of.at(head.index);
  if (setup_.exchange.part_of[embedding] == part) weights_.back().copy_(weights_[embedding]);
}

void WeightCopies::await(std::uint32_t stage, std::size_t place) const {
  if (setup_.lane) setup_.lane->wait(sent_[setup_.exchange.part_of[setup_.first_summand.at(stage) + place]]);
}

void WeightCopies::await_all() const {
  if (setup_.lane) setup_.lane->wait(sent_.back());
}

}  // namespace titan::train
