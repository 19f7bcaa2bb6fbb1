#include "libtrain/engine/parallel/local_communicator.h"

#include <ATen/ATen.h>

namespace titan::train {

void LocalCommunicator::all_to_all(at::Tensor& out, const std::vector<std::int64_t>&, const at::Tensor& in,
                                   const std::vector<std::int64_t>&) {
  out.copy_(in);
}

namespace {

[[noreturn]] void no_peer(const char* what, int rank) {
  throw std::invalid_argument(std::string(what) + " rank " + std::to_string(rank) + " in a group of one rank");
}

}  // namespace

std::unique_ptr<Transfer> LocalCommunicator::send(const at::Tensor&, int dst, std::uint64_t) {
  no_peer("send to", dst);
}
std::unique_ptr<Transfer> LocalCommunicator::recv(at::Tensor&, int src, std::uint64_t) { no_peer("receive from", src); }
void LocalCommunicator::send_bytes(std::string_view, int dst, std::uint64_t) { no_peer("send to", dst); }
void LocalCommunicator::recv_bytes(std::span<char>, int src, std::uint64_t) { no_peer("receive from", src); }

}  // namespace titan::train
