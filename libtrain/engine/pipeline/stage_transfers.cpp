#include "libtrain/engine/pipeline/stage_transfers.h"

#include <stdexcept>
#include <utility>

#include "libtrain/engine/parallel/links/tags.h"

namespace titan::train {

StageTransfers::StageTransfers(const World& world, std::vector<std::uint32_t> rank_of, Form form)
    : world_(world), rank_of_(std::move(rank_of)), form_(std::move(form)) {
  if (std::uint64_t{rank_of_.size()} * form_.share.count > kFirstExchangeTag / 2)
    throw std::length_error(std::to_string(rank_of_.size()) + " stages with " + std::to_string(form_.share.count) +
                            " micro-batches each need more tags than there are");
}

// One tag per sending stage, micro-batch and direction, so that transfers in progress never share one.
std::uint64_t StageTransfers::tag_of(const TransferPlace& place) const {
  return (std::uint64_t{place.from()} * form_.share.count + place.micro_batch) * 2 + (place.backward ? 1 : 0);
}

std::string StageTransfers::description_of(const TransferPlace& place) const {
  return "stage " + std::to_string(place.stage) + " waited for " +
         (place.backward ? "the gradient" : "the activations") + " of micro-batch " +
         std::to_string(form_.share.at(place.micro_batch)) + " from stage " + std::to_string(place.from()) +
         " on pipeline rank " + std::to_string(rank_of(place.from()));
}

void StageTransfers::post_receive(const TransferPlace& place) {
  Incoming incoming{buffers_.take(form_.shape, form_.type), nullptr};
  incoming.transfer = world_.pp->recv(incoming.tensor, rank_of(place.from()), tag_of(place));
  incoming_.emplace(place, std::move(incoming));
}

bool StageTransfers::is_posted(const TransferPlace& place) const {
  const auto found = incoming_.find(place);
  return found != incoming_.end() && found->second.transfer != nullptr;
}

at::Tensor StageTransfers::take(const TransferPlace& place) {
  const auto found = incoming_.find(place);
  if (found == incoming_.end()) throw std::logic_error("pipeline table uses a tensor that was never received");
  if (found->second.transfer) {
    try {
      found->second.transfer->wait();
    } catch (CommError& error) {
      error.status.causes.push_back(description_of(place));
      throw;
    }
  }
  at::Tensor tensor = std::move(found->second.tensor);
  incoming_.erase(found);
  return tensor;
}

void StageTransfers::hand_over(const TransferPlace& place, at::Tensor tensor) {
  if (is_here(place.stage)) {
    incoming_.emplace(place, Incoming{std::move(tensor), nullptr});
  } else {
    to_send_.emplace(place, std::move(tensor));
  }
}

void StageTransfers::send(const TransferPlace& place) {
  const auto node = to_send_.extract(place);
  if (node.empty()) throw std::logic_error("pipeline table sends a tensor that nobody computed");
  sends(place.backward).send(*world_.pp, node.mapped(), rank_of(place.stage), tag_of(place));
}

void StageTransfers::settle(const TransferPlace& place) { sends(place.backward).settle(tag_of(place)); }

}  // namespace titan::train
