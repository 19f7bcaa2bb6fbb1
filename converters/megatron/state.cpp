#include "converters/megatron/state.h"

#include <algorithm>

#include "ckpt/base/path.h"
#include "converters/companions.h"
#include "converters/megatron/tensors.h"
#include "converters/other_programs.h"

namespace titan::convert::megatron {
namespace {

constexpr std::string_view kCommonItem = "common_state/shard_";
constexpr double kMostCounted = 1e15;
constexpr const char* kReshardable = "fully_reshardable";
constexpr const char* kWayOn =
    "save it once more with --dist-ckpt-optim-fully-reshardable; or take the weights alone: --skip 'optimizer.*'";

Result<TorchFile> open_common(Fs& fs, const dcp::DcpReader& reader) {
  const std::string file = ckpt::join_path(reader.path(), kCommonFile);
  TITAN_ASSIGN_OR_RETURN(const bool there, file_there(fs, file));
  if (there) return TorchFile::open(fs, through_link(fs, file));
  for (const dcp::BytesEntry& value : reader.metadata().values)
    if (value.name.starts_with(kCommonItem))
      return TorchFile::open_item(fs, ckpt::join_path(reader.path(), reader.metadata().files[value.place.file]),
                                  value.place.offset, value.place.length);
  return ckpt::not_found(reader.path() + " has neither " + kCommonFile + " nor an item common_state");
}

std::string text_at(const Pickle& pickle, NodeId node) {
  return pickle.is(node, NodeKind::kText) ? std::string(pickle.text(node)) : "";
}

class StateReader {
 public:
  StateReader(const TorchFile& file, const dcp::Metadata& metadata)
      : file_(file), pickle_(file.pickle()), metadata_(metadata) {}

  Result<CommonState> read() {
    CommonState out;
    if (!pickle_.is(pickle_.root(), NodeKind::kDict))
      return ckpt::incompatible(file_.path() + " holds " + pickle_.describe(pickle_.root()) + ", expected a dict");
    if (const NodeId args = find(pickle_.root(), "args"); args != kNoNode) {
      TITAN_ASSIGN_OR_RETURN(out.arguments, read_arguments(file_, args));
    }
    if (const NodeId step = find(pickle_.root(), "iteration");
        pickle_.is(step, NodeKind::kInt) && pickle_.integer(step) >= 0)
      out.step = static_cast<std::uint64_t>(pickle_.integer(step));
    if (Status status = read_optimizer(out); !status.ok()) {
      using enum ckpt::Code;
      if (status.code != kUnsupported && status.code != kCorrupt && status.code != kIncompatible) return status;
      out.why_optimizer = std::move(status);
      out.optimizer.reset();
    }
    return out;
  }

 private:
  NodeId find(NodeId dict, const char* key) const { return attribute(pickle_, dict, key); }

  // The sharding form in the state of a distributed optimizer; "" if there is none.
  std::string form_of(NodeId optimizer) const {
    const std::string said = text_at(pickle_, find(optimizer, "param_state_sharding_type"));
    if (!said.empty()) return said;
    const bool buckets = std::ranges::any_of(
        metadata_.tensors, [](const dcp::TensorEntry& tensor) { return tensor.name.starts_with(kBuckets); });
    return buckets ? "dp_reshardable" : "";
  }

