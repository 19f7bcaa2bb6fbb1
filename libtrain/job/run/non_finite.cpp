#include "libtrain/job/run/non_finite.h"

#include <cmath>

#include "recipe/model/layers.h"
#include "recipe/plan/plan_values.h"

namespace titan::train {
namespace {

std::string samples_text(const NonFinite& found) {
  return "samples " + std::to_string(found.samples.first) + " to " + std::to_string(found.samples.end() - 1);
}

}  // namespace

bool all_finite(double loss, double norm) { return std::isfinite(loss) && std::isfinite(norm); }

NonFinite non_finite(const recipe::RunPlan& plan, std::uint64_t step, ckpt::SampleRange samples, double loss,
                     double norm, std::optional<std::uint32_t> parameter) {
  NonFinite found{step, samples, loss, norm};
  if (!parameter) return found;
  found.tensor = plan.parameters[*parameter].name;
  found.layer = recipe::layer_of(found.tensor);
  found.stage = plan.stage_of(*parameter);
  return found;
}

std::string what_happened(const NonFinite& found) {
  return "step " + std::to_string(found.step) + ": non-finite " +
         (std::isfinite(found.loss) ? "gradient norm" : "loss");
}

std::string where_it_is(const NonFinite& found) {
  if (found.tensor.empty()) return "";
  return "the first gradient by name that is not finite: " + found.tensor + " (" +
         (found.layer ? "layer " + std::to_string(*found.layer) + ", " : "") + "stage " + std::to_string(found.stage) +
         ")";
}

std::string one_line(const NonFinite& found) {
  const std::string where = where_it_is(found);
  return what_happened(found) + " (" + samples_text(found) + ")" + (where.empty() ? "" : "; " + where);
}

EventFields event_fields(const NonFinite& found, const char* action) {
  EventFields fields{{"value", std::isfinite(found.loss) ? found.norm : found.loss},
                     {"tensor", found.tensor},
                     {"action", std::string(action)},
                     {"first_sample", found.samples.first},
                     {"last_sample", found.samples.end() - 1}};
  if (found.tensor.empty()) return fields;
  fields.emplace_back("stage", std::uint64_t{found.stage});
  if (found.layer) fields.emplace_back("layer", *found.layer);
  return fields;
}

NonFinitePolicy::NonFinitePolicy(const std::string& on_nonfinite, std::int64_t max_skips, std::int64_t max_rollbacks)
    : wanted_(on_nonfinite == "skip"       ? Action::kSkip
              : on_nonfinite == "rollback" ? Action::kRollback
                                           : Action::kStop),
      max_skips_(max_skips),
      max_rollbacks_(max_rollbacks) {}

NonFinitePolicy::Action NonFinitePolicy::meet(bool saved) {
  saved_ = saved;
  if (wanted_ == Action::kSkip && skips_++ == max_skips_)
    why_ = std::to_string(max_skips_) + " in a row were skipped (training.max_skips)";
  if (wanted_ == Action::kRollback && !saved) why_ = "there is no checkpoint to go back to";
  if (wanted_ == Action::kRollback && saved && rollbacks_++ == max_rollbacks_)
    why_ = "the run went back " + std::to_string(max_rollbacks_) + " times (training.max_rollbacks)";
  return why_.empty() ? wanted_ : Action::kStop;
}

ckpt::Status NonFinitePolicy::stop_status(const NonFinite& found) const {
  ckpt::Status status =
      ckpt::failed(what_happened(found) + (why_.empty() ? "" : ", and " + why_) + "; nothing was updated or saved");
  if (const std::string where = where_it_is(found); !where.empty()) status.causes.push_back(where);
  return status.with_hint(std::string(saved_ ? "the newest checkpoint is intact; " : "") +
                          "lower optimizer.lr or look at the data of this step (" + samples_text(found) + ")");
}

}  // namespace titan::train
