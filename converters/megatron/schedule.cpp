#include "converters/megatron/schedule.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "ckpt/base/toml_text.h"
#include "ckpt/plan/lr_schedule.h"
#include "converters/torch_save/trained_source.h"

namespace titan::convert::megatron {
namespace {

using ckpt::LrPhase;
using ckpt::PhaseKind;

constexpr double kMostSteps = 1e15;        // up to here, whole numbers of steps are exact
constexpr std::uint64_t kCompared = 4096;  // most steps at which both schedules are compared
constexpr double kWithin = 1e-9;           // tolerance relative to the peak

// Lengths and position, converted to steps; `origin` is the step whose rate is that of position 0.
struct InSteps {
  double origin, warmup, decay, wsd_decay;
};
InSteps in_steps(const Scheduler& scheduler, std::uint64_t step, std::uint64_t batch) {
  const auto per = static_cast<double>(batch);
  return {static_cast<double>(step) + 1 - scheduler.position / per, scheduler.warmup / per, scheduler.decay / per,
          scheduler.wsd_decay / per};
}

std::optional<PhaseKind> kind_of(const std::string& style) {
  if (style == "linear") return PhaseKind::kLinear;
  if (style == "cosine") return PhaseKind::kCosine;
  if (style == "minus_sqrt") return PhaseKind::kSqrt;
  return std::nullopt;
}

// The first whole step after `at`, at least 1.
std::uint64_t first_step_after(double at) { return at < 1 ? 1 : static_cast<std::uint64_t>(std::floor(at)) + 1; }

// The schedule as configuration keys, in the form of flags.
std::string keys_of(const Scheduler& scheduler, const InSteps& steps) {
  const auto key = [](const std::string& name, const std::string& value) { return " --set " + name + "=" + value; };
  const auto count = [](double value) { return std::to_string(std::llround(value)); };
  const bool constant = scheduler.style == "constant", wsd = scheduler.style == "WSD";
  std::string line =
      key("optimizer.lr", ckpt::toml_float(scheduler.max_lr)) + key("lr_scheduler.warmup_steps", count(steps.warmup));
  if (constant) return line + key("lr_scheduler.decay_ratio", "0.0") + key("lr_scheduler.min_lr_factor", "1.0");
  const std::string style = wsd ? scheduler.wsd_style : scheduler.style;
  line += key("training.steps", count(steps.decay)) +
          key("lr_scheduler.decay_type", style == "minus_sqrt" ? "sqrt" : style) +
          key("lr_scheduler.min_lr_factor", ckpt::toml_float(scheduler.min_lr / scheduler.max_lr));
  if (wsd) line += key("lr_scheduler.decay_ratio", ckpt::toml_float(steps.wsd_decay / steps.decay));
  return line;
}

}  // namespace

ckpt::Result<std::vector<LrPhase>> phases_of(const std::string& what, const Scheduler& scheduler, std::uint64_t step,
                                             std::uint64_t batch) {
  const bool constant = scheduler.style == "constant", wsd = scheduler.style == "WSD";
  const auto kind = kind_of(wsd ? scheduler.wsd_style : scheduler.style);
  if (!constant && (!kind || (!wsd && *kind == PhaseKind::kSqrt)))
    return ckpt::unsupported(what + ": its learning rate decays by \"" + (wsd ? scheduler.wsd_style : scheduler.style) +
                             "\": expected constant, linear, cosine, or WSD with linear, cosine or minus_sqrt")
        .with_hint(kModelAlone);
  const auto [origin, warmup, decay, wsd_decay] = in_steps(scheduler, step, batch);
  const double length = wsd ? wsd_decay : decay - warmup;
  const double from = wsd ? origin + decay - wsd_decay : origin + warmup;
  for (const double number : {origin, warmup, decay, wsd_decay, scheduler.max_lr, scheduler.min_lr, scheduler.init_lr})
    if (!(std::fabs(number) < kMostSteps))
      return ckpt::incompatible(what + ": opt_param_scheduler has a number that makes no curve");
  if (warmup < 0 || (!constant && (!(length > 0) || from < origin + warmup)))
    return ckpt::incompatible(what + ": opt_param_scheduler has a warm-up of " + ckpt::toml_float(scheduler.warmup) +
                              " samples and a decay up to " + ckpt::toml_float(scheduler.decay) +
                              ", which make no curve");
  std::vector<LrPhase> phases;
  const std::uint64_t full = warmup > 0 ? first_step_after(origin + warmup) : 1;
  if (full > 1) phases.push_back({1, PhaseKind::kLinear, scheduler.init_lr, scheduler.max_lr, origin, warmup});
  if (constant || wsd)
    phases.push_back({full, PhaseKind::kConstant, scheduler.max_lr, scheduler.max_lr, static_cast<double>(full), 0});
  if (!constant)
    phases.push_back({wsd ? first_step_after(from) : full, *kind, scheduler.max_lr, scheduler.min_lr, from, length});
  return phases;
}

ckpt::Status check_curve(const std::string& what, const Scheduler& scheduler, std::uint64_t step, std::uint64_t batch,
                         const ckpt::LrSettings& given, std::uint64_t skipped) {
  TITAN_ASSIGN_OR_RETURN(const std::vector<LrPhase> run, phases_of(what, scheduler, step, batch));
  const InSteps steps = in_steps(scheduler, step, batch);
  const auto differ = [&](const std::string& message) {
    return ckpt::incompatible(what + ": " + message).with_hint("the run's own curve is" + keys_of(scheduler, steps));
  };
  const double warm = steps.origin + steps.warmup;
  if (warm > static_cast<double>(step) + 1 &&
      std::llround(steps.warmup) != static_cast<std::int64_t>(given.warmup_steps))
    return differ("the run warms up for " + std::to_string(std::llround(steps.warmup)) +
                  " steps, the configuration says " + std::to_string(given.warmup_steps));
  const std::vector<LrPhase> other = ckpt::schedule_from(given).phases;
  const auto first = static_cast<std::uint64_t>(std::max(static_cast<double>(step) + 1, std::ceil(warm)));
  const std::uint64_t stride = given.total_steps < first ? 1 : (given.total_steps - first) / kCompared + 1;
  for (std::uint64_t n = first; n <= given.total_steps; n += stride) {
    const double mine = ckpt::lr_at(run, n), theirs = ckpt::lr_at(other, n - skipped);
    if (std::fabs(mine - theirs) > kWithin * std::fabs(scheduler.max_lr))
      return differ("the learning rate of step " + std::to_string(n) + " is " + ckpt::toml_float(mine) +
                    " by the run's own schedule, " + ckpt::toml_float(theirs) + " by the configuration");
  }
  return {};
}

}  // namespace titan::convert::megatron
