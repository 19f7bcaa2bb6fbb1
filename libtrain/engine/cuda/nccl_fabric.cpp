#include "libtrain/engine/cuda/nccl_fabric.h"

#include <numeric>
#include <stdexcept>
#include <string>

#include <ATen/ATen.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "libtrain/engine/cuda/gpu_wait.h"

namespace titan::train {
namespace {

class NoTransfer : public Transfer {
 public:
  void wait() override {}
};

std::string name_of(const Channel& channel) {
  static const char* const kinds[] = {"forward", "backward", "exchange", "swap"};
  return std::to_string(channel.from) + "-" + std::to_string(channel.to) + "/" +
         kinds[static_cast<std::size_t>(channel.kind)];
}

// Thread blocks per operation. A receive starts before its tensor is sent, and occupies its blocks until then, so
// computing lacks them. 4 blocks transfer a stage's output in a small fraction of its compute time; gradients and
// weights need the whole link. Each block has buffers of about 10 MB per peer.
constexpr int kBlocksOfPipeline = 4, kBlocksOfExchange = 16;

}  // namespace

NcclFabric::NcclFabric(const FabricRequest& request, int device)
    : store_(request.store), rank_(request.rank), size_(request.size), use_(request.use) {
  options_.name = "group " + request.name;
  options_.global_rank = request.global_rank;
  options_.device = device;
  options_.most_blocks = use_ == FabricUse::kPipeline ? kBlocksOfPipeline : kBlocksOfExchange;
  options_.init_timeout = request.init_timeout;
  if (use_ == FabricUse::kPipeline)
    for (const Channel& channel : pipeline_channels(size_)) connect_channel(channel);
  options_.init_timeout = request.expect_timeout;
}

void NcclFabric::expect(const ExchangePeers& peers) {
  if ((peers.all_to_all || !peers.few.empty()) && all_ == nullptr) connect_all(peers);
  for (const int peer : peers.swaps) connect_channel(swap_channel(rank_, peer));
}

std::unique_ptr<NcclGroup> NcclFabric::connect(const std::string& name, int rank, int size) const {
  NcclGroupOptions options = options_;
  options.name += "/" + name;
  options.rank = rank;
  options.size = size;
  return NcclGroup::create(c10::make_intrusive<c10d::PrefixStore>(name, store_), std::move(options));
}

// NCCL connects two ranks at their first transfer, and blocks both hosts until the other rank arrives. So the first
// transfer is made here, where both ranks are known to arrive.
void NcclFabric::connect_all(const ExchangePeers& peers) {
  const c10::cuda::CUDAGuard here(static_cast<c10::DeviceIndex>(options_.device));
  all_ = connect("all", rank_, size_);
  std::vector<std::int64_t> one_each(static_cast<std::size_t>(size_), peers.all_to_all ? 1 : 0);
  for (const int peer : peers.few) one_each[static_cast<std::size_t>(peer)] = 1;
  const std::int64_t all = std::accumulate(one_each.begin(), one_each.end(), std::int64_t{0});
  const at::Tensor give = at::zeros({all}, at::kCUDA);
  at::Tensor take = at::zeros({all}, at::kCUDA);
  all_->start_all_to_all(take, one_each, give, one_each)->wait();
  wait_for_gpu();
}

void NcclFabric::connect_channel(const Channel& channel) {
  const bool from_here = channel.from == rank_;
  if ((!from_here && channel.to != rank_) || channels_.contains(channel)) return;
  const c10::cuda::CUDAGuard here(static_cast<c10::DeviceIndex>(options_.device));
  const at::Tensor give = at::zeros({1}, at::kCUDA);
  at::Tensor take = at::zeros({1}, at::kCUDA);
  NcclGroup& made = *channels_.emplace(channel, connect(name_of(channel), from_here ? 0 : 1, 2)).first->second;
  const auto moved = channel.kind == ChannelKind::kSwap ? made.swap(give, take, from_here ? 1 : 0)
                     : from_here                        ? made.send(give, 1)
                                                        : made.recv(take, 0);
  moved->wait();
  wait_for_gpu();
}

void NcclFabric::all_to_all(at::Tensor& out, const std::vector<std::int64_t>& out_splits, const at::Tensor& in,
                            const std::vector<std::int64_t>& in_splits) {
  if (all_ == nullptr) throw std::logic_error("an all-to-all that nobody expected in " + options_.name);
  all_->start_all_to_all(out, out_splits, in, in_splits)->wait();
}

// NCCL transfers nothing between ranks whose splits are zero.
void NcclFabric::exchange(at::Tensor& out, const std::vector<std::int64_t>& out_splits, const at::Tensor& in,
                          const std::vector<std::int64_t>& in_splits, std::uint64_t) {
  all_to_all(out, out_splits, in, in_splits);
}

std::unique_ptr<Transfer> NcclFabric::send(const at::Tensor& tensor, int dst, std::uint64_t tag) {
  if (tensor.numel() == 0) return std::make_unique<NoTransfer>();
  return channel({rank_, dst, channel_kind(tag)}).send(tensor, 1);
}

std::unique_ptr<Transfer> NcclFabric::recv(at::Tensor& tensor, int src, std::uint64_t tag) {
  if (tensor.numel() == 0) return std::make_unique<NoTransfer>();
  return channel({src, rank_, channel_kind(tag)}).recv(tensor, 0);
}

std::unique_ptr<Transfer> NcclFabric::swap(const at::Tensor& give, at::Tensor& take, int peer, std::uint64_t) {
  return channel(swap_channel(rank_, peer)).swap(give, take, rank_ < peer ? 1 : 0);
}

NcclGroup& NcclFabric::channel(const Channel& channel) {
  const auto found = channels_.find(channel);
  if (found == channels_.end()) throw std::logic_error("no channel " + name_of(channel) + " in " + options_.name);
  return *found->second;
}

}  // namespace titan::train
