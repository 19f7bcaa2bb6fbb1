#include "libtrain/engine/train/startup.h"

#include <algorithm>
#include <random>
#include <sstream>

#include "ckpt/io/lock_wait.h"
#include "ckpt/io/second_look.h"
#include "ckpt/model/history.h"
#include "ckpt/plan/file_makers.h"
#include "ckpt/plan/lr_schedule.h"
#include "ckpt/plan/lr_settings.h"
#include "ckpt/plan/same_files.h"
#include "libtrain/engine/checkpoint/transfer.h"
#include "libtrain/engine/device/device.h"
#include "libtrain/engine/model/runtime.h"
#include "libtrain/engine/parallel/hosts.h"
#include "libtrain/engine/parallel/rendezvous.h"
#include "libtrain/engine/train/same_devices.h"
#include "libtrain/engine/train/same_weights.h"
#include "libtrain/job/host/cores.h"
#include "libtrain/job/host/gemm.h"
#include "libtrain/job/launch/signals.h"
#include "libtrain/job/metrics/json_text.h"
#include "libtrain/job/metrics/log.h"
#include "libtrain/job/run/banner.h"
#include "libtrain/job/run/publish_note.h"
#include "libtrain/job/run/same_settings.h"
#include "libtrain/job/schedule/schedule_of.h"
#include "libtrain/job/start/checked_data.h"
#include "libtrain/job/start/read_errors.h"
#include "libtrain/job/start/shared_folder.h"
#include "libtrain/job/start/space.h"
#include "libtrain/job/start/start_word.h"
#include "libtrain/job/talk/agree.h"
#include "libtrain/job/talk/message.h"
#include "recipe/change/change_lines.h"
#include "recipe/change/drift.h"
#include "recipe/keys/writer.h"
#include "recipe/record/run_metrics.h"

namespace titan::train {
namespace {

using ckpt::Status;

/// What bits depend on. On a device of its own nothing of the host does.
ckpt::Settings runtime_environment(int threads, recipe::CpuGemm gemm) {
  if (!device().place().is_cpu()) return ckpt::with_rows({{"torch", torch_version()}}, device().environment());
  ckpt::Settings rows = {{"blas", blas_name()},
                         {"device", "cpu"},
                         {"isa", cpu_isa()},
                         {"threads_per_rank", std::to_string(threads)},
                         {"torch", torch_version()}};
  return ckpt::with_rows(ckpt::with_rows(rows, gemm_rows(gemm)), device().environment());
}

void connect_ranks(RunState& run) {
  ConnectOptions connect_options;
  connect_options.env = run.options.env;
  connect_options.mesh = take(recipe::make_run_mesh(run.config(), run.inputs.world));  // the model is not known yet
  const auto ms = [](double seconds) { return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000)); };
  connect_options.init_timeout = ms(run.config().comm.init_timeout_seconds);
  connect_options.train_timeout = ms(run.config().comm.train_timeout_seconds);
  connect_options.io_timeout = ms(run.config().checkpoint.io_timeout_seconds);
  connect_options.background_saves = run.config().checkpoint.enable && run.config().checkpoint.async_mode != "disabled";
  connect_options.node_groups = run.config().parallelism.gradient_exchange == "node";
  connect_options.say = log_warn;
  connect_options.met = check_devices;
  run.world = run.options.connect ? run.options.connect(connect_options) : connect(connect_options);
  run.inputs.node_ranks = run.world.node_ranks;
  note_progress(StopPhase::kStarting, 0, 0);
}

void open_run_folder(RunState& run) {
  run.on_root([&]() -> Status {
    auto files = RunFiles::open(run.fs, run.config(), run.checkpoint_dir);
    if (!files.ok()) return files.status();
    run.files = std::move(*files);
    return ckpt::ok_status();
  });
  // Without checkpoints nothing but rank 0's own files is written.
  if (!run.config().checkpoint.enable) return;
  check(check_shared_folder(*run.world.io, run.fs, run.checkpoint_dir, run.root() ? run.files->mark() : "",
                            ckpt::lock_wait()));
}

