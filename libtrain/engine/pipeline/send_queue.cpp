#include "libtrain/engine/pipeline/send_queue.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace titan::train {

void SendQueue::send(Fabric& group, const at::Tensor& tensor, int to, std::uint64_t tag) {
  Send send{tag, tensor.detach().contiguous(), nullptr};
  send.transfer = group.send(send.tensor, to, tag);
  sends_.push_back(std::move(send));
}

void SendQueue::settle(std::uint64_t tag) {
  const auto found = std::ranges::find(sends_, tag, &Send::tag);
  if (found == sends_.end()) throw std::logic_error("an answer to a tensor that was never sent");
  found->transfer->wait();
  sends_.erase(found);
}

void SendQueue::keep_newest(std::size_t count) {
  while (sends_.size() > count) {
    sends_.front().transfer->wait();
    sends_.pop_front();
  }
}

}  // namespace titan::train
