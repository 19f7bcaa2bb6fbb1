#include "converters/hf/training_settings.h"

#include "ckpt/base/toml_text.h"
#include "ckpt/plan/lr_settings.h"
#include "converters/hf/fields.h"
#include "converters/hf/hf_checkpoint.h"
#include "converters/hf/hf_config.h"
#include "converters/json_file.h"
#include "recipe/model/dims.h"

namespace titan::convert {
namespace {

constexpr const char* kRouter = "training.router_aux_loss";

Status check_noise(const std::string& path, const JsonValue& config) {
  for (const char* key : {"attention_dropout", "hidden_dropout", "resid_pdrop", "embd_pdrop", "router_jitter_noise"}) {
    const JsonValue* value = config.find(key);
    if (value == nullptr || value->as_double() == 0.0) continue;
    return ckpt::incompatible(path + ": " + key + " is " + short_text(*value) +
                              ", expected 0: Titan cannot continue such a run");
  }
  return ckpt::ok_status();
}

// The weight of the load-balancing loss. transformers adds this loss only if output_router_logits is true.
Result<double> router_loss(const std::string& path, const JsonValue& config) {
  Fields fields(path, config);
  const bool added = fields.flag("output_router_logits", false);
  const double weight = fields.real("router_aux_loss_coef", recipe::kRouterLoss);
  TITAN_RETURN_IF_ERROR(fields.status());
  return added ? weight : 0.0;
}

}  // namespace

Status take_training_settings(Fs& fs, const std::string& path, ImportPlan& plan) {
  if (!plan.train) return ckpt::ok_status();
  std::optional<JsonValue> config;
  if (!path.empty()) {
    Result<JsonValue> read = read_json_object(fs, path, kMaxHfConfigBytes);
    if (!read.ok() && read.status().code != ckpt::Code::kNotFound) return read.status();
    if (read.ok()) config = *std::move(read);
  }
  if (config) TITAN_RETURN_IF_ERROR(check_noise(path, *config));
  if (ckpt::setting(plan.config, "model.n_experts") == ckpt::kNotSet) return ckpt::ok_status();
  double weight = recipe::kRouterLoss;
  if (config) {
    TITAN_ASSIGN_OR_RETURN(weight, router_loss(path, *config));
  }
  const std::string there = ckpt::toml_float(weight), said = ckpt::setting(plan.config, kRouter);
  const std::string theirs =
      config ? path + " makes it " + there + " (output_router_logits, router_aux_loss_coef)" : "nothing else says it";
  if (said != ckpt::kNotSet) {
    if (config && said != there) plan.notes.push_back(std::string(kRouter) + " is " + said + ", though " + theirs);
    return ckpt::ok_status();
  }
  plan.notes.push_back(std::string(kRouter) + " = " + there + ": the configuration does not say it, and " + theirs +
                       (config && weight != 0 ? ". transformers balances the experts of all layers together; here each "
                                                "layer has its own loss, and they are averaged"
                                              : ""));
  plan.train->accepted = ckpt::with_rows(std::move(plan.train->accepted), {{kRouter, there}});
  plan.config = plan.train->accepted;
  return ckpt::ok_status();
}

}  // namespace titan::convert
