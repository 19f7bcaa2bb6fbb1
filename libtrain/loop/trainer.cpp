#include "libtrain/loop/trainer.h"

#include <ATen/ATen.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <random>
#include <thread>

#include "ckpt/base/fs.h"
#include "ckpt/io/reader.h"
#include "ckpt/io/run_folder.h"
#include "ckpt/io/run_lock.h"
#include "ckpt/plan/lr_schedule.h"
#include "libtrain/config/drift.h"
#include "libtrain/config/writer.h"
#include "libtrain/data/dataset.h"
#include "libtrain/dist/rendezvous.h"
#include "libtrain/launch/signals.h"
#include "libtrain/loop/banner.h"
#include "libtrain/loop/executor.h"
#include "libtrain/loop/run_files.h"
#include "libtrain/loop/validation.h"
#include "libtrain/metrics/log.h"
#include "libtrain/metrics/metrics.h"
#include "libtrain/model/runtime.h"
#include "libtrain/optim/adamw.h"
#include "libtrain/state/checkpointer.h"
#include "libtrain/state/start.h"

namespace titan::train {
namespace {

using ckpt::Result;
using ckpt::Status;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Who meets an error: all ranks together (rank 0 reports it), or this one alone (it reports, the others lose a peer).
enum class Met { kByAll, kHere };

// A status on its way through code that has no other way out than to end the run.
struct StatusError : std::runtime_error {
  explicit StatusError(Status s, Met m = Met::kByAll) : std::runtime_error(s.message), status(std::move(s)), met(m) {}
  Status status;
  Met met;
};
void check(const Status& status, Met met = Met::kByAll) {
  if (!status.ok()) throw StatusError(status, met);
}
template <typename T>
T take(Result<T> result) {
  if (!result.ok()) throw StatusError(result.status());
  return std::move(result).value();
}

ckpt::Settings runtime_environment(int threads) {
  return {{"blas", blas_name()}, {"device", "cpu"}, {"isa", cpu_isa()}, {"threads_per_rank", std::to_string(threads)}, {"torch", torch_version()}};
}

// training.global_batch_size = -1 was resolved at the first start and stays what it was then.
std::int64_t stored_global_batch(const ckpt::Settings& accepted) {
  for (const auto& [key, value] : accepted) {
    if (key == "training.global_batch_size") return std::stoll(value);
  }
  return 0;
}

class Trainer {
 public:
  explicit Trainer(const TrainOptions& options)
      : options_(options), config_(options.loaded.config), fs_(ckpt::posix_fs()), checkpoint_dir_(ckpt::join_path(config_.job.dump_folder, config_.checkpoint.folder)) {}

  int run();
  const World& world() const { return world_; }
  void shut_down() {
    if (world_.shutdown) world_.shutdown();
  }

 private:
  bool root() const { return world_.rank == 0; }
  /// Runs `body` on rank 0; every rank throws when it failed there.
  void on_root(const std::function<Status()>& body) { check(agree(*world_.io, root() ? body() : ckpt::ok_status())); }

  void connect_ranks();
  void open_run_folder();
  void choose_start();
  void prepare_state();
  void load_or_init();
  void begin_attempt();
  void announce();
  int loop();
  MicroBatch batch(std::uint32_t index, std::uint64_t position);
  void save(std::uint64_t step);
  void validate(std::uint64_t step);
  ckpt::Snapshot snapshot(std::uint64_t step) const;

  const TrainOptions& options_;
  const Config& config_;
  ckpt::Fs& fs_;
  std::string checkpoint_dir_;
  RunPlan plan_;
  World world_;
  std::unique_ptr<RunFiles> files_;              // rank 0
  std::set<std::uint64_t> damaged_;
  StartDecision start_;
  std::unique_ptr<ckpt::CheckpointReader> source_;
  std::unique_ptr<Dataset> dataset_;
  std::unique_ptr<Stage> stage_;
  std::unique_ptr<ShardedAdamW> optimizer_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Checkpointer> checkpointer_;
  ckpt::LrSchedule lr_;
  ckpt::DataPosition data_;
  ckpt::TrainState state_;
  std::uint64_t optimizer_step_ = 0;
  Clock::time_point attempt_start_ = Clock::now();
  double earlier_wall_time_ = 0;
};

void Trainer::connect_ranks() {
  plan_ = take(make_run_plan(config_, static_cast<std::uint32_t>(options_.env.world)));
  ConnectOptions connect_options;
  connect_options.env = options_.env;
  connect_options.mesh = plan_.mesh;
  const auto ms = [](double seconds) { return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000)); };
  connect_options.init_timeout = ms(config_.comm.init_timeout_seconds);
  connect_options.train_timeout = ms(config_.comm.train_timeout_seconds);
  connect_options.io_timeout = ms(config_.checkpoint.io_timeout_seconds);
  world_ = connect(connect_options);
}

