#include "libtrain/cuda/nccl_group.h"

#include <cstdlib>
#include <utility>

#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "libtrain/start/gpu_checks.h"

namespace titan::train {
namespace {

using WorkPtr = c10::intrusive_ptr<c10d::Work>;

/// Read by the constructor of the group. What the user has set stands.
void set_nccl_variables() {
  // No thread that aborts the process: a dead rank is found by its heartbeat, and ends the run with a message.
  ::setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0", 0);
  ::setenv("TORCH_NCCL_ENABLE_MONITORING", "0", 0);
}

class WorkTransfer : public Transfer {
 public:
  WorkTransfer(WorkPtr work, std::vector<at::Tensor> tensors) : work_(std::move(work)), tensors_(std::move(tensors)) {}
  void wait() override { work_->wait(); }

 private:
  WorkPtr work_;
  std::vector<at::Tensor> tensors_;  // whose memory must stay until the GPU is done
};

/// c10d and NCCL speak by exceptions.
template <typename Operation>
auto speaking(const std::string& group, const Operation& operation) {
  try {
    return operation();
  } catch (const CommError&) {
    throw;
  } catch (const std::exception& error) {
    throw CommError("NCCL, " + group + ": " + error.what());
  }
}

}  // namespace

struct NcclGroup::Group {
  NcclGroupOptions options;
  c10::intrusive_ptr<c10d::ProcessGroupNCCL> nccl;

  std::unique_ptr<Transfer> transfer(WorkPtr work, std::vector<at::Tensor> tensors) const {
    return std::make_unique<WorkTransfer>(std::move(work), std::move(tensors));
  }
};

NcclGroup::NcclGroup(std::unique_ptr<Group> group) : group_(std::move(group)) {}

NcclGroup::~NcclGroup() { static_cast<void>(group_->nccl.release()); }

std::unique_ptr<NcclGroup> NcclGroup::create(const c10::intrusive_ptr<c10d::Store>& store, NcclGroupOptions options) {
  set_nccl_variables();
  try {
    const auto nccl_options = c10d::ProcessGroupNCCL::Options::create();
    nccl_options->timeout = options.init_timeout;
    nccl_options->group_name = options.name;
    const at::Device device(at::kCUDA, static_cast<at::DeviceIndex>(options.device));
    auto nccl = c10::make_intrusive<c10d::ProcessGroupNCCL>(store, options.rank, options.size, nccl_options);
    nccl->setBoundDeviceId(device);
    nccl->eagerConnectSingleDevice(device);
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

void NcclGroup::close() {
  if (group_->nccl) group_->nccl->shutdown();
  group_->nccl.reset();
}

}  // namespace titan::train
