#include "libtrain/cuda/self_test.h"

#include <ATen/ATen.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "libtrain/cuda/gpu_switches.h"
#include "libtrain/cuda/gpu_wait.h"
#include "libtrain/cuda/nccl_group.h"

namespace titan::train {

std::string try_gpu(int device) {
  NcclGroupOptions options;
  options.name = "group of this rank alone";
  options.device = device;
  const auto group = NcclGroup::create(c10::make_intrusive<c10d::HashStore>(), options);
  const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(device));
  const DeviceSettings settings{.index = device};
  set_gpu_switches(settings);
  const at::Tensor in = at::arange(1024, at::TensorOptions().device(at::kCUDA).dtype(at::kFloat));
  at::Tensor out = at::empty_like(in);
  const auto transfer = group->start_all_to_all(out, {1024}, in, {1024});
  transfer->wait();
  wait_for_gpu();
  if (!at::equal(in, out)) throw CommError("an all-to-all of one rank changed what it carried");
  group->close();
  std::string rows;
  for (const auto& [name, value] : gpu_rows(settings)) rows += name + " " + value + "\n";
  return rows;
}

}  // namespace titan::train
