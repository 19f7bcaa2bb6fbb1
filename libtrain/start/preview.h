#pragma once
// What a start would do, found out without ranks, tensors or a single write: for `titan-train plan`, and for the
// launcher, which refuses what every rank would refuse. A rank's own start uses the same parts.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/io/reader.h"
#include "libtrain/start/decide.h"
#include "libtrain/start/init_map.h"
#include "recipe/change/continuation.h"
#include "recipe/change/model_source.h"

namespace titan::train {

using ckpt::Result;
using ckpt::Status;

class Dataset;

struct StartInputs {
  const recipe::LoadedConfig& loaded;
  std::string resume = "auto";
  std::vector<std::string> allow;  ///< words of --allow
  std::uint32_t world = 1;
  ckpt::WeightOpener open_weights;  ///< for --init-from; empty: checkpoints of this toolkit only
  bool prove_complete = false;      ///< reads the last step of a complete run whole (read_whole), since no resume will
  bool data_elsewhere = false;      ///< data that only have a name (training.corpus) are no error before a first step
};

struct StartPreview {
  recipe::LoadedConfig
      loaded;  ///< the configuration, with the model of the checkpoint where it left keys of the model open
  StartDecision decision;
  recipe::RunPlan plan;
  std::optional<recipe::StoredRun> stored;  ///< of a resume
  recipe::Continuation continuation;        ///< of a resume
  std::vector<std::string> weights;         ///< of a transfer: what is loaded, skipped, created
  std::vector<std::string> warnings;
  ckpt::LrSchedule lr;      ///< in force from decision.step + 1 on
  ckpt::DataPosition data;  ///< where the first step begins
  Status no_data;           ///< not ok: the data are elsewhere (StartInputs::data_elsewhere), and `data` says nothing
  std::shared_ptr<Dataset> dataset;  ///< as configured, at its own beginning; null where a complete run does without
  std::uint64_t validation_samples = 0;
  std::optional<std::uint64_t> seed;  ///< nothing: drawn at the start
  bool complete = false;              ///< the checkpoint is at training.steps: nothing would be trained
  Status verdict;                     ///< what the start is refused with; the rest is filled as far as it is known
};

/// \error what a start meets before it can compare settings: no dataset, no such checkpoint, a mesh that does not fit,
/// ...
Result<StartPreview> preview_start(ckpt::Fs& fs, const StartInputs& inputs);

/// Reads every byte that a resume of the checkpoint `path` would load. \error kCorrupt, naming the first damage;
/// kFailed (it cannot be read)
Status read_whole(ckpt::Fs& fs, const std::string& path);

/// The settings and positions that `reader` holds; components that are absent stay empty.
Result<recipe::StoredRun> read_stored(const ckpt::CheckpointReader& reader);

/// The request of a start with this permission: permission for the dataset stands in for a data position that is
/// absent.
Result<StartRequest> start_request(const recipe::Config& config, const std::string& resume,
                                   const recipe::Permission& permission, ckpt::WeightOpener opener);

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
/// One or the other, for the start that these words ask for; as it is for a fresh start. \error as decide_start
Result<recipe::LoadedConfig> model_of_start(ckpt::Fs& fs, const recipe::LoadedConfig& loaded, const std::string& resume,
                                            const std::vector<std::string>& allow, ckpt::WeightOpener opener);

/// Weights for a new run: which go where. A model that is another function than the checkpoint's is refused: what
/// shapes do not show (heads, RoPE, eps) unless `permission` has the key, what they show unless the map leaves out or
/// creates the tensors. What differs all the same is `warnings`. \error kIncompatible, kInvalid (map file)
Result<WeightMatch> match_transfer(const ckpt::WeightSource& source, const recipe::Config& config,
                                   const recipe::RunPlan& plan, const recipe::Permission& permission,
                                   std::vector<std::string>* warnings);

}  // namespace titan::train