  Status read_optimizer(CommonState& out) const {
    const NodeId optimizer = find(pickle_.root(), "optimizer");
    const std::string form = form_of(optimizer);
    if (!form.empty() && form != kReshardable)
      return ckpt::unsupported(file_.path() + ": the optimizer's state has the form " + form + ", expected " +
                               kReshardable + ", which no number of ranks shapes")
          .with_hint(kWayOn);
    if (optimizer == kNoNode) return {};
    if (out.arguments) TITAN_RETURN_IF_ERROR(out.arguments->why_optimizer);
    const NodeId inner = find(optimizer, "optimizer"), state = inner == kNoNode ? optimizer : inner;
    const NodeId groups = find(state, "param_groups");
    if (!pickle_.is(groups, NodeKind::kList) || pickle_.size(groups) == 0)
      return ckpt::unsupported(file_.path() + ": its optimizer has no param_groups, as where several are chained")
          .with_hint("take the weights alone: --skip 'optimizer.*'");
    OptimizerState found;
    std::optional<GroupValues> decayed;
    for (std::size_t i = 0; i < pickle_.size(groups); ++i)
      TITAN_RETURN_IF_ERROR(read_one(pickle_.item(groups, i), decayed, found));
    if (!decayed) return ckpt::unsupported(file_.path() + ": no group of its optimizer is one that decays");
    found.decayed = *decayed;
    if (const NodeId common = find(find(state, "state"), "common_step"); common != kNoNode) {
      TITAN_ASSIGN_OR_RETURN(found.count, file_.number(common));
    }
    if (!(found.count >= 0 && found.count < kMostCounted))
      return ckpt::incompatible(file_.path() + ": the optimizer's step is " + std::to_string(found.count));
    out.optimizer = found;
    return read_scheduler(out);
  }

  // Megatron has one group with weight decay and one for norms and biases; `wd_mult` distinguishes them.
  Status read_one(NodeId group, std::optional<GroupValues>& decayed, OptimizerState& found) const {
    const auto number = [&](const char* key) -> Result<double> {
      const NodeId node = find(group, key);
      if (node == kNoNode) return 1.0;
      return file_.number(node);
    };
    TITAN_ASSIGN_OR_RETURN(const double decay, number("wd_mult"));
    TITAN_ASSIGN_OR_RETURN(const double rate, number("lr_mult"));
    TITAN_ASSIGN_OR_RETURN(const GroupValues values, read_group(file_, group));
    const bool plain = rate == 1 && (decay == 0 || decay == 1) && values.bias_correction;
    std::optional<GroupValues>& of_kind = decay == 0 ? found.undecayed : decayed;
    if (!plain || (of_kind && *of_kind != values))
      return ckpt::unsupported(file_.path() +
                               ": its optimizer has groups of parameters beyond those that decay and those that do "
                               "not, or no bias correction: not supported")
          .with_hint("take the weights alone: --skip 'optimizer.*'");
    of_kind = values;
    if (const NodeId step = find(group, "step"); step != kNoNode) {
      TITAN_ASSIGN_OR_RETURN(found.count, file_.number(step));
    }
    return {};
  }

  Status read_scheduler(CommonState& out) const {
    const NodeId state = find(pickle_.root(), "opt_param_scheduler");
    if (state == kNoNode) return {};
    Scheduler scheduler = out.arguments ? out.arguments->scheduler : Scheduler();
    double first_decay = 0, last_decay = 0;
    for (const auto& [key, value] : {std::pair{"max_lr", &scheduler.max_lr},
                                     {"min_lr", &scheduler.min_lr},
                                     {"lr_warmup_steps", &scheduler.warmup},
                                     {"lr_decay_steps", &scheduler.decay},
                                     {"num_steps", &scheduler.position},
                                     {"start_wd", &first_decay},
                                     {"end_wd", &last_decay}}) {
      TITAN_ASSIGN_OR_RETURN(const NodeId node, file_.at(state, key));
      TITAN_ASSIGN_OR_RETURN(*value, file_.number(node));
    }
    if (first_decay != last_decay)
      return ckpt::unsupported(file_.path() + ": its weight decay changes from step to step: not supported")
          .with_hint("take the weights alone: --skip 'optimizer.*'");
    TITAN_ASSIGN_OR_RETURN(const NodeId style, file_.at(state, "lr_decay_style"));
    scheduler.style = text_at(pickle_, style);
    out.scheduler = scheduler;
    return {};
  }

  const TorchFile& file_;
  const Pickle& pickle_;
  const dcp::Metadata& metadata_;
};

}  // namespace

Result<CommonState> read_common(Fs& fs, const dcp::DcpReader& reader) {
  TITAN_ASSIGN_OR_RETURN(const TorchFile file, open_common(fs, reader));
  return StateReader(file, reader.metadata()).read();
}

}  // namespace titan::convert::megatron
