#pragma once
// Prepares a start: from a configuration to everything that is decided before tensors exist. `titan-train plan` prints
// the result, the launcher refuses what this refuses, and each rank of a run prepares with rank 0's decision.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/base/result.h"
#include "ckpt/read/reader.h"
#include "libtrain/job/data/dataset.h"
#include "libtrain/job/data/text_cache.h"
#include "libtrain/job/start/init_map.h"
#include "libtrain/job/start/resume_point.h"
#include "recipe/change/continuation.h"
#include "recipe/change/model_source.h"
#include "recipe/keys/loader.h"
#include "recipe/plan/plan_values.h"

namespace titan::train {

using ckpt::Result;
using ckpt::Status;

/// What to do with texts that are not tokenized yet (libtrain/job/data/text_cache.h): only look, tokenize them, or
/// require that they are.
enum class TextWork { kLook, kMake, kNeed };

struct StartInputs {
  const recipe::LoadedConfig& loaded;
  std::string resume = "auto";
  std::vector<std::string> allow;  ///< values of --allow
  std::uint32_t world = 1;
  ckpt::WeightOpener open_weights;  ///< for --init-from; empty: only Titan checkpoints
  bool allow_missing_data = false;  ///< a new run whose data set is only named as torchtitan would download it ("c4":
                                    ///< training.corpus) is not an error; Start::no_data says what is missing
  std::vector<KnownFile> checked_data;  ///< files that another rank has read completely
  std::uint32_t node_ranks = 0;         ///< consecutive ranks on one node; 0: all
  ckpt::CancelToken stop;               ///< polled while data are read
  TextWork text_work = TextWork::kLook;
  std::function<void(const std::string&)> say = [](const std::string&) {};  ///< gets messages about long work, for the
                                                                            ///< log
};

/// The decisions of a start, one member for each. State that changes during training is in RunState.
struct Start {
  recipe::LoadedConfig loaded;  ///< unset model keys are filled in from the checkpoint
  StartDecision decision;
  recipe::RunPlan plan;
  std::shared_ptr<ckpt::CheckpointReader> source;  ///< the checkpoint to resume; null: a new run
  ckpt::Digest id;                                 ///< id of `source`, also after `source` was released
  ckpt::Status precise, precise_weights;  ///< whether a resume can load all of `source`, or its weights (precision.h)
  std::shared_ptr<ckpt::WeightSource> weight_source;  ///< for a transfer
  WeightMatch match;                                  ///< for a transfer
  std::optional<recipe::StoredRun> stored;            ///< for a resume
  recipe::Continuation continuation;                  ///< for a resume
  ckpt::LrSchedule lr;                                ///< applies from decision.step + 1 on
  ckpt::DataPosition data;                            ///< data position of the first step
  ckpt::Settings accepted;                            ///< the accepted settings for the run's checkpoints from now on
  std::shared_ptr<Dataset> dataset;   ///< null: complete runs may need none; texts are not tokenized yet; or no_data
  std::vector<TextCache> texts;       ///< for training and for a validation with its own path; empty: no tokenizer.json
  Status no_data;                     ///< not ok: the data are not on this host (StartInputs::allow_missing_data)
  std::string processor;              ///< determines the GEMM library of a new run (gemm.h)
  std::optional<std::uint64_t> seed;  ///< nullopt: to be drawn
  bool data_end = false;              ///< debug.stop_at_step was set to the end of the data
  bool complete = false;              ///< the checkpoint is at training.steps: nothing would be trained
  std::vector<std::string> warnings;  ///< collected during the start
  Status verdict;                     ///< why the start is refused; other members are filled as far as known
};

/// Opens the checkpoint of `start.decision` with `decision.manifest`, and moves this manifest out of the decision. Sets
/// the source, the model keys that the checkpoint determines, and the stored state of the run. `json`: texts of JSON
/// components that are known already. \error as CheckpointReader and WeightSource; kIncompatible: neither configuration
/// nor checkpoint has a key of the model
Status open_start(ckpt::Fs& fs, const StartInputs& inputs, Start& start, std::map<std::string, std::string> json = {});

/// The rest of an opened start: plans, opens the dataset, and continues the stored run or begins a new one. Reads no
/// member of a checkpoint. \error problems found before settings can be compared: no dataset, a mesh that does not fit,
/// ...
Status prepare_start(ckpt::Fs& fs, const StartInputs& inputs, const recipe::Permission& permission, Start& start);

/// Reads every byte that a resume of the checkpoint at `path`, with this `id`, would load. \error kCorrupt, naming the
/// first damage; kIncompatible (another checkpoint is at `path` by now); kFailed (it cannot be read); kInterrupted,
/// kTerminated (by `stop`)
Status read_whole(ckpt::Fs& fs, const std::string& path, const ckpt::Digest& id, const ckpt::CancelToken& stop = {});

/// The settings and positions in `reader`; those of absent components stay empty.
Result<recipe::StoredRun> read_stored(const ckpt::CheckpointReader& reader);

/// The StartRequest for this permission: permission for the dataset also permits a missing data position.
Result<StartRequest> start_request(const StartInputs& inputs, const recipe::Permission& permission);

/// kIncompatible if the checkpoint is beyond training.steps.
Status check_steps(const recipe::Config& config, std::uint64_t checkpoint_step);

/// Whether a start is at or past debug.stop_at_step, so that neither it nor another start has anything to do.
bool is_at_stop(const recipe::Config& config, const StartDecision& start);
/// A text like "nothing to do, complete: RUN/checkpoint/step-00000200 is at training.steps = 200", or at
/// debug.stop_at_step.
std::string complete_line(const recipe::Config& config, const StartDecision& start);

/// training.global_batch_size of the run so far; 0: not known.
std::int64_t stored_global_batch(const ckpt::Settings& accepted);

/// `loaded`, with unset model keys filled in from a new run's initial weights (model_source.h). \error kIncompatible:
/// neither has a key
Result<recipe::LoadedConfig> model_of_weights(const recipe::LoadedConfig& loaded, const ckpt::WeightSource& source);
/// `loaded`, with unset model keys filled in from the checkpoint to resume. \error kIncompatible
Result<recipe::LoadedConfig> model_of_run(const recipe::LoadedConfig& loaded, const ckpt::CheckpointReader& reader);
/// model_of_run() or model_of_weights(), as the start of `inputs` needs; for a fresh start the configuration as it is.
/// \error as decide_start
Result<recipe::LoadedConfig> model_of_start(ckpt::Fs& fs, const StartInputs& inputs);

/// Matches weights to a new run's parameters. Refuses a model that computes another function than the checkpoint's:
/// differences that shapes do not show (heads, RoPE, eps) unless `permission` has the key; differences that shapes show
/// unless the map skips or creates the tensors. Allowed differences go to `warnings`. \error kIncompatible, kInvalid
/// (map file)
Result<WeightMatch> match_transfer(ckpt::Fs& fs, const ckpt::WeightSource& source, const recipe::Config& config,
                                   const recipe::RunPlan& plan, const recipe::Permission& permission,
                                   std::vector<std::string>* warnings);

}  // namespace titan::train
