#include "libtrain/engine/parallel/links/fabric.h"

#include <utility>

#include <ATen/ATen.h>

namespace titan::train {
namespace {

class TwoWays final : public Transfer {
 public:
  TwoWays(std::unique_ptr<Transfer> receive, std::unique_ptr<Transfer> send)
      : receive_(std::move(receive)), send_(std::move(send)) {}
  void wait() override {
    receive_->wait();
    send_->wait();
  }

 private:
  std::unique_ptr<Transfer> receive_, send_;
};

}  // namespace

void Fabric::exchange(at::Tensor& out, const std::vector<std::int64_t>& out_splits, const at::Tensor& in,
                      const std::vector<std::int64_t>& in_splits, std::uint64_t tag) {
  std::vector<at::Tensor> parts;
  std::vector<std::unique_ptr<Transfer>> transfers;
  std::int64_t from = 0, to = 0;
  at::Tensor own;
  for (int peer = 0; peer < size(); to += out_splits[static_cast<std::size_t>(peer++)]) {
    const std::int64_t length = out_splits[static_cast<std::size_t>(peer)];
    if (length == 0) continue;
    parts.push_back(out.narrow(0, to, length));
    if (peer == rank()) {
      own = parts.back();
    } else {
      transfers.push_back(recv(parts.back(), peer, tag));
    }
  }
  for (int peer = 0; peer < size(); from += in_splits[static_cast<std::size_t>(peer++)]) {
    const std::int64_t length = in_splits[static_cast<std::size_t>(peer)];
    if (length == 0) continue;
    parts.push_back(in.narrow(0, from, length));
    if (peer == rank()) {
      own.copy_(parts.back());
    } else {
      transfers.push_back(send(parts.back(), peer, tag));
    }
  }
  for (const auto& transfer : transfers) transfer->wait();
}

std::unique_ptr<Transfer> Fabric::swap(const at::Tensor& give, at::Tensor& take, int peer, std::uint64_t tag) {
  auto receive = recv(take, peer, tag);
  return std::make_unique<TwoWays>(std::move(receive), send(give, peer, tag));
}

}  // namespace titan::train
