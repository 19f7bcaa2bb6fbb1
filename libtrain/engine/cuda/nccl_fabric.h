#pragma once
// Transfers between GPUs over NCCL. A group of ranks has one NCCL communicator for all-to-all, and one of two ranks for
// each channel (channels.h). Part of libtitan_cuda.so.
#include <map>
#include <memory>
#include <vector>

#include "libtrain/engine/cuda/nccl_group.h"
#include "libtrain/engine/parallel/fabric_maker.h"
#include "libtrain/engine/parallel/links/channels.h"

namespace titan::train {

class NcclFabric : public Fabric {
 public:
  /// For FabricUse::kPipeline: connects to all peers, and sends one element through each channel. For kExchange:
  /// expect() makes the connections. \error throws CommError
  NcclFabric(const FabricRequest& request, int device);

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void expect(const ExchangePeers& peers) override;
  void all_to_all(at::Tensor& out, const std::vector<std::int64_t>& out_splits, const at::Tensor& in,
                  const std::vector<std::int64_t>& in_splits) override;
  void exchange(at::Tensor& out, const std::vector<std::int64_t>& out_splits, const at::Tensor& in,
                const std::vector<std::int64_t>& in_splits, std::uint64_t tag) override;
  std::unique_ptr<Transfer> send(const at::Tensor& tensor, int dst, std::uint64_t tag) override;
  std::unique_ptr<Transfer> recv(at::Tensor& tensor, int src, std::uint64_t tag) override;
  std::unique_ptr<Transfer> swap(const at::Tensor& give, at::Tensor& take, int peer, std::uint64_t tag) override;

 private:
  std::unique_ptr<NcclGroup> connect(const std::string& name, int rank, int size) const;
  /// Creates the communicator of all ranks, and sends one element between each pair of ranks that will exchange.
  void connect_all(const ExchangePeers& peers);
  void connect_channel(const Channel& channel);
  NcclGroup& channel(const Channel& channel);

  NcclGroupOptions options_;  ///< of all communicators, except name, rank and size
  c10::intrusive_ptr<c10d::Store> store_;
  int rank_, size_;
  FabricUse use_;
  std::unique_ptr<NcclGroup> all_;  ///< all ranks; null if expect() announced no all-to-all
  std::map<Channel, std::unique_ptr<NcclGroup>> channels_;
};

}  // namespace titan::train