// Rank 0 holds them from here on: the folder that they came from may be gone before the next save.
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

// Drawn once and stored; 63 bits, so that it can be typed as debug.seed.
std::uint64_t draw_seed(const recipe::Config& config) {
  std::random_device device;
  if (config.debug.seed) return static_cast<std::uint64_t>(*config.debug.seed);
  return ((std::uint64_t{device()} << 32) ^ device()) >> 1;
}

// Rank 0 decides under the run's lock, and looks at files; the others take its word, the manifest included. The
// launcher's look was without the lock, so that its decision is not taken over; the threads that it chose are.
void choose_start(RunState& run) {
  run.forget_start();
  run.on_root([&]() -> Status {
    TITAN_ASSIGN_OR_RETURN(StartRequest request, start_request(run.inputs, run.permission));
    request.unreadable = run.unreadable;
    TITAN_ASSIGN_OR_RETURN(run.start.decision, decide_start(run.watch, request, run.damaged));
    for (const std::string& line : run.start.decision.skipped) log_warn("not resumed: " + line);
    for (const std::string& note : run.start.decision.notes) log_warn(note);
    return ckpt::ok_status();
  });
  const StartDecision& decision = run.start.decision;
  StartWord word{decision, {}, draw_seed(run.config()), processor_name()};
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
  if (!run.start.stored) run.start.seed = word.seed;
  if (!decision.origin.empty()) run.state.origin = decision.origin;
  run.state.seed = *run.start.seed;
  run.start.processor = word.processor;
}

// Collective. Nothing is loaded where nothing is left to train, so that the last step is read here. What the first
// reader meets a second one confirms, as after a load.
void prove_last_step(RunState& run) {
  const Status first =
      agree(*run.world.io, run.root() ? read_whole(run.fs, run.start.decision.path, run.start.id, run.inputs.stop)
                                      : ckpt::ok_status());
  if (first.code == ckpt::Code::kCorrupt) {
    Status second;
    if (run.world.rank == 1 % run.world.size)
      second = read_whole(run.fs, run.start.decision.path, run.start.id, run.inputs.stop);
    if (second.code == ckpt::Code::kCorrupt)
      second = ckpt::ok_status();
    else if (run.world.rank == 1 % run.world.size && second.ok())
      second = ckpt::failed("damage in " + run.start.decision.path + " was met once, and not when it was read again")
                   .with_hint("start again; if it comes back, look at the memory of rank 0's host");
    check(agree(*run.world.io, second));
  }
  check(first);
}

// The rest of the start, on every rank by itself. What one rank alone refuses, since its configuration or its copies
// are others, all hear of.
void settle(RunState& run) {
  Start& start = run.start;
  Status status;
  if (run.root()) status = prepare_start(run.inputs, run.permission, start);
  check(agree(*run.world.io, status));  // before the others read what it did not
  // One rank reads the data whole, and 64 blocks of each file; the others two blocks, and more where these are others.
  const std::string checked =
      run.world.io->broadcast(run.root() && start.dataset ? encode_files(start.dataset->known()) : "", 0);
  if (!run.root()) {
    run.inputs.checked_data = decode_files(checked);
    status = prepare_start(run.inputs, run.permission, start);
  }
  check(agree(*run.world.io, status.ok() ? start.verdict : status));
  if (run.root())
    for (const std::string& warning : start.warnings) log_warn(warning);
  run.data = start.data;
  run.state.accepted = start.accepted;
  if (start.stored) {
    start.dataset->continue_from(run.data);
    // An epoch that a change begins is a new one for the log, and so is epoch 0 of data that begin anew.
    run.next_epoch = start.continuation.fresh_data ? run.data.first_epoch : ckpt::last_epoch(start.stored->data) + 1;
  }
  run.resolved = recipe::resolved_config(run.config(), run.plan(), run.state.seed, run.options.threads);
  // What lies in a folder must not name a command that somebody else's start would run.
  run.resolved.checkpoint.on_publish.reset();
  check(agree_on_settings(*run.world.io, shared_settings(run.state.accepted, run.resolved, run.plan())));
}

