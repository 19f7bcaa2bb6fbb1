#pragma once
// The group of one rank: no sockets, no c10d.
#include "libtrain/engine/parallel/communicator.h"

namespace titan::train {

/// Collectives copy or do nothing. Sends and receives throw std::invalid_argument, since there is no peer.
class LocalCommunicator : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void all_to_all(at::Tensor& out, const std::vector<std::int64_t>& out_splits, const at::Tensor& in,
                  const std::vector<std::int64_t>& in_splits) override;
  std::unique_ptr<Transfer> send(const at::Tensor& tensor, int dst, std::uint64_t tag) override;
  std::unique_ptr<Transfer> recv(at::Tensor& tensor, int src, std::uint64_t tag) override;
  void send_bytes(std::string_view bytes, int dst, std::uint64_t tag) override;
  void recv_bytes(std::span<char> bytes, int src, std::uint64_t tag) override;
  void sum(std::span<std::int64_t>) override {}
  void sum(std::span<double>) override {}
  std::vector<std::string> all_gather(const std::string& bytes) override { return {bytes}; }
  std::string broadcast(const std::string& bytes, int) override { return bytes; }
  void barrier() override {}
};

}  // namespace titan::train
