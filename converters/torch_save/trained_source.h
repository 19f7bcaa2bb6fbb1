#pragma once
// A foreign checkpoint of a trainer: model tensors, optimizer tensors, and the other state that a resume needs.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "converters/format.h"
#include "converters/fused_experts.h"
#include "converters/name_map.h"
#include "converters/torch_save/pieces.h"
#include "converters/torch_save/torch_file.h"

namespace titan::convert {

/// The prefix of the optimizer's tensor names.
inline constexpr const char* kStatePrefix = "optimizer.state.";

/// The hint if the optimizer state cannot be converted.
inline constexpr const char* kModelAlone = "take the model alone: --skip 'optimizer.*'";

/// The settings of a param group of AdamW.
struct GroupValues {
  double lr = 0, beta1 = 0, beta2 = 0, eps = 0, weight_decay = 0;
  std::optional<double> initial_lr;
  bool amsgrad = false, maximize = false, bias_correction = true;
  std::optional<bool> decoupled;  ///< whether weight decay is decoupled; torch before 2.7 does not store it
  auto operator<=>(const GroupValues&) const = default;
};
/// Reads one dict of the list `param_groups` of a torch optimizer. \error kCorrupt: a setting is missing;
/// kIncompatible: a setting is not a number; as TorchFile::number
Result<GroupValues> read_group(const TorchFile& file, NodeId group);
/// Reads a list of groups: the settings of each of the `count` parameters in them. torch numbers parameters across all
/// groups (`params`); if there are no numbers, each group has one parameter. \error as read_group; kIncompatible:
/// groups differ, and nothing tells which parameter is in which group
Result<std::vector<GroupValues>> read_groups(const TorchFile& file, NodeId groups, std::size_t count);

/// Tensors in pieces under Hugging Face's names: first the model's, then "optimizer.state.NAME.exp_avg" and so on.
class TrainedSource : public ForeignCheckpoint {
 public:
  Status read(std::size_t tensor, std::uint64_t first, std::span<std::byte> out) const override;
  /// Reads every element once, and checks the CRC of each torch storage, including storages that no tensor uses.
  Result<ckpt::VerifyReport> verify(const Progress& progress) const override;

 protected:
  TrainedSource(Fs& fs, std::string path) : ForeignCheckpoint(std::move(path)), fs_(fs), files_(fs) {}

  /// Adds `pieced` and returns its index. add_part() then adds tensors that are parts of it.
  std::size_t add_pieced(PiecedTensor pieced);
  void add_part(const std::string& name, std::size_t pieced, std::uint64_t first, std::vector<std::uint64_t> shape);
  /// Takes the model's tensors from `model`, which must outlive this object. Tensors added later are the optimizer's.
  void add_model(const ForeignCheckpoint& model) { add_whole(model, model.tensors().size()); }
  /// Takes all tensors from `whole`, which must outlive this object; the first `of_model` are the model's.
  void add_whole(const ForeignCheckpoint& whole, std::size_t of_model);
  /// Tensors added from now on are the optimizer's.
  void end_of_model() { model_tensors_ = tensors_.size(); }
  void set_step(const std::string& name, double step) { steps_[name] = step; }
  /// Adds Adam's state of the parameter `name`: its complete moments, and its step count.
  void add_moments(const std::string& name, const PiecedTensor& exp_avg, const PiecedTensor& exp_avg_sq, double step);
  /// Adds Adam's state of several parameters (experts), which are `parts` of one tensor.
  void add_moments(const std::vector<ExpertPart>& parts, const PiecedTensor& exp_avg, const PiecedTensor& exp_avg_sq,
                   double step);

  /// For optimizer states whose names no model tensor has, because the model's tensors are named differently: finds
  /// each state's parameter by looking up the state's name in `names`.
  void know_states(const NameMap& names);
  /// `groups` (settings by the name of an optimizer state), with the same settings added under the names of the weights
  /// that `plan` takes for the parameters of these states.
  std::map<std::string, GroupValues> of_weights(std::map<std::string, GroupValues> groups,
                                                const ImportPlan& plan) const;

  /// Sets `why_`, the status of reading the optimizer.
  void set_why(Status status);

  /// Only the model's tensors, with the same indices.
  std::unique_ptr<ForeignCheckpoint> model_view() const;
  /// `options` without patterns that match only optimizer tensors, because these tensors may not exist.
  ImportOptions of_model(const ImportOptions& options) const;
  /// Whether `options` request the run's state: they have a configuration of a run, and `look` is not set. False if the
  /// optimizer cannot be read (`why_`) and `options` skip it.
  bool asks_for_run(const ImportOptions& options) const;
  /// Adds the optimizer state of each parameter to `plan`. \error kIncompatible: state of some parameters is missing
  /// (not checked with `look`), or of all although `options` ask for the run; a step count is not a whole number
  Status take_slots(const ImportOptions& options, ImportPlan& plan) const;
  /// What the trainer stored about the run.
  struct RunFacts {
    std::map<std::string, GroupValues> of;  ///< settings by the name of the parameter's tensor in the trainer's files;
                                            ///< empty if the files have no settings
    std::uint64_t data_ranks = 1;           ///< 0: not known
    std::optional<std::uint64_t> samples;   ///< trained so far; nullopt: computed from the configuration's batches
    std::uint64_t skipped = 0;              ///< number of steps that a loss scaler skipped: Adam and the LR schedule
                                            ///< did not advance
    bool lr_of_step = false;                ///< the stored rate may be that of the last step instead of the next
    std::vector<ckpt::LrPhase> phases{};    ///< the LR schedule, if the configuration's keys do not give it
    std::optional<double> clip{};           ///< the norm to which gradients are clipped; 0: no clipping
    std::optional<std::uint64_t> length{};  ///< tokens of a sequence
  };
  /// Notes that weights were taken from the optimizer's float32 masters, except those of `without`, which have none.
  static void note_masters(const std::vector<std::string>& without, ImportPlan& plan);
  /// Refuses a resume from rounded weights. \error kIncompatible: `without` is not empty; it lists the parameters that
  /// have no float32 masters
  Status check_masters(const std::vector<std::string>& without) const;
  /// take_slots() and take_run() for an optimizer whose `step` is the run's step. `of` has the settings of its
  /// parameters.
  Status take_counted_run(const ImportOptions& options, std::map<std::string, GroupValues> of, ImportPlan& plan) const;
  /// Checks that `given` is the configuration of the run, and adds the run to `plan`. \error kIncompatible naming both
  /// values; kInvalid (dcp::read_torchtitan)
  Status take_run(const Settings& given, const RunFacts& facts, ImportPlan& plan) const;

  Fs& fs_;
  PieceFiles files_;
  Status why_;  ///< not ok: the optimizer state cannot be read; verify() reports its damage

 private:
  const std::string& state_name(const ImportPlan& plan, std::size_t parameter) const;
  bool skips_optimizer(const ImportOptions& options) const;
  struct Place {
    std::size_t pieced;
    std::uint64_t first;  // first element in that tensor
  };
  const ForeignCheckpoint* whole_ = nullptr;  // owner of the first tensors
  std::vector<PiecedTensor> pieced_;
  std::vector<Place> places_;
  std::size_t model_tensors_ = 0;
  std::map<std::string, double> steps_;          // Adam's `step`, by the name of the parameter
  std::map<std::string, std::string> state_of_;  // Titan's name -> name of a state that know_states() has assigned
};

}  // namespace titan::convert
