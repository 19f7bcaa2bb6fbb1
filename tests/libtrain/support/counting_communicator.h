#pragma once
// A fabric that counts the bytes of tensors that its rank sends and receives; self-sends do not count.
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "libtrain/engine/parallel/links/fabric.h"

namespace titan::test {

class CountingCommunicator : public train::Fabric {
 public:
  /// `all`, if given, counts what all ranks send.
  explicit CountingCommunicator(std::unique_ptr<train::Fabric> inner, std::atomic<std::int64_t>* all = nullptr)
      : inner_(std::move(inner)), all_(all) {}

  std::int64_t sent() const { return sent_; }
  std::int64_t received() const { return received_; }

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  void all_to_all(at::Tensor& out, const std::vector<std::int64_t>& out_splits, const at::Tensor& in,
                  const std::vector<std::int64_t>& in_splits) override {
    for (int rank = 0; rank < size(); ++rank) {
      if (rank == inner_->rank()) continue;
      add_sent(in_splits[static_cast<std::size_t>(rank)] * in.element_size());
      received_ += out_splits[static_cast<std::size_t>(rank)] * out.element_size();
    }
    inner_->all_to_all(out, out_splits, in, in_splits);
  }
  std::unique_ptr<train::Transfer> send(const at::Tensor& tensor, int dst, std::uint64_t tag) override {
    add_sent(static_cast<std::int64_t>(tensor.nbytes()));
    return inner_->send(tensor, dst, tag);
  }
  std::unique_ptr<train::Transfer> recv(at::Tensor& tensor, int src, std::uint64_t tag) override {
    received_ += static_cast<std::int64_t>(tensor.nbytes());
    return inner_->recv(tensor, src, tag);
  }

 private:
  void add_sent(std::int64_t bytes) {
    sent_ += bytes;
    if (all_ != nullptr) *all_ += bytes;
  }
  std::unique_ptr<train::Fabric> inner_;
  std::atomic<std::int64_t>* all_;
  std::int64_t sent_ = 0, received_ = 0;
};

}  // namespace titan::test
