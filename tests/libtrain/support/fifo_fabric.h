#pragma once
// A fabric that has no tags, as NCCL has none: between two ranks, what is sent first is what is received first.
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "libtrain/parallel/fabric.h"

namespace titan::test {

class FifoFabric final : public train::Fabric {
 public:
  /// Which of the groups that lie side by side takes a transfer.
  using Channel = std::function<std::uint64_t(std::uint64_t tag)>;
  FifoFabric(std::unique_ptr<train::Fabric> inner, Channel channel)
      : inner_(std::move(inner)), channel_(std::move(channel)) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  void all_to_all(at::Tensor& out, const std::vector<std::int64_t>& out_splits, const at::Tensor& in,
                  const std::vector<std::int64_t>& in_splits) override {
    inner_->all_to_all(out, out_splits, in, in_splits);
  }
  std::unique_ptr<train::Transfer> send(const at::Tensor& tensor, int dst, std::uint64_t tag) override {
    return inner_->send(tensor, dst, next(sent_, dst, tag));
  }
  std::unique_ptr<train::Transfer> recv(at::Tensor& tensor, int src, std::uint64_t tag) override {
    return inner_->recv(tensor, src, next(received_, src, tag));
  }

 private:
  using Counts = std::map<std::pair<int, std::uint64_t>, std::uint64_t>;
  std::uint64_t next(Counts& counts, int peer, std::uint64_t tag) const {
    const std::uint64_t channel = channel_(tag);
    return channel << 24 | counts[{peer, channel}]++;
  }
  std::unique_ptr<train::Fabric> inner_;
  Channel channel_;
  Counts sent_, received_;
};

}  // namespace titan::test
