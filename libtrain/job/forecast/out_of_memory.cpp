#include "libtrain/job/forecast/out_of_memory.h"

#include "ckpt/base/size_text.h"
#include "ckpt/base/text.h"
#include "libtrain/job/forecast/fit_device.h"
#include "libtrain/job/forecast/forecast.h"

namespace titan::train {
namespace {

/// Only memory matters here; rates decide which of several settings is named, and this GPU's are close enough.
constexpr const char* kLikeThis = "h100";

/// Settings that need at most `most` bytes.
std::string way_out(const recipe::Config& config, const recipe::RunPlan& plan, std::uint64_t most, bool on_gpu) {
  auto device = recipe::device_figures(kLikeThis);
  if (!device.ok()) return "";
  device->memory_bytes = most;
  if (!on_gpu) device->reserve_bytes = 0;
  const FittingSearch found = settings_that_fit(config, plan, *device);
  if (found.fits.empty()) return "no setting that is known here would be enough: more ranks, or a smaller model";
  return ckpt::joined(found.fits[0].words, " ") + " would need about " + ckpt::size_text(found.fits[0].rank_bytes) +
         (found.fits[0].same_curve ? "" : "; it shapes the curve, so that a run that has begun needs --allow");
}

}  // namespace

ckpt::Status out_of_memory(const recipe::Config& config, const recipe::RunPlan& plan, std::uint32_t pp_rank,
                           const MemoryUse& use, const std::string& what) {
  ckpt::Status status = ckpt::failed(use.owner + " has no memory left: tensors hold " + ckpt::size_text(use.tensors) +
                                     (use.total > 0 ? " of " + ckpt::size_text(use.total) : "") +
                                     (use.kept > 0 ? ", the allocator keeps " + ckpt::size_text(use.kept) : ""));
  status.causes.push_back(what.substr(0, what.find('\n')));
  const auto work = rank_work(plan);
  if (!work.ok()) return status;
  const RankMemory needs = rank_memory(plan, pp_rank, work->row(pp_rank), work->in_flight[pp_rank]);
  const auto add = [&](const char* name, std::uint64_t bytes) {
    status.causes.push_back(std::string(name) + ": about " + ckpt::size_text(bytes));
  };
  add("needed for weights", needs.weights);
  add("for gradients", needs.gradients);
  add("for the optimizer", needs.optimizer);
  add("for activations", needs.activations);
  add("for exchange and transfers", needs.exchange + needs.transfers);
  add("for all of it, as plan says", needs.total());
  // If the total is not known, aims at a quarter less.
  const std::uint64_t most = use.total > 0 ? use.total : needs.total() / 4 * 3;
  return status.with_hint(way_out(config, plan, most, use.total > 0));
}

bool tells_of_memory(const std::string& what) {
  for (const char* words : {"out of memory", "can't allocate memory", "bad_alloc"})
    if (what.find(words) != std::string::npos) return true;
  return false;
}

}  // namespace titan::train
