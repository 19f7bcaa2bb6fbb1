#pragma once
// A foreign checkpoint of a trainer: the model's tensors, the optimizer's, and what a run needs to go on.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "converters/format.h"
#include "converters/fused_experts.h"
#include "converters/torch_save/pieces.h"
#include "converters/torch_save/torch_file.h"

namespace titan::convert {

/// What stands before the names of the optimizer's tensors.
inline constexpr const char* kStatePrefix = "optimizer.state.";

/// What to do where the optimizer cannot be taken.
inline constexpr const char* kModelAlone = "take the model alone: --skip 'optimizer.*'";

/// The settings of AdamW for a group of parameters.
struct GroupValues {
  double lr = 0, beta1 = 0, beta2 = 0, eps = 0, weight_decay = 0;
  std::optional<double> initial_lr;
  bool amsgrad = false, maximize = false, decoupled = true;
  auto operator<=>(const GroupValues&) const = default;
};
/// Reads those of one dict of a list as torch's optimizers have it. \error kCorrupt
Result<GroupValues> read_group(const TorchFile& file, dcp::NodeId group);
/// Reads the whole list. \error kCorrupt
Status read_groups(const TorchFile& file, dcp::NodeId groups, std::set<GroupValues>& into);

/// Tensors in pieces under Hugging Face's names: the model's first, then "optimizer.state.NAME.exp_avg" and the like.
class TrainedSource : public ForeignCheckpoint {
 public:
  const std::string& path() const override { return path_; }
  const std::vector<ForeignTensor>& tensors() const override { return tensors_; }
  Status read(std::size_t tensor, std::uint64_t first, std::span<std::byte> out) const override;
  /// Reads every element once, and each storage of torch whole, against its CRC.
  Result<ckpt::VerifyReport> verify(const Progress& progress) const override;

 protected:
  TrainedSource(Fs& fs, std::string path) : fs_(fs), files_(fs), path_(std::move(path)) {}

  /// Adds `pieced`; the tensors that are made of it follow by add_part.
  std::size_t add_pieced(PiecedTensor pieced);
  void add_part(const std::string& name, std::size_t pieced, std::uint64_t first, std::vector<std::uint64_t> shape);
  /// The model's tensors are those of `model`, which outlives this; what is added is the optimizer's.
  void add_model(const ForeignCheckpoint& model) { add_whole(model, model.tensors().size()); }
  /// All tensors are those of `whole`, which outlives this; the first `of_model` are the model's.
  void add_whole(const ForeignCheckpoint& whole, std::size_t of_model);
  /// From here on tensors are the optimizer's.
  void end_of_model() { model_tensors_ = tensors_.size(); }
  void set_step(const std::string& name, double step) { steps_[name] = step; }
  /// Adam's state of the parameter `name`: its moments, whole, and its count.
  void add_moments(const std::string& name, const PiecedTensor& exp_avg, const PiecedTensor& exp_avg_sq, double step);
  /// The same of several parameters, `parts` of one: experts.
  void add_moments(const std::vector<ExpertPart>& parts, const PiecedTensor& exp_avg, const PiecedTensor& exp_avg_sq,
                   double step);

  /// Notes in `why_` how it went to read the optimizer.
  void set_why(Status status);

  /// The model's tensors alone, with the same indices.
  std::unique_ptr<ForeignCheckpoint> model_view() const;
  /// `options` without patterns that match tensors of the optimizer alone, of which some may not be there.
  ImportOptions of_model(const ImportOptions& options) const;
  /// Whether `options` ask for the run: an optimizer that cannot be read (`why_`) may be left out of it by --skip.
  bool asks_for_run(const ImportOptions& options) const;
  /// Adds what the optimizer has for each parameter of `plan`. \error kIncompatible: some are missing, or all although
  /// `options` ask for the run
  Status take_slots(const ImportOptions& options, ImportPlan& plan) const;
  /// What the trainer says of a run.
  struct RunFacts {
    std::set<GroupValues> groups;
    std::map<std::string, GroupValues> of;  ///< of each parameter, by the name of its tensor there
    std::uint64_t data_ranks = 1;           ///< 0: it does not say
    std::optional<std::uint64_t> samples;   ///< trained so far; else what the configuration's batches make
    std::uint64_t skipped = 0;              ///< steps in which Adam and the schedule stood still (a loss scaler's)
    bool lr_of_step = false;                ///< the stored rate may be that of the step which was done
    std::vector<ckpt::LrPhase> phases{};    ///< the curve, where it is not that of the configuration's keys
  };
  /// Notes that weights are the optimizer's float32 masters, but for `without`, which have none.
  static void note_masters(const std::vector<std::string>& without, ImportPlan& plan);
  /// \error kIncompatible: a run would go on from roundings of the parameters `without` masters, all or some
  Status check_masters(const std::vector<std::string>& without) const;
  /// take_slots and take_run of an optimizer whose count is the run's step; `of` are the settings of its parameters.
  Status take_counted_run(const ImportOptions& options, std::map<std::string, GroupValues> of, ImportPlan& plan) const;
  /// Checks that `given` is the configuration of the run, which `plan` then goes on with. \error kIncompatible naming
  /// both values
  Status take_run(const Settings& given, const RunFacts& facts, ImportPlan& plan) const;

  Fs& fs_;
  PieceFiles files_;
  Status why_;  ///< the optimizer's state cannot be read; damage of it is reported by verify

 private:
  bool skips_optimizer(const ImportOptions& options) const;
  struct Place {
    std::size_t pieced;
    std::uint64_t first;  // element of it
  };
  const std::string path_;
  const ForeignCheckpoint* whole_ = nullptr;  // has the first tensors
  std::vector<PiecedTensor> pieced_;
  std::vector<ForeignTensor> tensors_;
  std::vector<Place> places_;
  std::size_t model_tensors_ = 0;
  std::map<std::string, double> steps_;  // Adam's, by the name of the parameter
};

}  // namespace titan::convert
