#pragma once
// The worst case that a device fabric allows: a received tensor is garbage until it is waited for, and a sent tensor
// may be read at any time until then.
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "libtrain/engine/parallel/links/fabric.h"

namespace titan::test {

class LateFabric final : public train::Fabric {
 public:
  explicit LateFabric(std::unique_ptr<train::Fabric> inner) : inner_(std::move(inner)) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  void all_to_all(at::Tensor& out, const std::vector<std::int64_t>& out_splits, const at::Tensor& in,
                  const std::vector<std::int64_t>& in_splits) override {
    spoil(out);
    inner_->all_to_all(out, out_splits, in, in_splits);
  }
  std::unique_ptr<train::Transfer> send(const at::Tensor& tensor, int dst, std::uint64_t tag) override {
    return std::make_unique<Send>(tensor, inner_->send(tensor, dst, tag));
  }
  std::unique_ptr<train::Transfer> recv(at::Tensor& tensor, int src, std::uint64_t tag) override {
    spoil(tensor);
    at::Tensor arrives = at::empty_like(tensor);
    auto inner = inner_->recv(arrives, src, tag);
    return std::make_unique<Receive>(tensor, std::move(arrives), std::move(inner));
  }

 private:
  struct Send final : train::Transfer {
    Send(at::Tensor sent, std::unique_ptr<train::Transfer> inner)
        : tensor(std::move(sent)), then(tensor.clone()), inner(std::move(inner)) {}
    void wait() override {
      inner->wait();
      if (!same(tensor, then)) throw std::logic_error("what was sent changed before the send was waited for");
    }
    at::Tensor tensor, then;
    std::unique_ptr<train::Transfer> inner;
  };
  struct Receive final : train::Transfer {
    Receive(at::Tensor target, at::Tensor source, std::unique_ptr<train::Transfer> inner)
        : tensor(std::move(target)), then(tensor.clone()), arrives(std::move(source)), inner(std::move(inner)) {}
    void wait() override {
      if (!same(tensor, then)) throw std::logic_error("a buffer was written to while it was being received into");
      inner->wait();
      tensor.copy_(arrives);
    }
    at::Tensor tensor, then, arrives;
    std::unique_ptr<train::Transfer> inner;
  };
  /// All ones: NaN as fp32, bf16 and fp64.
  static void spoil(at::Tensor& tensor) { std::memset(tensor.mutable_data_ptr(), 0xff, tensor.nbytes()); }
  static bool same(const at::Tensor& a, const at::Tensor& b) {
    return std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0;
  }
  std::unique_ptr<train::Fabric> inner_;
};

}  // namespace titan::test