// Of shard files; none where ranks share none.
std::vector<std::uint32_t> agree_on_makers(Control& io, std::int64_t files_per_host) {
  const std::vector<std::string> hosts = hosts_of_ranks(io);
  if (files_per_host == 0) return {};
  return ckpt::file_makers(hosts, static_cast<std::uint32_t>(files_per_host));
}

void load_or_init(RunState& run) {
  const std::int64_t max_seq = std::max(run.plan().batch.seq_len, run.start.dataset->validation_seq_len());
  run.stages = std::make_unique<RankStages>(run.plan(), static_cast<std::uint32_t>(run.world.stage), max_seq);
  run.owners = std::make_shared<const ckpt::Ownership>(recipe::owners_of(run.plan()));
  run.makers = agree_on_makers(*run.world.io, run.config().checkpoint.files_per_host);
  AdamWOptions adamw{run.config().optimizer.beta1, run.config().optimizer.beta2, run.config().optimizer.eps,
                     run.config().optimizer.weight_decay};
  const bool moments =
      run.start.source != nullptr && !run.start.weight_source && !run.start.continuation.fresh_optimizer;
  run.optimizer =
      std::make_unique<ShardedAdamW>(run.plan(), *run.owners, run.world, *run.stages, adamw,
                                     moments ? ShardedAdamW::Moments::kLoaded : ShardedAdamW::Moments::kZero);
  run.checkpointer = std::make_unique<Checkpointer>(run.fs, run.world, run.checkpoint_dir);

  if (run.start.weight_source) {
    // Copies of weights may differ between hosts, which shows only where every rank has read all of its own.
    run.stages->init_weights(run.state.seed);
    check(agree(*run.world.io, load_weights(*run.start.weight_source, run.start.match, *run.stages, run.inputs.stop)));
    check(agree_on_weights(*run.world.io, run.plan(), *run.stages));
    return;
  }
  if (run.start.source == nullptr) return run.optimizer->init_weights(run.plan(), run.state.seed);
  const Status loaded = Checkpointer::load(*run.start.source, run.plan(), *run.optimizer, moments, run.inputs.stop);
  run.met_damage = loaded.code == ckpt::Code::kCorrupt;
  check(agree(*run.world.io, loaded));
  run.optimizer_step = moments ? run.start.stored->optimizer_step : 0;
}

ScheduleTable planned_table(const RunState& run) {
  const std::uint32_t count = scheduled_count(run.plan(), static_cast<std::uint32_t>(run.world.dp_rank));
  Result<ScheduleTable> table = schedule_of(run.plan(), count);
  check(table.status());
  return std::move(*table);
}

// What a rank has drawn or read is what it owns. Now all ranks of a stage get all of its weights.
void share_start(RunState& run) {
  run.optimizer->own_masters(*run.stages);
  run.exchange = std::make_unique<GradientExchange>(run.world, run.plan(), *run.owners, *run.stages);
  // A rank whose memory did not suffice until here is noticed before the others wait for its connection.
  run.world.io->barrier();
  run.exchange->connect();
  run.exchange->share(run.optimizer->params());
}

// A disk that cannot take the saves to come is better known now than at the save that fails.
void check_store(RunState& run) {
  run.on_root([&]() -> Status {
    const SpaceVerdict space = look_at_space(run.fs, run.config(), run.plan(), run.start.decision.step);
    if (!space.warning.empty()) log_warn(space.warning);
    return space.refused;
  });
}

// The losses that earlier starts found, for the steps that are kept by them.
void recall_losses(RunState& run) {
  const std::string path = ckpt::join_path(run.config().job.dump_folder, "metrics.jsonl");
  const auto read = recipe::read_metrics(run.fs, path, [&](const recipe::MetricsLine& line) {
    if (line.event == "validation" && line.validation_loss) run.retention->validated(line.step, *line.validation_loss);
  });
  if (!read.ok() && read.status().code != ckpt::Code::kNotFound)
    log_warn("checkpoint.keep_best knows no losses of earlier starts: " + read.status().message);
}