void Trainer::open_run_folder() {
  on_root([&]() -> Status {
    auto files = RunFiles::open(fs_, config_, checkpoint_dir_);
    if (!files.ok()) return files.status();
    files_ = std::move(*files);
    return ckpt::ok_status();
  });
}

// Rank 0 decides; everybody opens what it decided on.
void Trainer::choose_start() {
  std::string decision;
  on_root([&]() -> Status {
    auto chosen = decide_start(fs_, {options_.resume, config_.checkpoint.load_step, checkpoint_dir_}, damaged_);
    if (!chosen.ok()) return chosen.status();
    start_ = std::move(*chosen);
    for (const std::string& line : start_.skipped) log_warn("not resumed: " + line);
    return ckpt::ok_status();
  });
  start_.path = world_.io->broadcast(start_.path, 0);
  start_.may_fall_back = world_.io->broadcast(start_.may_fall_back ? "1" : "0", 0) == "1";

  std::uint64_t seed = std::random_device{}();
  if (config_.debug.seed) seed = static_cast<std::uint64_t>(*config_.debug.seed);
  Status status;
  if (!start_.path.empty()) {
    log_info("loading " + start_.path);
    const auto open = [&]() -> Status {
      TITAN_ASSIGN_OR_RETURN(ckpt::CheckpointReader reader, ckpt::CheckpointReader::open(fs_, start_.path));
      source_ = std::make_unique<ckpt::CheckpointReader>(std::move(reader));
      TITAN_ASSIGN_OR_RETURN(lr_, source_->lr_schedule());
      TITAN_ASSIGN_OR_RETURN(data_, source_->data_position());
      TITAN_ASSIGN_OR_RETURN(state_, source_->train_state());
      return ckpt::ok_status();
    };
    status = open();
    start_.step = state_.step;
    seed = state_.seed;
  }
  check(agree(*world_.io, status));
  state_.seed = std::stoull(world_.io->broadcast(std::to_string(seed), 0));
}

void Trainer::prepare_state() {
  const bool resumed = source_ != nullptr;
  const auto steps = static_cast<std::uint64_t>(config_.training.steps);
  if (resumed && start_.step > steps)
    throw StatusError(ckpt::incompatible("the checkpoint is at step " + std::to_string(start_.step) + ", beyond training.steps = " + std::to_string(steps))
                          .with_hint("raise training.steps to more than " + std::to_string(start_.step)));

  plan_ = take(make_run_plan(config_, plan_.mesh.world(), resumed ? stored_global_batch(state_.accepted) : 0));
  auto opened = Dataset::open(config_, state_.seed, static_cast<std::uint64_t>(plan_.dims.vocab_size));
  check(agree(*world_.io, opened.status()));
  dataset_ = std::move(*opened);

  const ckpt::Settings accepted = accepted_settings(config_, plan_, state_.seed, dataset_->origin());
  if (resumed) {
    on_root([&] {
      const std::vector<Drift> drift = find_drift(state_.accepted, accepted);
      return drift.empty() ? ckpt::ok_status() : drift_error(drift, start_.path);
    });
    dataset_->continue_from(data_);
  } else {
    lr_ = ckpt::schedule_from(plan_.lr);
    data_ = dataset_->origin();
    state_.accepted = accepted;
  }
}

void Trainer::load_or_init() {
  const std::int64_t max_seq = std::max(plan_.batch.seq_len, dataset_->validation_seq_len());
  stage_ = std::make_unique<Stage>(plan_, static_cast<std::uint32_t>(world_.stage), max_seq);
  AdamWOptions adamw{config_.optimizer.beta1, config_.optimizer.beta2, config_.optimizer.eps, config_.optimizer.weight_decay};
  optimizer_ = std::make_unique<ShardedAdamW>(plan_, ckpt::kDefaultLeafElements, world_, *stage_, adamw);
  checkpointer_ = std::make_unique<Checkpointer>(fs_, world_, checkpoint_dir_, ckpt::kDefaultLeafElements);

  if (source_ == nullptr) {
    stage_->init_weights(state_.seed);
    stage_->refresh();
    return;
  }
  check(agree(*world_.io, checkpointer_->load(*source_, plan_, *stage_, *optimizer_)));
  optimizer_step_ = source_->manifest().parameters.empty() ? 0 : source_->manifest().parameters.front().optimizer_step;
}

