#pragma once
// One start: from a configuration to everything that is settled before tensors exist. `titan-train plan` prints what
// comes out of it, the launcher refuses what it refuses, and each rank of a run does it with rank 0's decision.
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

namespace titan::train {

using ckpt::Result;
using ckpt::Status;

/// What a start may do about texts that are not tokens yet (libtrain/job/data/text_cache.h).
enum class TextWork { kLook, kMake, kNeed };

struct StartInputs {
  const recipe::LoadedConfig& loaded;
  std::string resume = "auto";
  std::vector<std::string> allow;  ///< words of --allow
  std::uint32_t world = 1;
  ckpt::WeightOpener open_weights;  ///< for --init-from; empty: checkpoints of this toolkit only
  bool data_elsewhere = false;      ///< data that only have a name (training.corpus) are no error before a first step
  std::vector<KnownFile> checked_data;  ///< files that another rank has read whole
  std::uint32_t node_ranks = 0;         ///< neighbouring ranks that are on one node; 0: all
  ckpt::CancelToken stop;               ///< polled while data are read
  TextWork text_work = TextWork::kLook;
  std::function<void(const std::string&)> say = [](const std::string&) {};  ///< lines of long work, for the log
};

/// What a start has settled, once. What changes while a run trains is in RunState.
struct Start {
  recipe::LoadedConfig loaded;  ///< with the checkpoint's model where it left keys of the model open
  StartDecision decision;
  recipe::RunPlan plan;
  std::shared_ptr<ckpt::CheckpointReader> source;  ///< the checkpoint that is resumed; null: a new run
  ckpt::Digest id;                                 ///< of `source`, also when that is no longer needed
  ckpt::Status precise, precise_weights;  ///< whether a resume can load all of `source`, or its weights (precision.h)
  std::shared_ptr<ckpt::WeightSource> weight_source;  ///< of a transfer
  WeightMatch match;                                  ///< of a transfer
  std::optional<recipe::StoredRun> stored;            ///< of a resume
  recipe::Continuation continuation;                  ///< of a resume
  ckpt::LrSchedule lr;                                ///< in force from decision.step + 1 on
  ckpt::DataPosition data;                            ///< where the first step begins
  ckpt::Settings accepted;                            ///< what the run's checkpoints say of it from now on
  std::shared_ptr<Dataset> dataset;   ///< null where a complete run does without, or texts are not tokens yet
  std::vector<TextCache> texts;       ///< of training and of a validation with its own path; empty: no tokenizer.json
  Status no_data;                     ///< not ok: the data are elsewhere (StartInputs::data_elsewhere)
  std::string processor;              ///< the one whose library of products a new run takes
  std::optional<std::uint64_t> seed;  ///< nothing: to be drawn
  bool data_end = false;              ///< debug.stop_at_step is where the data end
  bool complete = false;              ///< the checkpoint is at training.steps: nothing would be trained
  std::vector<std::string> warnings;  ///< what was met on the way
  Status verdict;                     ///< what the start is refused with; the rest is filled as far as it is known
};

/// Opens what `start.decision` names and takes its manifest over: the source, the model that it gives, and the run so
/// far. `json`: texts of JSON components that are known already. \error as CheckpointReader and WeightSource;
/// kIncompatible: nobody says what a key of the model is
Status open_start(ckpt::Fs& fs, const StartInputs& inputs, Start& start, std::map<std::string, std::string> json = {});

/// Plans, opens the dataset, continues or begins: the rest of an opened start. Looks at no member of a checkpoint.
/// \error what a start meets before it can compare settings: no dataset, a mesh that does not fit, ...
Status prepare_start(const StartInputs& inputs, const recipe::Permission& permission, Start& start);

/// Reads every byte that a resume of the checkpoint `path`, of this `id`, would load. \error kCorrupt, naming the first
/// damage; kIncompatible (another checkpoint lies there by now); kFailed (it cannot be read); kInterrupted, kTerminated
/// (by `stop`)
Status read_whole(ckpt::Fs& fs, const std::string& path, const ckpt::Digest& id, const ckpt::CancelToken& stop = {});

/// The settings and positions that `reader` holds; components that are absent stay empty.
Result<recipe::StoredRun> read_stored(const ckpt::CheckpointReader& reader);

/// The request of a start with this permission: permission for the dataset stands in for a data position that is
/// absent.
Result<StartRequest> start_request(const StartInputs& inputs, const recipe::Permission& permission);

/// kIncompatible when the checkpoint is beyond training.steps.
Status check_steps(const recipe::Config& config, std::uint64_t checkpoint_step);

/// True where a start finds itself at or past debug.stop_at_step: it has nothing to do, and another one would not
/// either.
bool is_at_stop(const recipe::Config& config, const StartDecision& start);
/// "nothing to do, complete: RUN/checkpoint/step-00000200 is at training.steps = 200", or at debug.stop_at_step.
std::string complete_line(const recipe::Config& config, const StartDecision& start);

/// training.global_batch_size of the run so far; 0: not known.
std::int64_t stored_global_batch(const ckpt::Settings& accepted);

/// `loaded` with the model of the weights that a new run takes, where it leaves keys of the model open
/// (model_source.h). \error kIncompatible: neither says what a key is
Result<recipe::LoadedConfig> model_of_weights(const recipe::LoadedConfig& loaded, const ckpt::WeightSource& source);
/// `loaded` with the model of the checkpoint that is resumed, where it leaves keys of the model open. \error
/// kIncompatible
Result<recipe::LoadedConfig> model_of_run(const recipe::LoadedConfig& loaded, const ckpt::CheckpointReader& reader);
/// One or the other, for the start that `inputs` ask for; as it is for a fresh start. \error as decide_start
Result<recipe::LoadedConfig> model_of_start(ckpt::Fs& fs, const StartInputs& inputs);

/// Weights for a new run: which go where. A model that is another function than the checkpoint's is refused: what
/// shapes do not show (heads, RoPE, eps) unless `permission` has the key, what they show unless the map leaves out or
/// creates the tensors. What differs all the same is `warnings`. \error kIncompatible, kInvalid (map file)
Result<WeightMatch> match_transfer(const ckpt::WeightSource& source, const recipe::Config& config,
                                   const recipe::RunPlan& plan, const recipe::Permission& permission,
                                   std::vector<std::string>* warnings);

}  // namespace titan::train