// The command that follows each publish, and where an earlier start did not see it end well, for the newest step now.
void begin_publishing(RunState& run, bool own) {
  const auto still_ours = [&run] { return run.files->still_ours(); };
  run.hook = make_publish_hook(run.fs, run.config(), {still_ours, log_warn, log_info});
  if (!run.hook || !own) return;
  if (const Status missed = publish_missed(run.fs, run.config(), run.start.decision.path, *run.hook); !missed.ok())
    log_warn("checkpoint.on_publish: " + log_text(missed));
}

// What saves and deletions of this run have to know of the steps that were there.
void keep_house(RunState& run) {
  // What cannot be read counts as what is damaged does: it is never deleted, and moved aside when its number is saved
  // again.
  std::set<std::uint64_t> lost = run.damaged;
  lost.insert(run.unreadable.begin(), run.unreadable.end());
  run.checkpointer->mark_damaged(lost);
  if (!run.root()) return;
  const auto still_ours = [&run] { return run.files->still_ours(); };
  run.checkpointer->guard_commits(still_ours);
  const auto& settings = run.config().checkpoint;
  const ckpt::RetentionRules rules{static_cast<std::uint64_t>(settings.keep_latest_k),
                                   static_cast<std::uint64_t>(settings.keep_every),
                                   static_cast<std::uint64_t>(settings.keep_best)};
  run.retention = std::make_unique<ckpt::Retention>(
      run.fs, ckpt::RetentionOptions{run.checkpoint_dir, rules, still_ours,
                                     [](const std::string& name) { log_info("retention removed " + name); },
                                     [](const std::string& problem) { log_warn("retention: " + problem); },
                                     [&run](std::uint64_t step) { return run.hook && run.hook->in_use(step); }});
  for (const std::uint64_t step : lost) run.retention->judge(step, ckpt::Verdict::kDamaged);
  // Every digest of it held, unless the optimizer was left out.
  const bool own = run.start.source != nullptr && run.start.decision.origin.empty();
  if (own && !run.start.continuation.fresh_optimizer)
    run.retention->judge(run.start.decision.step, ckpt::Verdict::kProved, run.start.id);
  if (rules.keep_best > 0) recall_losses(run);
  begin_publishing(run, own);
}

void begin_attempt(RunState& run) {
  ckpt::Settings environment = runtime_environment(run.options.threads, run.plan().gemm);
  ckpt::Attempt attempt;
  attempt.number = run.state.attempts.empty() ? 1 : run.state.attempts.back().number + 1;
  attempt.started = utc_now();
  attempt.first_step = run.start.decision.step + 1;
  attempt.last_step = run.start.decision.step;
  attempt.dp = run.plan().mesh.dp;
  attempt.pp = run.plan().mesh.pp;
  attempt.schedule = run.plan().schedule_name();
  attempt.version = run.options.version;
  attempt.environment = class_line(run.plan(), environment);
  attempt.policy = run.start.continuation.policy ? ckpt::policy_name(*run.start.continuation.policy) : "";
  attempt.changed = run.start.continuation.changed;
  if (!run.start.continuation.same_data.empty()) attempt.notes.push_back(run.start.continuation.same_data);
  if (run.start.source != nullptr) {
    const std::string difference = recipe::environment_difference(run.state.environment, environment);
    if (!difference.empty()) {
      attempt.notes.push_back("not bitwise: " + difference);
      if (run.root()) log_warn("not bitwise: " + difference);
    } else if (run.root() && run.start.continuation.changes.empty() && run.start.continuation.changed.empty()) {
      log_info("same machine class and settings: continues bit for bit");
    }
  }
  run.state.environment = std::move(environment);
  run.earlier_wall_time = run.state.wall_time_s;
  ckpt::add_attempt(run.state.attempts, std::move(attempt));
}

