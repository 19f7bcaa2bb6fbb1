#include "libtrain/forecast/out_of_memory.h"

#include "ckpt/base/size_text.h"
#include "libtrain/forecast/fit_device.h"
#include "libtrain/forecast/forecast.h"

namespace titan::train {
namespace {

/// Only the memory counts here; rates decide which of several settings is named, and theirs are close enough.
constexpr const char* kLikeThis = "h100";

std::string way_out(const recipe::Config& config, const recipe::RunPlan& plan, std::uint64_t total) {
  auto device = recipe::device_figures(kLikeThis);
  if (!device.ok()) return "";
  device->memory_bytes = total;
  const FittingSearch found = settings_that_fit(config, plan, *device);
  if (found.fits.empty()) return "no setting that is known here would fit on these GPUs: more GPUs, or a smaller model";
  std::string words;
  for (const std::string& word : found.fits[0].words) words += (words.empty() ? "" : " ") + word;
  return words + " would need about " + ckpt::size_text(found.fits[0].rank_bytes) +
         (found.fits[0].same_curve ? "" : "; it shapes the curve, so a run that has begun needs --allow");
}

}  // namespace

ckpt::Status out_of_memory(const recipe::Config& config, const recipe::RunPlan& plan, int rank, std::uint32_t pp_rank,
                           const GpuMemory& memory) {
  ckpt::Status status =
      ckpt::failed("the GPU of rank " + std::to_string(rank) + " has no memory left: " + ckpt::size_text(memory.total) +
                   ", of which tensors hold " + ckpt::size_text(memory.tensors) + " and the allocator keeps " +
                   ckpt::size_text(memory.kept) + " in pieces");
  if (const auto work = rank_work(plan); work.ok()) {
    const RankMemory needs = rank_memory(plan, pp_rank, work->row(pp_rank), work->in_flight[pp_rank]);
    const auto add = [&](const char* what, std::uint64_t bytes) {
      status.causes.push_back(std::string(what) + ": about " + ckpt::size_text(bytes));
    };
    add("weights", needs.weights);
    add("gradients", needs.gradients);
    add("optimizer", needs.optimizer);
    add("activations", needs.activations);
    add("exchange and transfers", needs.exchange + needs.transfers);
    add("all of it, by plan", needs.total());
  }
  return status.with_hint(way_out(config, plan, memory.total));
}

}  // namespace titan::train