void Trainer::begin_attempt() {
  ckpt::Settings environment = runtime_environment(options_.threads);
  ckpt::Attempt attempt;
  attempt.number = state_.attempts.empty() ? 1 : state_.attempts.back().number + 1;
  attempt.started = utc_now();
  attempt.first_step = start_.step + 1;
  attempt.last_step = start_.step;
  attempt.dp = plan_.mesh.dp;
  attempt.pp = plan_.mesh.pp;
  attempt.schedule = plan_.schedule;
  attempt.version = options_.version;
  attempt.environment = class_line(plan_, environment);
  if (source_ != nullptr) {
    const std::string difference = environment_difference(state_.environment, environment);
    if (!difference.empty()) {
      attempt.notes.push_back("not bitwise: " + difference);
      if (root()) log_warn("not bitwise: " + difference);
    } else if (root()) {
      log_info("same class: bitwise continuation");
    }
  }
  state_.environment = std::move(environment);
  earlier_wall_time_ = state_.wall_time_s;
  state_.attempts.push_back(std::move(attempt));
}

void Trainer::announce() {
  if (!root()) return;
  for (const std::string& warning : plan_.warnings) log_warn(warning);
  BannerFacts facts;
  facts.start = (source_ ? "resume at step " + std::to_string(start_.step) + " from " + start_.path + ": " : "") + start_.reason;
  facts.run_dir = config_.job.dump_folder;
  facts.first_step = start_.step + 1;
  facts.last_step = static_cast<std::uint64_t>(config_.training.steps);
  facts.environment = state_.environment;
  facts.data = data_.kind + ", " + std::to_string(data_.files.size()) + " files, " + std::to_string(data_.samples_per_epoch) + " samples per epoch, " +
               std::to_string(dataset_->validation_samples()) + " held back; at sample " + std::to_string(data_.samples);
  for (const std::string& line : banner_lines(plan_, facts)) log_info(line);
}

MicroBatch Trainer::batch(std::uint32_t index, std::uint64_t position) {
  const std::int64_t rows = plan_.batch.micro, length = plan_.batch.seq_len + 1;
  const at::Tensor tokens = at::empty({rows, length}, at::kLong);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::uint64_t sample = position + std::uint64_t{index} * static_cast<std::uint64_t>(rows) + static_cast<std::uint64_t>(row);
    check(dataset_->sample(sample, {tokens.data_ptr<std::int64_t>() + row * length, static_cast<std::size_t>(length)}), Met::kHere);
  }
  return {tokens.slice(1, 0, length - 1).contiguous(), tokens.slice(1, 1, length).contiguous()};
}

ckpt::Snapshot Trainer::snapshot(std::uint64_t step) const {
  ckpt::Snapshot snap;
  snap.parameters = plan_.parameters;
  snap.mesh = plan_.mesh;
  snap.stage_cuts = plan_.stage_cuts;
  snap.optimizer_step = optimizer_step_;
  snap.lr = lr_;
  snap.data = data_;
  snap.train = state_;
  snap.train.step = step;
  snap.train.wall_time_s = earlier_wall_time_ + seconds_since(attempt_start_);
  snap.train.attempts.back().last_step = step;
  snap.config = resolved_settings(config_);
  snap.writer = options_.version;
  snap.created = utc_now();
  return snap;
}

void Trainer::save(std::uint64_t step) {
  on_root([&] { return files_->still_ours(); });
  if (root()) {
    log_info("save begin step=" + std::to_string(step));
    check(files_->metrics->event(step, "save_begin", {}));
    // Lines first, checkpoint second: a published step never lacks its lines.
    check(files_->metrics->sync());
  }
  const auto report = checkpointer_->save(snapshot(step), *optimizer_, [&](const std::string& tmp) { log_info("save writing step=" + std::to_string(step) + " into " + tmp); });
  if (!report.ok()) throw StatusError(report.status().wrapped("step " + std::to_string(step) + " could not be saved"));
  if (!root()) return;
  check(files_->metrics->event(step, "save_commit",
                               {{"path", report->path}, {"id", report->id.hex()}, {"bytes", report->bytes}, {"seconds", report->seconds}}));
  check(files_->metrics->sync());
  log_info("step " + std::to_string(step) + " saved: " + report->path + " id=" + report->id.hex() + " bytes=" + std::to_string(report->bytes) +
           " seconds=" + json_number(report->seconds) + (report->already_there ? " (an equal step was there already)" : ""));
  // After a fall-back, nothing is deleted before one save has succeeded: this one has.
  std::vector<std::string> deleted;
  for (const std::string& problem : checkpointer_->retain(static_cast<std::uint64_t>(config_.checkpoint.keep_latest_k), &deleted)) log_warn("retention: " + problem);
  for (const std::string& name : deleted) log_info("retention removed " + name);
}

