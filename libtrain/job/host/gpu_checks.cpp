#include "libtrain/job/host/gpu_checks.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "ckpt/base/printed.h"
#include "libtrain/job/launch/library_error.h"

namespace titan::train {
namespace {

using ckpt::Status;

constexpr const char* kOnTheCpu = "to compute on the CPU: --training.device=cpu";
constexpr int kLeastMajor = 8;  // required for flash attention and bfloat16 products

Status no_device(const std::string& why) { return ckpt::invalid("no CUDA device: " + why).with_hint(kOnTheCpu); }

/// "0-3, 6".
std::string ranges(const std::vector<std::size_t>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    text += (text.empty() ? "" : ", ") + std::to_string(ranks[i]);
    if (end - i > 1) text += "-" + std::to_string(ranks[end - 1]);
    i = end;
  }
  return text;
}

/// Model names with their ranks, in order of the first rank.
std::string holders(const std::vector<std::string>& models, const std::string& who) {
  std::map<std::string, std::vector<std::size_t>> of_model;
  for (std::size_t i = 0; i < models.size(); ++i) of_model[models[i]].push_back(i);
  std::vector<std::pair<std::string, std::vector<std::size_t>>> rows(of_model.begin(), of_model.end());
  std::ranges::sort(rows, {}, [](const auto& row) { return row.second.front(); });
  std::string text;
  for (const auto& [model, which] : rows)
    text += (text.empty() ? "" : "; ") + model + " on " + who + (which.size() == 1 ? " " : "s ") + ranges(which);
  return text;
}

bool all_alike(const std::vector<std::string>& models) {
  return std::ranges::adjacent_find(models, std::ranges::not_equal_to()) == models.end();
}

}  // namespace

// "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (...)"
std::string driver_version(std::string_view line) {
  constexpr std::string_view kDigits = "0123456789.", kBefore = "Module";
  const std::size_t module = line.find(kBefore);
  if (module == std::string_view::npos) return {};
  line.remove_prefix(module + kBefore.size());
  while (!line.empty()) {
    const std::string_view word = line.substr(0, line.find_first_of(" \t\n"));
    const bool digits = word.find_first_not_of(kDigits) == std::string_view::npos;
    if (digits && word.find('.') != std::string_view::npos) return std::string(word);
    line.remove_prefix(std::min(word.size() + 1, line.size()));
  }
  return {};
}

std::string cuda_version(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

bool driver_serves(const GpuFacts& facts) { return facts.driver > 0 && facts.driver / 1000 >= facts.runtime / 1000; }

Status check_gpus(const GpuFacts& facts, int local_ranks) {
  if (facts.driver == 0) return no_device("there is no NVIDIA driver (libcuda.so.1) on this host");
  if (!driver_serves(facts))
    return no_device("the NVIDIA driver is for CUDA " + cuda_version(facts.driver) + ", LibTorch needs CUDA " +
                     std::to_string(facts.runtime / 1000))
        .with_hint("install a newer driver, or " + std::string(kOnTheCpu));
  if (facts.gpus.empty())
    return no_device("the driver shows none" + (facts.no_gpu_reason.empty() ? "" : " (" + facts.no_gpu_reason + ")"))
        .with_hint("look at nvidia-smi and CUDA_VISIBLE_DEVICES; " + std::string(kOnTheCpu));
  const std::size_t ranks = static_cast<std::size_t>(local_ranks);
  if (ranks > facts.gpus.size())
    return ckpt::invalid(ckpt::counted(ranks, "rank") + " on this host, and " +
                         ckpt::counted(facts.gpus.size(), "GPU") + ": each rank needs one of its own")
        .with_hint("start --nproc " + std::to_string(facts.gpus.size()) +
                   " ranks here, or look at CUDA_VISIBLE_DEVICES; " + std::string(kOnTheCpu));
  std::vector<std::string> models;
  for (std::size_t i = 0; i < ranks; ++i) {
    const Gpu& gpu = facts.gpus[i];
    if (gpu.major < kLeastMajor)
      return ckpt::invalid("GPU " + std::to_string(i) + ", " + gpu.name + ", has compute capability " +
                           std::to_string(gpu.major) + "." + std::to_string(gpu.minor) +
                           "; training needs 8.0 or newer (A100, H100, ...)")
          .with_hint(kOnTheCpu);
    models.push_back(gpu.name);
  }
  if (all_alike(models)) return ckpt::ok_status();
  return ckpt::invalid("the GPUs of this host are not alike: " + holders(models, "GPU"))
      .with_hint("name GPUs of one model in CUDA_VISIBLE_DEVICES: results of two models differ in their bits");
}

Status check_module(const GpuFacts& facts, const std::string& torch) {
  if (facts.torch == torch) return ckpt::ok_status();
  return ckpt::invalid("libtitan_cuda.so was built for LibTorch " + facts.torch + ", and titan-train runs with " +
                       torch)
      .with_hint("build both together: cmake --build build");
}

Status check_one_model(const std::vector<std::string>& models) {
  if (all_alike(models)) return ckpt::ok_status();
  return ckpt::invalid("the ranks' GPUs are not alike: " + holders(models, "rank"))
      .with_hint("start the run on devices of one model, with one training.device: the bits of two differ");
}

std::string drivers_differ(const std::vector<std::string>& drivers) {
  if (all_alike(drivers)) return {};
  return "the ranks' GPU drivers are not alike: " + holders(drivers, "rank") + "; the checkpoint names that of rank 0";
}

Status check_own_gpus(const std::vector<std::string>& units) {
  std::map<std::string, std::vector<std::size_t>> ranks_of;
  for (std::size_t rank = 0; rank < units.size(); ++rank)
    if (!units[rank].empty()) ranks_of[units[rank]].push_back(rank);
  for (const auto& [unit, ranks] : ranks_of)
    if (ranks.size() > 1)
      return ckpt::invalid("ranks " + ranges(ranks) + " have one GPU (" + unit + "): each rank needs one of its own")
          .with_hint(
              "set LOCAL_RANK and LOCAL_WORLD_SIZE for every task, or show each its own in CUDA_VISIBLE_DEVICES");
  return ckpt::ok_status();
}

Status check_workspace(const char* given) {
  const std::string_view value = given == nullptr ? ":4096:8" : given;
  if (value == ":4096:8" || value == ":16:8") return ckpt::ok_status();
  return ckpt::invalid("CUBLAS_WORKSPACE_CONFIG is \"" + std::string(value) +
                       "\"; with debug.deterministic it must be :4096:8 or :16:8")
      .with_hint("unset it, or debug.deterministic = false, which gives up equal bits");
}

bool gpu_is_shared() { return std::getenv("TITAN_SHARE_GPU") != nullptr; }

int gpu_of_rank(const GpuFacts& facts, int local_rank) { return facts.gpus.size() == 1 ? 0 : local_rank; }

Status nccl_failure(const std::string& group, int rank, const std::string& what) {
  return library_failure("NCCL cannot connect rank " + std::to_string(rank) + " with the " + group, what)
      .with_hint(
          "NCCL_DEBUG=INFO shows what it tries; NCCL_SOCKET_IFNAME names the network interface, NCCL_IB_DISABLE=1 "
          "leaves InfiniBand out");
}

}  // namespace titan::train