void announce(RunState& run) {
  if (!run.root()) return;
  for (const std::string& warning : run.plan().warnings) log_warn(warning);
  for (const std::string& warning : run.start.dataset->warnings()) log_warn(warning);
  const LaunchEnv& env = run.options.env;
  if (env.source != "titan")  // our launcher has said it
    if (const std::string line = too_many_threads(env.local_world, run.options.threads, core_share(env.local_world));
        !line.empty())
      log_warn(line);
  for (const recipe::Change& change : run.start.continuation.changes)
    log_warn("changed: " + recipe::change_line(change));
  if (const ckpt::LrPreview* chosen = run.start.continuation.chosen())
    log_warn("LR policy " + recipe::preview_line(*chosen));  // its warnings follow below
  for (const std::string& warning : run.start.continuation.warnings) log_warn(warning);
  if (!run.start.continuation.same_data.empty()) log_info(run.start.continuation.same_data);
  if (const std::string line = recipe::model_source_line(run.start.loaded); !line.empty()) log_info("model: " + line);
  if (run.start.source) {
    const std::string line = recipe::no_longer_given(run.options.loaded, run.start.loaded,
                                                     run.start.source->manifest().config, run.start.stored->state);
    if (!line.empty()) log_warn("model: " + line);
  }
  if (run.start.weight_source)
    for (const std::string& line :
         match_lines(run.start.match, run.start.weight_source->tensors(), run.plan().parameters))
      log_info(line);
  if (run.model_files) log_info(model_files_line(*run.model_files));
  BannerFacts facts;
  if (run.start.source)
    facts.start = "resume at step " + std::to_string(run.start.decision.step) + " from " + run.start.decision.path +
                  ": " + run.start.decision.reason;
  if (run.start.weight_source) facts.start = run.start.decision.reason;
  facts.run_dir = run.config().job.dump_folder;
  facts.first_step = run.start.decision.step + 1;
  facts.last_step = static_cast<std::uint64_t>(run.config().training.steps);
  facts.environment = run.state.environment;
  facts.data = run.data.kind + ", " + std::to_string(run.data.files.size()) +
               (run.data.files.size() == 1 ? " file (" : " files (") + ckpt::file_names(run.data.files) + "), " +
               std::to_string(run.data.samples_per_epoch) + " samples per epoch, " +
               std::to_string(run.start.dataset->validation_samples()) + " held back; at sample " +
               std::to_string(run.data.samples);
  facts.left_out = run.start.dataset->left_out();
  facts.seed = run.state.seed;
  for (const std::string& line : banner_lines(run.plan(), facts)) log_info(line);
  if (run.config().job.print_config) {
    log_info("configuration:");
    std::istringstream lines(recipe::config_toml(run.resolved));
    for (std::string line; std::getline(lines, line);) log_info(line);
  }
}

// Collective, after every rank has heard of `error`: another rank than the one that met it reads the same place. Throws
// where the step is not passed over.
void pass_over(RunState& run, const Status& error) {
  const auto mine = run.watch.place();
  const std::vector<std::string> places = run.world.io->all_gather(mine ? encode_place(*mine) : "");
  const auto met = std::find_if(places.begin(), places.end(), [](const std::string& place) { return !place.empty(); });
  if (met == places.end()) throw StatusError(error);
  const int second = static_cast<int>((met - places.begin() + 1) % run.world.size);
  const auto decide = [&]() -> ckpt::Result<std::uint64_t> {
    TITAN_ASSIGN_OR_RETURN(const StartRequest request, start_request(run.inputs, run.permission));
    TITAN_ASSIGN_OR_RETURN(const ckpt::UnreadablePlace place, ckpt::decode_place(*met));
    return step_to_pass_over(run.config(), request, error, place,
                             [&](const ckpt::UnreadablePlace& at) { return read_again(run.fs, at); });
  };
  const ckpt::Result<std::uint64_t> step = run.world.rank == second ? decide() : ckpt::Result<std::uint64_t>(0);
  check(agree(*run.world.io, step.status()));
  const std::uint64_t passed =
      MessageReader(run.world.io->broadcast(MessageWriter().number(step.ok() ? *step : 0).take(), second)).number();
  if (!run.unreadable.insert(passed).second) throw StatusError(error);
  if (run.root()) log_warn(passed_over_line(passed, error));
  run.watch.forget();
}