void Trainer::validate(std::uint64_t step) {
  if (!config_.validation.enable) return;
  const auto start = Clock::now();
  const ValidationResult result = run_validation(world_, *executor_, *dataset_, config_);
  if (!root()) return;
  const double seconds = seconds_since(start);
  options_.out(validation_line(step, result.loss, static_cast<double>(result.tokens) / seconds / world_.size, options_.color));
  check(files_->metrics->event(step, "validation", {{"validation_loss", result.loss}, {"validation_tokens", result.tokens}, {"time_s", seconds}}));
}

int Trainer::loop() {
  const auto steps = static_cast<std::uint64_t>(config_.training.steps);
  const auto stop_at = static_cast<std::uint64_t>(config_.debug.stop_at_step.value_or(0));
  const auto tokens_per_step = static_cast<std::uint64_t>(plan_.batch.tokens_per_step());
  const double flops = flops_per_token(plan_);
  if (stop_at != 0 && !config_.checkpoint.enable)
    throw StatusError(ckpt::invalid("debug.stop_at_step = " + std::to_string(stop_at) + " saves a step, but checkpoint.enable = false").with_hint("leave one of them out"));
  if (stop_at != 0 && start_.step >= stop_at && start_.step < steps) {
    if (root()) log_info("already at debug.stop_at_step = " + std::to_string(stop_at));
    return 75;
  }

  for (std::uint64_t step = start_.step + 1; step <= steps; ++step) {
    const auto begin = Clock::now();
    double data_seconds = 0;
    const double lr = ckpt::lr_at(lr_.phases, step);

    Executor::StepOutput out = executor_->run_step(
        [&](std::uint32_t index) {
          const auto data_begin = Clock::now();
          MicroBatch micro = batch(index, data_.samples);
          data_seconds += seconds_since(data_begin);
          return micro;
        },
        tokens_per_step);
    std::vector<OwnedGradient> grads = reduce_gradients(world_, plan_, ckpt::kDefaultLeafElements, *stage_, out.sums);

    // One element per micro-batch, each set by one rank; the last counts ranks that were asked to stop.
    at::Tensor shared = at::zeros({plan_.batch.count + 1}, at::kDouble);
    std::copy(out.losses.begin(), out.losses.end(), shared.data_ptr<double>());
    shared.data_ptr<double>()[plan_.batch.count] = stop_requested() ? 1 : 0;
    world_.all->all_reduce_sum(shared);
    double loss_sum = 0;
    for (std::int64_t i = 0; i < plan_.batch.count; ++i) loss_sum += shared.data_ptr<double>()[i];
    const double loss = loss_sum / static_cast<double>(tokens_per_step);
    const bool stop = shared.data_ptr<double>()[plan_.batch.count] > 0;
    const double norm = global_grad_norm(world_, plan_, ckpt::kDefaultLeafElements, grads);

    if (!std::isfinite(loss) || !std::isfinite(norm)) {
      Status status = ckpt::failed("step " + std::to_string(step) + ": non-finite " + (std::isfinite(loss) ? "gradient norm " + json_number(norm) : "loss " + json_number(loss)) +
                                   "; nothing was updated or saved");
      if (root()) check(files_->metrics->event(step, "non_finite", {{"value", json_number(std::isfinite(loss) ? norm : loss)}}));
      throw StatusError(status.with_hint("the newest checkpoint is intact; lower optimizer.lr or look at the data of this step (samples " +
                                         std::to_string(data_.samples) + " to " + std::to_string(data_.samples + static_cast<std::uint64_t>(plan_.batch.global) - 1) + ")"));
    }

    optimizer_->step(grads, lr, clip_coefficient(norm, config_.training.max_norm), optimizer_step_ + 1);
    share_weights(world_, plan_, ckpt::kDefaultLeafElements, *stage_);

    const std::uint64_t old_epoch = dataset_->epoch(data_.samples);
    data_.samples += static_cast<std::uint64_t>(plan_.batch.global);
    state_.tokens += tokens_per_step;
    state_.step = step;
    ++optimizer_step_;

    if (root()) {
      StepMetrics metrics{step, loss, norm, lr, state_.tokens, 0, seconds_since(begin), data_seconds};
      metrics.tps = static_cast<double>(tokens_per_step) / metrics.time_s / world_.size;
      check(files_->metrics->step(metrics));
      if (step == start_.step + 1 || step % static_cast<std::uint64_t>(config_.metrics.log_freq) == 0 || step == steps)
        options_.out(step_line(metrics, std::nullopt, flops * metrics.tps / 1e12, options_.color));
      if (dataset_->epoch(data_.samples) != old_epoch) {
        log_info("epoch " + std::to_string(dataset_->epoch(data_.samples)) + " begins within step " + std::to_string(step));
        check(files_->metrics->event(step, "epoch", {{"epoch", dataset_->epoch(data_.samples)}}));
      }
    }

    const bool last = step == steps;
    const bool halt = !last && (stop || step == stop_at);
    const bool due = step % static_cast<std::uint64_t>(config_.checkpoint.interval) == 0 || (step == 1 && config_.checkpoint.enable_first_step_checkpoint);
    if (halt && root() && config_.checkpoint.enable) log_info("saving step " + std::to_string(step) + " then exiting" + (stop ? " (stop requested)" : " (debug.stop_at_step)"));
    if (config_.checkpoint.enable && (due || last || halt)) save(step);
    if (config_.validation.enable && (last || step % static_cast<std::uint64_t>(config_.validation.freq) == 0)) validate(step);
    if (halt && !config_.checkpoint.enable) {
      if (root()) log_warn("stopped without a save: checkpoint.enable = false");
      return stop_signal() == SIGINT ? 130 : 143;
    }
    if (halt) return 75;
  }
  if (root()) log_info("training completed at step " + std::to_string(steps));
  return 0;
}

