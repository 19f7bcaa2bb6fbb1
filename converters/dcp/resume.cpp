#include "converters/dcp/resume.h"

#include <algorithm>
#include <cmath>

#include "ckpt/base/toml_text.h"
#include "ckpt/plan/lr_schedule.h"
#include "converters/dcp/names.h"

namespace titan::convert::dcp {
namespace {

constexpr double kTolerance = 1e-12;
constexpr const char* kTensorsAlone = "leave out --config to take the tensors alone";

// Fields of a parameter group. torch's Adam is AdamW with decoupled_weight_decay = False; older ones do not say.
constexpr std::string_view kComparedFields[] = {"lr", "initial_lr", "betas", "eps", "weight_decay"};
struct Flag {
  const char* field;
  bool expected;
};
constexpr Flag kFlags[] = {{"amsgrad", false}, {"maximize", false}, {"decoupled_weight_decay", true}};
// These say how an update is computed, not what it is.
constexpr std::string_view kHarmless[] = {"foreach", "fused", "capturable", "differentiable", "param_names"};

bool near(double a, double b) { return std::abs(a - b) <= kTolerance * std::max(std::abs(a), std::abs(b)); }

class Checker {
 public:
  Checker(const DcpReader& source, const recipe::Config& config)
      : source_(source), config_(config), lr_(recipe::lr_settings(config)) {}

  Result<ResumedRun> run(const std::vector<ckpt::ParameterMeta>& parameters, const std::vector<std::uint64_t>& steps) {
    if (config_.optimizer.name != "AdamW")
      return ckpt::incompatible("optimizer.name is \"" + config_.optimizer.name +
                                "\" in the configuration; only AdamW can go on");
    ResumedRun out;
    TITAN_ASSIGN_OR_RETURN(const std::uint64_t step, count("train_state.step"));
    TITAN_ASSIGN_OR_RETURN(const std::uint64_t tokens, count("train_state.ntokens_seen"));
    TITAN_ASSIGN_OR_RETURN(const std::uint64_t epoch, count("lr_scheduler.last_epoch"));
    TITAN_ASSIGN_OR_RETURN(out.world, world());
    if (epoch != step)
      return differ("lr_scheduler.last_epoch", std::to_string(epoch), "train_state.step", std::to_string(step));
    for (std::size_t p = 0; p < steps.size(); ++p)
      if (steps[p] != step)
        return differ("optimizer.state." + parameters[p].name + ".step", std::to_string(steps[p]), "train_state.step",
                      std::to_string(step));
    out.lr = ckpt::schedule_from(lr_);
    next_ = next_lr(lr_, step);
    TITAN_RETURN_IF_ERROR(check_list("lr_scheduler.base_lrs", lr_.peak, "optimizer.lr of the configuration"));
    const std::string next_name = "lr(" + std::to_string(step + 1) + ") of the configuration's curve";
    TITAN_RETURN_IF_ERROR(check_list("lr_scheduler._last_lr", next_, next_name));
    TITAN_RETURN_IF_ERROR(check_fields());
    for (const ckpt::ParameterMeta& parameter : parameters)
      TITAN_RETURN_IF_ERROR(check_group("optimizer.param_groups." + parameter.name + ".", next_name));
    if (__builtin_mul_overflow(tokens, out.world, &out.train.tokens))
      return ckpt::corrupt(source_.path() + ": train_state.ntokens_seen overflows");
    out.train.step = step;
    out.train.seed = static_cast<std::uint64_t>(config_.debug.seed.value_or(0));
    return out;
  }

