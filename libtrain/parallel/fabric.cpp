#include "libtrain/parallel/fabric.h"

#include <utility>

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

std::unique_ptr<Transfer> Fabric::swap(const at::Tensor& give, at::Tensor& take, int peer, std::uint64_t tag) {
  auto receive = recv(take, peer, tag);
  return std::make_unique<TwoWays>(std::move(receive), send(give, peer, tag));
}

}  // namespace titan::train