// Collective, after every rank has heard of `error`: another rank reads from the store what the one that met the damage
// had loaded. Throws where it finds that whole: a node with bad memory must not cost a step. What manifest and JSON
// members say has one reader for all, and the save that replaces such a step looks again.
void confirm_damage(RunState& run, const Status& error) {
  const std::optional<int> first = first_rank(*run.world.io, run.met_damage);
  run.met_damage = false;
  if (!first) return;
  const int second = (*first + 1) % run.world.size;
  Status verdict;
  if (run.world.rank == second) {
    const bool moments = !run.start.continuation.fresh_optimizer;
    verdict = ckpt::read_part(run.fs, run.start.decision.path, run.start.source->manifest(),
                              {run.plan().parameters, *run.owners, static_cast<std::uint32_t>(*first), moments},
                              run.inputs.stop);
    if (verdict.ok()) {
      verdict = ckpt::failed("rank " + std::to_string(*first) + " met damage in " + run.start.decision.path +
                             " that a second reader does not find in the store")
                    .with_hint("start again; if it comes back, look at the memory and the network of that rank's host");
      verdict.causes.push_back(error.message);
    } else if (verdict.code == ckpt::Code::kCorrupt) {
      verdict = ckpt::ok_status();
    }
  }
  check(agree(*run.world.io, verdict));
}

// Once the run folder is this run's.
StartOutcome start_in_folder(RunState& run) {
  while (true) {
    try {
      choose_start(run);
      run.heed_stop();
      if (run.start.complete) {
        prove_last_step(run);
        if (run.root()) begin_publishing(run, run.start.decision.origin.empty());
        return StartOutcome::kComplete;
      }
      settle(run);
      check_store(run);
      run.heed_stop();
      load_or_init(run);
      if (is_at_stop(run.config(), run.start.decision)) {
        if (run.root()) begin_publishing(run, run.start.decision.origin.empty());
        return StartOutcome::kComplete;  // every byte of it was read: a damaged step is none
      }
      break;
    } catch (const StatusError& error) {
      if (error.status.code == ckpt::Code::kMediaError) {
        pass_over(run, error.status);
        continue;
      }
      if (error.status.code != ckpt::Code::kCorrupt || !run.start.decision.may_fall_back) throw;
      confirm_damage(run, error.status);
      if (run.root())
        log_warn("step " + std::to_string(run.start.decision.step) +
                 " is damaged, trying the next older: " + log_text(error.status));
      run.damaged.insert(run.start.decision.step);
    }
  }
  run.heed_stop();
  keep_house(run);
  begin_attempt(run);
  // What rank 0 cannot write all hear of, so that one error is reported and not also that rank 0 is gone.
  run.on_root([&] {
    return run.files->start(run.resolved, run.start.decision.step, run.state.attempts.back(),
                            run.start.source ? run.start.decision.path : "");
  });
  if (!run.no_log_file.empty()) log_warn(run.no_log_file);
  announce(run);
  // Nothing reads them any more; their files would keep the space of a step that retention deletes.
  run.start.source.reset();
  run.start.weight_source.reset();
  share_start(run);
  run.executor = std::make_unique<Executor>(run.world, run.plan(), run.stages->stages(), planned_table(run));
  if (run.exchange->in_turns())
    run.executor->after_each_backward([&run](std::uint32_t stage, std::uint32_t local, std::span<TreeSum> sums) {
      run.exchange->collect(stage, local, sums);
    });
  if (run.exchange->beside())
    run.executor->work_beside(
        {[&run](std::uint32_t stage, std::size_t place) { run.exchange->await_weights(stage, place); },
         [&run] { run.exchange->await_shared(); },
         [&run](std::uint32_t stage, std::uint32_t local, std::span<TreeSum> sums) {
           run.exchange->begin(stage, local, sums);
         }});
  run.heed_stop();
  return StartOutcome::kReady;
}

}  // namespace

StartOutcome start_run(RunState& run) {
  run.permission = take(recipe::read_permission(run.config(), run.options.allow));
  connect_ranks(run);
  open_run_folder(run);
  try {
    return start_in_folder(run);
  } catch (const StatusError& error) {
    if (!is_stop(error.status)) throw;
    return StartOutcome::kStopped;
  }
}

}  // namespace titan::train