 private:
  Result<Value> need(const std::string& name) const {
    Result<Value> value = source_.value(name);
    if (!value.ok() && value.status().code == ckpt::Code::kNotFound) {
      return ckpt::incompatible(source_.path() + " has no " + name + ": a run cannot go on from it")
          .with_hint(kTensorsAlone);
    }
    return value;
  }
  Result<std::uint64_t> count(const std::string& name) const {
    TITAN_ASSIGN_OR_RETURN(const Value value, need(name));
    if (value.kind != Value::Kind::kInt || value.integer < 0)
      return ckpt::corrupt(source_.path() + ": " + name + " is " + value.to_string());
    return static_cast<std::uint64_t>(value.integer);
  }
  // Our own exports have no dataloader. The configuration then says how many ranks there were.
  Result<std::uint64_t> world() const {
    const Result<Value> stored = source_.value("dataloader.world_size");
    if (stored.ok() || stored.status().code != ckpt::Code::kNotFound) {
      TITAN_ASSIGN_OR_RETURN(const std::uint64_t world, count("dataloader.world_size"));
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
  Status differ(const std::string& name, const std::string& found, const std::string& other,
                const std::string& expected) const {
    return ckpt::incompatible(source_.path() + ": " + name + " is " + found + ", but " + other + " is " + expected)
        .with_hint("give the configuration that this run was trained with (optimizer, lr_scheduler, training.steps)");
  }
  Status check_number(const std::string& name, const Value& value, double expected, const std::string& other) const {
    if (!value.is_number()) return ckpt::corrupt(source_.path() + ": " + name + " is " + value.to_string());
    return near(value.number(), expected) ? Status{}
                                          : differ(name, value.to_string(), other, ckpt::toml_float(expected));
  }
  Status check_list(const std::string& name, double expected, const std::string& other) const {
    TITAN_ASSIGN_OR_RETURN(const Value value, need(name));
    if (value.kind != Value::Kind::kList)
      return ckpt::corrupt(source_.path() + ": " + name + " is " + value.to_string());
    if (value.parts.empty())
      return ckpt::incompatible(source_.path() + ": " + name +
                                " is empty, expected a learning rate: a run cannot go on from it")
          .with_hint(kTensorsAlone);
    for (const Value& part : value.parts) TITAN_RETURN_IF_ERROR(check_number(name, part, expected, other));
    return {};
  }
  Status check_group(const std::string& prefix, const std::string& next_name) const {
    struct Row {
      const char* field;
      double expected;
      std::string other;
    };
    const Row rows[] = {
        {"lr", next_, next_name},
        {"initial_lr", lr_.peak, "optimizer.lr of the configuration"},
        {"eps", config_.optimizer.eps, "optimizer.eps of the configuration"},
        {"weight_decay", config_.optimizer.weight_decay, "optimizer.weight_decay of the configuration"}};
    for (const Row& row : rows) {
      TITAN_ASSIGN_OR_RETURN(const Value value, need(prefix + row.field));
      TITAN_RETURN_IF_ERROR(check_number(prefix + row.field, value, row.expected, row.other));
    }
    TITAN_ASSIGN_OR_RETURN(const Value betas, need(prefix + "betas"));
    if (betas.parts.size() != 2) return ckpt::corrupt(source_.path() + ": " + prefix + "betas is " + betas.to_string());
    TITAN_RETURN_IF_ERROR(check_number(prefix + "betas", betas.parts[0], config_.optimizer.beta1,
                                       "optimizer.beta1 of the configuration"));
    TITAN_RETURN_IF_ERROR(check_number(prefix + "betas", betas.parts[1], config_.optimizer.beta2,
                                       "optimizer.beta2 of the configuration"));
    for (const auto& [field, expected] : kFlags) TITAN_RETURN_IF_ERROR(check_flag(prefix + field, expected));
    return {};
  }
  Status check_flag(const std::string& name, bool expected) const {
    const Result<Value> flag = source_.value(name);
    if (!flag.ok()) return flag.status().code == ckpt::Code::kNotFound ? Status{} : flag.status();
    if (flag->kind == Value::Kind::kBool && (flag->integer != 0) == expected) return {};
    return ckpt::incompatible(source_.path() + ": " + name + " is " + flag->to_string() + ", expected " +
                              (expected ? "True" : "False") + "; such an optimizer cannot go on here")
        .with_hint(kTensorsAlone);
  }
  // Refuses fields that we do not know: they may change the update.
  Status check_fields() const {
    const auto check = [&](const std::string& name) -> Status {
      const DcpKey key = parse_key(name);
      const auto same = [&](std::string_view known) { return key.field == known; };
      if (key.kind != DcpKey::Kind::kGroup || std::ranges::any_of(kComparedFields, same) ||
          std::ranges::any_of(kHarmless, same))
        return {};
      if (std::ranges::any_of(kFlags, [&](const Flag& flag) { return same(flag.field); })) return {};
      return ckpt::incompatible(source_.path() + ": " + name + " is not a setting of AdamW that is known here")
          .with_hint(kTensorsAlone);
    };
    for (const BytesEntry& entry : source_.metadata().values) TITAN_RETURN_IF_ERROR(check(entry.name));
    for (const TensorEntry& entry : source_.metadata().tensors) TITAN_RETURN_IF_ERROR(check(entry.name));
    return {};
  }

  const DcpReader& source_;
  const recipe::Config& config_;
  const ckpt::LrSettings lr_;
  double next_ = 0;
};

}  // namespace

Result<ResumedRun> check_resume(const DcpReader& source, const std::vector<ckpt::ParameterMeta>& parameters,
                                const std::vector<std::uint64_t>& optimizer_steps, const recipe::Config& config) {
  return Checker(source, config).run(parameters, optimizer_steps);
}

}  // namespace titan::convert::dcp
