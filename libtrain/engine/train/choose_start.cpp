#include "libtrain/engine/train/choose_start.h"

#include <algorithm>

#include "ckpt/base/random_id.h"
#include "libtrain/job/control/agree.h"
#include "libtrain/job/data/data_tokenizer.h"
#include "libtrain/job/host/gemm.h"
#include "libtrain/job/metrics/log.h"
#include "libtrain/job/run/same_settings.h"
#include "libtrain/job/start/checked_data.h"
#include "libtrain/job/start/start_message.h"
#include "recipe/plan/run_plan.h"

namespace titan::train {
namespace {

using ckpt::Status;

// Rank 0 reads the files that came with the model, since their folder may be gone at the next save.
Status take_model_files(RunState& run) {
  run.model_files.reset();
  if (!run.root()) return ckpt::ok_status();
  std::vector<std::string> notes;
  std::vector<ckpt::ModelFilePlace> places;
  if (run.start.source) {
    places = run.start.source->model_files();
  } else if (run.start.weight_source) {
    places = run.start.weight_source->model_files();
  }
  ckpt::Fs& fs = run.start.source ? run.watch : run.fs;
  TITAN_ASSIGN_OR_RETURN(std::vector<ckpt::ModelFile> files, ckpt::read_model_files(fs, places, notes));
  for (const std::string& note : notes) log_warn(note);
  if (!files.empty()) run.model_files = std::make_shared<const std::vector<ckpt::ModelFile>>(std::move(files));
  return ckpt::ok_status();
}

// Adds the tokenizer of the data to the model's files. It replaces one that came with the weights or the checkpoint.
Status take_data_tokenizer(RunState& run) {
  TITAN_ASSIGN_OR_RETURN(const DataTokenizer tokenizer,
                         tokenizer_of_data(run.fs, reading_tokens(run.start.loaded.config, run.start.texts)));
  if (tokenizer.places.empty()) return ckpt::ok_status();
  std::vector<std::string> notes;
  TITAN_ASSIGN_OR_RETURN(std::vector<ckpt::ModelFile> read, ckpt::read_model_files(run.fs, tokenizer.places, notes));
  for (const std::string& note : notes) log_warn(note);
  TakenFiles taken = with_data_tokenizer(run.model_files ? *run.model_files : std::vector<ckpt::ModelFile>(), tokenizer,
                                         std::move(read));
  for (const std::string& note : taken.notes) log_warn(note);
  if (!taken.of_data.empty())
    log_info("the tokenizer of the data goes into every checkpoint: " + tokenizer.places.front().path);
  if (!taken.files.empty())
    run.model_files = std::make_shared<const std::vector<ckpt::ModelFile>>(std::move(taken.files));
  return ckpt::ok_status();
}

// The seed of a new run. It has 63 bits, so that it can be given as debug.seed, too.
std::uint64_t draw_seed(const recipe::Config& config) {
  if (config.debug.seed) return static_cast<std::uint64_t>(*config.debug.seed);
  return ckpt::random_number() >> 1;
}

// Throws an error of prepare_start() on all ranks. The run must not fall back to an older step then, since the step is
// not damaged and the error would be the same.
void check_prepared(RunState& run, const Status& status) {
  const Status agreed = agree(*run.world.io, status);
  if (!agreed.ok()) run.start.decision.may_fall_back = false;
  check(agreed);
}

}  // namespace

// The launcher has made the same decision, to choose the number of threads. But it did not hold the lock, so the
// decision is made again; the number of threads stays.
void choose_start(RunState& run) {
  run.forget_start();
  run.on_root([&]() -> Status {
    TITAN_ASSIGN_OR_RETURN(StartRequest request, start_request(run.inputs, run.permission));
    request.unreadable = run.lost.unreadable;
    request.near_lost = run.lost.near;
    TITAN_ASSIGN_OR_RETURN(run.start.decision, decide_start(run.watch, request, run.lost.damaged));
    for (const std::string& line : run.start.decision.skipped) log_warn("not resumed: " + line);
    for (const std::string& note : run.start.decision.notes) log_warn(note);
    return ckpt::ok_status();
  });
  const StartDecision& decision = run.start.decision;
  StartMessage word{decision, {}, draw_seed(run.config()), processor_name()};
  Status status;
  if (run.root() && decision.mode == StartMode::kResume) {
    auto texts = json_texts(ckpt::CheckpointReader::known(run.watch, decision.path, *decision.manifest));
    status = texts.status();
    if (texts.ok()) word.json = std::move(*texts);
  }
  const std::string bytes = run.world.io->broadcast(run.root() ? encode_start(word) : "", 0);
  if (!run.root()) {
    auto decoded = decode_start(bytes);
    status = decoded.status();
    if (decoded.ok()) {
      word = std::move(*decoded);
      run.start.decision = std::move(word.decision);
    }
  }
  if (!decision.path.empty()) log_info("loading " + decision.path);
  ckpt::Fs& fs = decision.mode == StartMode::kResume ? run.watch : run.fs;
  if (status.ok()) status = open_start(fs, run.inputs, run.start, std::move(word.json));
  if (status.ok()) status = take_model_files(run);
  check(agree(*run.world.io, status));

  if (run.start.stored) run.state = run.start.stored->state;
  run.progress.step = run.start.decision.step;
  run.progress.tokens = run.state.tokens;
  if (!run.start.stored) run.start.seed = word.seed;
  if (!decision.origin.empty()) run.state.origin = decision.origin;
  run.state.seed = *run.start.seed;
  run.start.processor = word.processor;
}

void resolve_settings(RunState& run) {
  Start& start = run.start;
  Status status;
  run.inputs.text_work = run.root() ? TextWork::kMake : TextWork::kNeed;
  run.inputs.say = [](const std::string& line) { log_info(line); };
  if (run.root()) status = prepare_start(run.fs, run.inputs, run.permission, start);
  if (run.root() && status.ok() && start.dataset) status = take_data_tokenizer(run);
  check_prepared(run, status);  // if rank 0 failed, the other ranks read nothing
  // Rank 0 reads the data completely, and computes digests of 64 blocks of each file. The other ranks compare two
  // blocks, and more if these differ.
  const std::string checked =
      run.world.io->broadcast(run.root() && start.dataset ? encode_files(start.dataset->known()) : "", 0);
  if (!run.root()) {
    run.inputs.checked_data = decode_files(checked);
    status = prepare_start(run.fs, run.inputs, run.permission, start);
  }
  check_prepared(run, status.ok() ? start.verdict : status);
  if (run.root())
    for (const std::string& warning : start.warnings) log_warn(warning);
  run.progress.data = start.data;
  run.state.accepted = start.accepted;
  if (start.stored) {
    check(start.dataset->continue_from(run.progress.data));  // the same on all ranks
    run.progress.data.samples_per_epoch =
        start.dataset->samples_per_epoch();  // depends on the order of documents, which continue_from() has set
    // The next epoch to log. If data start over or have changed, their first epoch is logged as a new one.
    run.progress.next_epoch = start.continuation.fresh_data
                                  ? run.progress.data.first_epoch
                                  : std::max(run.progress.data.first_epoch, ckpt::last_epoch(start.stored->data) + 1);
  }
  run.resolved = recipe::resolved_config(run.config(), run.plan(), run.state.seed, run.options.threads);
  // `resolved` is written to the run folder, and a start by another user must not run a command that it reads there.
  run.resolved.checkpoint.on_publish.reset();
  check(agree_on_settings(*run.world.io, shared_settings(run.state.accepted, run.resolved, run.plan())));
}

}  // namespace titan::train
