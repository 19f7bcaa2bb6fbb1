#include "converters/dcp/resume.h"

#include "ckpt/plan/lr_schedule.h"
#include "converters/dcp/names.h"
#include "converters/dcp/optimizer_groups.h"
#include "recipe/keys/config.h"

namespace titan::convert::dcp {
namespace {

class Checker {
 public:
  Checker(const DcpReader& source, const recipe::Config& config)
      : source_(source), values_(source), config_(config), lr_(recipe::lr_settings(config)) {}

  Result<ResumedRun> run(const TrainedParameters& trained, const std::vector<std::uint64_t>& steps) {
    const std::vector<ckpt::ParameterMeta>& parameters = trained.parameters;
    TITAN_RETURN_IF_ERROR(check_optimizer(config_));
    ResumedRun out;
    TITAN_ASSIGN_OR_RETURN(const std::uint64_t step, values_.count("train_state.step"));
    TITAN_ASSIGN_OR_RETURN(const std::uint64_t tokens, values_.count("train_state.ntokens_seen"));
    TITAN_ASSIGN_OR_RETURN(const std::uint64_t epoch, values_.count("lr_scheduler.last_epoch"));
    TITAN_ASSIGN_OR_RETURN(out.world, world());
    if (epoch != step)
      return values_.differ("lr_scheduler.last_epoch", std::to_string(epoch), "train_state.step", std::to_string(step));
    TITAN_RETURN_IF_ERROR(check_steps(values_, parameters, steps, "train_state.step", step));
    out.lr = ckpt::schedule_from(lr_);
    const double next = next_lr(lr_, step);
    std::vector<std::string> unused;  // not reported here: a start warns about rules that match nothing
    TITAN_ASSIGN_OR_RETURN(
        const std::vector<recipe::UpdateSettings> updates,
        recipe::update_settings(config_.optimizer.weight_decay, config_.optimizer.rules, parameters, unused));
    const std::vector<double> factors = lr_factors(updates);
    const std::string next_name = "lr(" + std::to_string(step + 1) + ") of the configuration's curve";
    if (!trained.newer) {  // otherwise only the groups have the rates
      TITAN_RETURN_IF_ERROR(
          values_.check_list("lr_scheduler.base_lrs", lr_.peak, factors, "optimizer.lr of the configuration"));
      TITAN_RETURN_IF_ERROR(values_.check_list("lr_scheduler._last_lr", next, factors, next_name));
    }
    TITAN_RETURN_IF_ERROR(check_fields());
    const GroupSettings group{.beta1 = config_.optimizer.beta1,
                              .beta2 = config_.optimizer.beta2,
                              .eps = config_.optimizer.eps,
                              .weight_decay = config_.optimizer.weight_decay,
                              .initial_lr = lr_.peak,
                              .lr = next,
                              .lr_name = next_name,
                              .decay_hint = decay_hint(parameters)};
    for (std::size_t p = 0; p < parameters.size(); ++p)
      TITAN_RETURN_IF_ERROR(check_group(values_, "optimizer.param_groups." + trained.names[p] + ".",
                                        settings_of(group, updates[p], parameters[p].name)));
    if (__builtin_mul_overflow(tokens, out.world, &out.train.tokens))
      return ckpt::corrupt(source_.path() + ": train_state.ntokens_seen overflows");
    out.train.step = step;
    out.train.seed = static_cast<std::uint64_t>(config_.debug.seed.value_or(0));
    return out;
  }

 private:
  // Titan's exports have no dataloader state; the configuration then gives the number of ranks.
  Result<std::uint64_t> world() const {
    const Result<ItemValue> stored = source_.value("dataloader.world_size");
    if (stored.ok() || stored.status().code != ckpt::Code::kNotFound) {
      TITAN_ASSIGN_OR_RETURN(const std::uint64_t world, values_.count("dataloader.world_size"));
      if (world == 0)
        return ckpt::incompatible(source_.path() + ": dataloader.world_size is 0, expected the number of data ranks")
            .with_hint(kTensorsAlone);
      return world;
    }
    if (const std::uint64_t ranks = data_ranks(config_); ranks > 0) return ranks;
    return ckpt::incompatible(source_.path() +
                              " has no dataloader.world_size, and the configuration does not say how many data ranks "
                              "train_state.ntokens_seen is divided by")
        .with_hint(
            "parallelism.data_parallel_replicate_degree x data_parallel_shard_degree must be numbers above 0: --set "
            "parallelism.data_parallel_shard_degree=N");
  }
  // Refuses unknown fields, because they may change the update.
  Status check_fields() const {
    const auto check = [&](const std::string& name) -> Status {
      const DcpKey key = parse_key(name);
      return key.kind != DcpKey::Kind::kGroup || is_group_field(key.field) ? Status{}
                                                                           : unknown_field(source_.path(), name);
    };
    for (const BytesEntry& entry : source_.metadata().values) TITAN_RETURN_IF_ERROR(check(entry.name));
    for (const TensorEntry& entry : source_.metadata().tensors) TITAN_RETURN_IF_ERROR(check(entry.name));
    return {};
  }

  const DcpReader& source_;
  const StoredValues values_;
  const recipe::Config& config_;
  const ckpt::LrSettings lr_;
};

}  // namespace

Result<ResumedRun> check_resume(const DcpReader& source, const TrainedParameters& trained,
                                const std::vector<std::uint64_t>& optimizer_steps, const recipe::Config& config) {
  return Checker(source, config).run(trained, optimizer_steps);
}

}  // namespace titan::convert::dcp
