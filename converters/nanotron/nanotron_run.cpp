// Checkpoint::take_run: with the run's configuration, a run of nanotron goes on here.
#include <cmath>

#include "ckpt/base/toml_text.h"
#include "ckpt/plan/lr_schedule.h"
#include "ckpt/plan/lr_settings.h"
#include "converters/dcp/optimizer_groups.h"
#include "converters/dcp/torchtitan.h"
#include "converters/nanotron/nanotron_checkpoint.h"

namespace titan::convert::nanotron {
namespace {

constexpr double kWithin = 1e-12;

bool near(double a, double b) { return std::fabs(a - b) <= kWithin * std::max(std::fabs(a), std::fabs(b)); }

}  // namespace

Status Checkpoint::take_run(const Settings& given, ImportPlan& plan) const {
  TITAN_ASSIGN_OR_RETURN(const recipe::Config config, dcp::read_torchtitan(given));
  TITAN_RETURN_IF_ERROR(dcp::check_optimizer(config));
  const std::uint64_t step = plan.step;
  const auto differ = [&](const std::string& what, const std::string& found, const std::string& other,
                          const std::string& expected) {
    return ckpt::incompatible(path_ + ": " + what + " is " + found + ", but " + other + " is " + expected)
        .with_hint("give the configuration that this run was trained with (optimizer, lr_scheduler, training.steps)");
  };
  for (const std::uint64_t count : plan.optimizer_steps)
    if (count != step)
      return differ("Adam's count", std::to_string(count), "the checkpoint's step", std::to_string(step));
  const ckpt::LrSettings curve = recipe::lr_settings(config);
  for (const GroupValues& group : optimizer_.groups) {
    const std::tuple<const char*, double, double, const char*> numbers[] = {
        {"lr", group.lr, dcp::next_lr(curve, step), "that of the next step by the configuration"},
        {"initial_lr", group.initial_lr.value_or(curve.peak), curve.peak, "optimizer.lr of the configuration"},
        {"beta1", group.beta1, config.optimizer.beta1, "optimizer.beta1 of the configuration"},
        {"beta2", group.beta2, config.optimizer.beta2, "optimizer.beta2 of the configuration"},
        {"eps", group.eps, config.optimizer.eps, "optimizer.eps of the configuration"},
        {"weight_decay", group.weight_decay, config.optimizer.weight_decay,
         "optimizer.weight_decay of the configuration"}};
    for (const auto& [name, found, expected, other] : numbers)
      if (!near(found, expected))
        return differ(std::string("the optimizer's ") + name, ckpt::toml_float(found), other,
                      ckpt::toml_float(expected));
    if (group.amsgrad || group.maximize || !group.decoupled)
      return ckpt::incompatible(path_ +
                                ": its optimizer is no plain AdamW (amsgrad, maximize, or coupled weight decay)")
          .with_hint(dcp::kTensorsAlone);
  }
  plan.lr = ckpt::schedule_from(curve);
  plan.train = ckpt::TrainState{};
  plan.train->step = step;
  plan.train->seed = static_cast<std::uint64_t>(config.debug.seed.value_or(0));
  const auto length = static_cast<std::uint64_t>(config.training.seq_len);
  plan.train->tokens = position_.samples ? *position_.samples * length : position_.tokens.value_or(0);
  plan.train->accepted = ckpt::with_rows(dcp::curve_rows(config, position_.dp), plan.config);
  plan.config = plan.train->accepted;
  plan.notes.push_back(
      "the data position cannot be translated: it is absent, the first run needs --allow training.dataset and begins "
      "at "
      "sample 0");
  plan.notes.push_back("the next step has the learning rate that nanotron stored for it, " +
                       ckpt::toml_float(dcp::next_lr(curve, step)) +
                       "; nanotron itself would begin one step further on in its schedule");
  return {};
}

}  // namespace titan::convert::nanotron
