#include "libtrain/engine/cuda/nccl_group.h"

#include <exception>
#include <stdexcept>
#include <utility>

#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "libtrain/engine/cuda/gpu_wait.h"
#include "libtrain/job/host/gpu_checks.h"
#include "libtrain/job/launch/library_error.h"

namespace titan::train {
namespace {

using WorkPtr = c10::intrusive_ptr<c10d::Work>;

// LibTorch assigns streams to groups round-robin from a pool of 32. Two groups on one stream could deadlock. And a GPU
// has 32 hardware queues (CUDA_DEVICE_MAX_CONNECTIONS); the run, its lane and its savers use some of them.
constexpr int kMostGroups = 28;

/// Calls `operation` and converts exceptions of c10d and NCCL to CommError.
template <typename Operation>
auto speaking(const std::string& group, const Operation& operation) {
  try {
    return operation();
  } catch (const CommError&) {
    throw;
  } catch (const std::exception& error) {
    throw CommError(library_failure("NCCL, " + group, error.what()));
  }
}

class WorkTransfer : public Transfer {
 public:
  WorkTransfer(std::string group, WorkPtr work, std::vector<at::Tensor> tensors)
      : group_(std::move(group)), work_(std::move(work)), tensors_(std::move(tensors)) {}
  void wait() override {
    if (!work_) return;
    speaking(group_, [&] { return work_->wait(); });
    // A copy of the handle that holds no references to the tensors, so that their memory can be reused as soon as
    // nothing else holds them.
    using Work = c10d::ProcessGroupNCCL::WorkNCCL;
    const auto watched = c10::make_intrusive<Work>(static_cast<const Work&>(*work_));
    note_transfer(group_, [group = group_, watched] {
      if (watched->isCompleted() && watched->exception())
        speaking(group, [&] { std::rethrow_exception(watched->exception()); });
    });
  }

 private:
  std::string group_;
  WorkPtr work_;                     // null: there were no elements to transfer
  std::vector<at::Tensor> tensors_;  // their memory must stay allocated until the GPU is done
};

}  // namespace

struct NcclGroup::Group {
  NcclGroupOptions options;
  c10::intrusive_ptr<c10d::ProcessGroupNCCL> nccl;

  std::unique_ptr<Transfer> transfer(WorkPtr work, std::vector<at::Tensor> tensors) const {
    return std::make_unique<WorkTransfer>(options.name, std::move(work), std::move(tensors));
  }
};

NcclGroup::NcclGroup(std::unique_ptr<Group> group) : group_(std::move(group)) {}

NcclGroup::~NcclGroup() { static_cast<void>(group_->nccl.release()); }

std::unique_ptr<NcclGroup> NcclGroup::create(const c10::intrusive_ptr<c10d::Store>& store, NcclGroupOptions options) {
  try {
    static int groups = 0;
    if (++groups > kMostGroups)
      throw std::runtime_error("this rank would have more than " + std::to_string(kMostGroups) +
                               " groups of GPUs; parallelism.gradient_exchange = \"late\" or \"always\" needs fewer");
    // Only groups use high-priority streams.
    const auto nccl_options = c10d::ProcessGroupNCCL::Options::create(/*is_high_priority_stream=*/true);
    nccl_options->timeout = options.init_timeout;
    nccl_options->group_name = options.name;
    nccl_options->config.maxCTAs = options.most_blocks;
    nccl_options->config.blocking = 1;
    const at::Device device(at::kCUDA, static_cast<at::DeviceIndex>(options.device));
    auto nccl = c10::make_intrusive<c10d::ProcessGroupNCCL>(store, options.rank, options.size, nccl_options);
    nccl->setBoundDeviceId(device);
    nccl->eagerConnectSingleDevice(device);
    // init_timeout was for connecting. gpu_wait.h limits how long a transfer may take, so c10d's limit is a year.
    nccl->setTimeout(std::chrono::hours(24 * 365));
    auto group = std::make_unique<Group>();
    group->options = std::move(options);
    group->nccl = std::move(nccl);
    return std::unique_ptr<NcclGroup>(new NcclGroup(std::move(group)));
  } catch (const std::exception& error) {
    throw CommError(nccl_failure(options.name, options.global_rank, error.what()));
  }
}

int NcclGroup::rank() const { return group_->options.rank; }
int NcclGroup::size() const { return group_->options.size; }

std::unique_ptr<Transfer> NcclGroup::start_all_to_all(at::Tensor& out, const std::vector<std::int64_t>& out_splits,
                                                      const at::Tensor& in,
                                                      const std::vector<std::int64_t>& in_splits) {
  return speaking(group_->options.name, [&] {
    at::Tensor from = in;
    std::vector<std::int64_t> rows_out = out_splits, rows_in = in_splits;
    return group_->transfer(group_->nccl->alltoall_base(out, from, rows_out, rows_in), {out, from});
  });
}

std::unique_ptr<Transfer> NcclGroup::send(const at::Tensor& tensor, int dst) {
  return speaking(group_->options.name, [&] {
    std::vector<at::Tensor> row{tensor};
    return group_->transfer(group_->nccl->send(row, dst, 0), {tensor});
  });
}

std::unique_ptr<Transfer> NcclGroup::recv(at::Tensor& tensor, int src) {
  return speaking(group_->options.name, [&] {
    std::vector<at::Tensor> row{tensor};
    return group_->transfer(group_->nccl->recv(row, src, 0), {tensor});
  });
}

std::unique_ptr<Transfer> NcclGroup::swap(const at::Tensor& give, at::Tensor& take, int peer) {
  return speaking(group_->options.name, [&] {
    std::vector<at::Tensor> out{give}, in{take};
    if (give.numel() == 0 && take.numel() == 0) return group_->transfer(nullptr, {});
    if (give.numel() == 0) return group_->transfer(group_->nccl->recv(in, peer, 0), in);
    if (take.numel() == 0) return group_->transfer(group_->nccl->send(out, peer, 0), out);
    group_->nccl->startCoalescing();
    const WorkPtr sent = group_->nccl->send(out, peer, 0), received = group_->nccl->recv(in, peer, 0);
    return group_->transfer(group_->nccl->endCoalescing(), {give, take});
  });
}

void NcclGroup::close() {
  if (group_->nccl) group_->nccl->shutdown();
  group_->nccl.reset();
}

}  // namespace titan::train
