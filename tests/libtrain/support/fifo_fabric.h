#pragma once
// A fabric without tags, like NCCL: between two ranks, tensors are received in the order in which they are sent.
#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "libtrain/engine/parallel/links/channels.h"
#include "libtrain/engine/parallel/links/fabric.h"

namespace titan::test {

class FifoFabric final : public train::Fabric {
 public:
  FifoFabric(std::unique_ptr<train::Fabric> inner, train::FabricUse use) : inner_(std::move(inner)), use_(use) {
    if (use == train::FabricUse::kPipeline) made_ = train::pipeline_channels(inner_->size());
  }

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  void expect(const train::ExchangePeers& peers) override {
    few_ = peers.few;
    for (const int peer : peers.swaps) made_.push_back(train::swap_channel(rank(), peer));
  }
  void exchange(at::Tensor& out, const std::vector<std::int64_t>& out_splits, const at::Tensor& in,
                const std::vector<std::int64_t>& in_splits, std::uint64_t tag) override {
    for (int peer = 0; peer < size(); ++peer)
      if (peer != rank() && std::ranges::find(few_, peer) == few_.end() &&
          (out_splits[static_cast<std::size_t>(peer)] > 0 || in_splits[static_cast<std::size_t>(peer)] > 0))
        throw std::logic_error("an exchange with a rank that nobody expected");
    inner_->exchange(out, out_splits, in, in_splits, tag);
  }
  void all_to_all(at::Tensor& out, const std::vector<std::int64_t>& out_splits, const at::Tensor& in,
                  const std::vector<std::int64_t>& in_splits) override {
    if (use_ != train::FabricUse::kExchange) throw std::logic_error("an all-to-all in a pipeline");
    inner_->all_to_all(out, out_splits, in, in_splits);
  }
  std::unique_ptr<train::Transfer> send(const at::Tensor& tensor, int dst, std::uint64_t tag) override {
    return inner_->send(tensor, dst, next({rank(), dst, train::channel_kind(tag)}));
  }
  std::unique_ptr<train::Transfer> recv(at::Tensor& tensor, int src, std::uint64_t tag) override {
    return inner_->recv(tensor, src, next({src, rank(), train::channel_kind(tag)}));
  }
  std::unique_ptr<train::Transfer> swap(const at::Tensor& give, at::Tensor& take, int peer, std::uint64_t) override {
    return inner_->swap(give, take, peer, next(train::swap_channel(rank(), peer)));
  }

 private:
  /// The place of the next transfer in its channel, which is one of those that the group has made.
  std::uint64_t next(const train::Channel& channel) {
    if (std::ranges::find(made_, channel) == made_.end()) throw std::logic_error("a channel that was not made");
    return static_cast<std::uint64_t>(channel.kind) << 24 | used_[channel]++;
  }
  std::unique_ptr<train::Fabric> inner_;
  train::FabricUse use_;
  std::vector<int> few_;
  std::vector<train::Channel> made_;
  std::map<train::Channel, std::uint64_t> used_;
};

}  // namespace titan::test
