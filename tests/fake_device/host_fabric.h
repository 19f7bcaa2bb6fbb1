#pragma once
// Transfers tensors of the fake device over fabrics for host tensors.
#include <memory>

#include "libtrain/engine/parallel/communicator.h"
#include "tests/fake_device/fake_alias.h"

namespace titan::test {

class HostFabric final : public train::Fabric {
 public:
  explicit HostFabric(std::unique_ptr<train::Fabric> inner) : inner_(std::move(inner)) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  void all_to_all(at::Tensor& out, const std::vector<std::int64_t>& out_splits, const at::Tensor& in,
                  const std::vector<std::int64_t>& in_splits) override {
    at::Tensor to = host_alias(out);
    inner_->all_to_all(to, out_splits, host_alias(in), in_splits);
  }
  std::unique_ptr<train::Transfer> send(const at::Tensor& tensor, int dst, std::uint64_t tag) override {
    auto way = std::make_unique<Way>(host_alias(tensor));
    way->inner = inner_->send(way->alias, dst, tag);
    return way;
  }
  std::unique_ptr<train::Transfer> recv(at::Tensor& tensor, int src, std::uint64_t tag) override {
    auto way = std::make_unique<Way>(host_alias(tensor));
    way->inner = inner_->recv(way->alias, src, tag);
    return way;
  }

 private:
  struct Way final : train::Transfer {
    explicit Way(at::Tensor tensor) : alias(std::move(tensor)) {}
    void wait() override { inner->wait(); }
    at::Tensor alias;
    std::unique_ptr<train::Transfer> inner;  // ends first
  };
  std::unique_ptr<train::Fabric> inner_;
};

}  // namespace titan::test
