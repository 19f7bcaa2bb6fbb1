#include "libtrain/dist/local_communicator.h"

#include <ATen/ATen.h>

namespace titan::train {

void LocalCommunicator::all_to_all(at::Tensor& out, const std::vector<std::int64_t>&, const at::Tensor& in,
                                   const std::vector<std::int64_t>&) {
  out.copy_(in);
}

std::unique_ptr<Transfer> LocalCommunicator::send(const at::Tensor&, int dst, std::uint64_t) {
  throw std::invalid_argument("send to rank " + std::to_string(dst) + " in a group of one rank");
}

std::unique_ptr<Transfer> LocalCommunicator::recv(at::Tensor&, int src, std::uint64_t) {
  throw std::invalid_argument("receive from rank " + std::to_string(src) + " in a group of one rank");
}

}  // namespace titan::train