int Trainer::run() {
  connect_ranks();
  open_run_folder();
  while (true) {
    choose_start();
    if (source_ != nullptr && start_.step == static_cast<std::uint64_t>(config_.training.steps)) {
      if (root()) log_info("complete: " + start_.path + " is at training.steps = " + std::to_string(start_.step));
      return 0;
    }
    prepare_state();
    try {
      load_or_init();
      break;
    } catch (const StatusError& error) {
      if (error.status.code != ckpt::Code::kCorrupt || !start_.may_fall_back) throw;
      if (root()) log_warn("step " + std::to_string(start_.step) + " is damaged, trying the next older: " + error.status.to_string());
      damaged_.insert(start_.step);
      source_.reset();
      state_ = {};
    }
  }
  checkpointer_->mark_damaged(damaged_);
  begin_attempt();
  if (root()) check(files_->start(config_, start_.step, state_.attempts.back(), source_ ? start_.path : ""));
  announce();
  executor_ = std::make_unique<Executor>(world_, plan_, *stage_);
  attempt_start_ = Clock::now();
  const int code = loop();
  if (root()) check(files_->close());
  return code;
}

}  // namespace

TrainOutcome train(const TrainOptions& options) {
  setup_determinism(options.threads);
  init_log(options.env.rank, options.loaded.config.job.dump_folder);
  Trainer trainer(options);
  TrainOutcome outcome;
  try {
    outcome.exit_code = trainer.run();
    trainer.shut_down();
  } catch (const StatusError& error) {
    outcome.status = error.status;
    outcome.exit_code = ckpt::exit_code(error.status.code);
    outcome.report = error.met == Met::kHere || options.env.rank == 0;
  } catch (const CommError& error) {
    outcome.status = ckpt::failed(error.what());
    outcome.exit_code = 3;
    // Every survivor notices; one of them says so: rank 0, or rank 1 where rank 0 is the one that was lost.
    const bool lost_root = outcome.status.message.rfind("rank 0 ", 0) == 0;
    outcome.report = options.env.rank == (lost_root ? 1 : 0);
  } catch (const std::exception& error) {
    outcome.status = ckpt::failed("rank " + std::to_string(options.env.rank) + ": " + error.what());
    outcome.exit_code = 3;
  }
  if (!outcome.status.ok()) log_debug("ends with: " + outcome.status.to_string());
  flush_log();
  return outcome;
}

int choose_threads(const Config& config, const std::string& resume, int local_ranks) {
  if (config.job.threads_per_rank > 0) return static_cast<int>(config.job.threads_per_rank);
  ckpt::Fs& fs = ckpt::posix_fs();
  const auto start = decide_start(fs, {resume, config.checkpoint.load_step, ckpt::join_path(config.job.dump_folder, config.checkpoint.folder)}, {});
  if (start.ok() && !start->path.empty()) {
    const auto reader = ckpt::CheckpointReader::open(fs, start->path);
    const auto state = reader.ok() ? reader->train_state() : Result<ckpt::TrainState>(reader.status());
    if (state.ok()) {
      for (const auto& [key, value] : state->environment) {
        if (key == "threads_per_rank") return std::max(1, std::stoi(value));
      }
    }
  }
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return std::max(1, cores / std::max(1, local_ranks));
}

}  // namespace titan::train
