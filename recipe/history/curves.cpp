#include "recipe/history/curves.h"

#include <algorithm>
#include <cmath>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/printed.h"
#include "recipe/history/ticks.h"

namespace titan::recipe {
namespace {

using ckpt::Result;

constexpr const char* kNames[] = {"loss", "lr", "grad_norm", "tps"};
constexpr const char* kTitles[] = {"loss (nats per token)", "learning rate", "gradient norm before clipping",
                                   "tokens per second, all ranks"};

std::string mesh(double dp, double pp) {
  return std::to_string(static_cast<std::uint64_t>(dp)) + "x" + std::to_string(static_cast<std::uint64_t>(pp));
}

/// Whether dp or pp of a line is a small whole number.
bool is_degree(const std::optional<double>& value) {
  return value && *value >= 1 && *value <= 1e9 && std::floor(*value) == *value;
}

std::string times(std::uint64_t count) { return ckpt::counted(count, "step"); }

}  // namespace

double Ema::add(double value) {
  if (!std::isfinite(value)) return value;
  sum_ = weight_ * sum_ + (1 - weight_) * value;
  missing_ *= weight_;
  return sum_ / (1 - missing_);
}

const char* quantity_name(Quantity quantity) { return kNames[static_cast<std::size_t>(quantity)]; }
const char* quantity_title(Quantity quantity) { return kTitles[static_cast<std::size_t>(quantity)]; }
const char* x_name(XAxis axis) { return axis == XAxis::kStep ? "step" : "tokens"; }

std::vector<std::string> RunCurves::notes(XAxis x) const {
  std::vector<std::string> notes = problems.notes(path);
  if (without_x > 0) notes.push_back(path + ": " + times(without_x) + " without `tokens` left out");
  for (const Quantity quantity : kQuantities) {
    const Curve& curve = of(quantity);
    if (curve.non_finite == 0) continue;
    notes.push_back(name + ": " + quantity_name(quantity) + " is not finite at " + times(curve.non_finite) + ", from " +
                    x_name(x) + " " + tick_label(*curve.first_non_finite, 1) + " on");
  }
  if (tps_of_a_rank) notes.push_back(path + ": the number of ranks is not known; tps is that of one rank");
  return notes;
}

CurveBuilder::CurveBuilder(const CurveOptions& options)
    : options_(options), makers_(kQuantities.size(), Maker(options)), validation_(options.buckets) {}

bool CurveBuilder::inside(double x) const {
  return (!options_.from || x >= *options_.from) && (!options_.to || x <= *options_.to);
}

void CurveBuilder::value(Quantity quantity, double x, const std::optional<double>& given) {
  if (!given) return;
  Maker& maker = makers_[static_cast<std::size_t>(quantity)];
  // The moving average also takes the values before the range.
  const double average = maker.ema.add(*given);
  if (!inside(x)) return;
  Curve& curve = maker.curve;
  if (!std::isfinite(*given)) {
    if (curve.non_finite++ == 0) curve.first_non_finite = x;
    return;
  }
  const Point point{x, *given};
  ++curve.count;
  curve.last = point;
  if (!curve.least || point.y < curve.least->y) curve.least = point;
  maker.raw.add(point);
  // The learning rate has no noise, so it is not smoothed.
  if (options_.smooth > 0 && quantity != Quantity::kLr) maker.smooth.add({x, average});
}

void CurveBuilder::start(const MetricsLine& line) {
  std::string change;
  if (is_degree(line.dp) && is_degree(line.pp)) {
    if (dp_ > 0 && (dp_ != *line.dp || pp_ != *line.pp))
      change = mesh(dp_, pp_) + " -> " + mesh(*line.dp, *line.pp) + " (DP x PP)";
    dp_ = *line.dp;
    pp_ = *line.pp;
  } else {
    dp_ = pp_ = 0;
  }
  if (!schedule_.empty() && !line.schedule.empty() && schedule_ != line.schedule)
    change += (change.empty() ? "" : ", ") + schedule_ + " -> " + line.schedule;
  if (!line.schedule.empty()) schedule_ = line.schedule;
  if (line.event != "resume") return;
  RestartMark mark{line.step, static_cast<double>(line.step), std::move(change)};
  if (options_.x == XAxis::kTokens) {
    if (x_) {
      mark.x = *x_;
    } else {
      unplaced_.push_back(run_.restarts.size());
    }
  }
  run_.restarts.push_back(std::move(mark));
}

void CurveBuilder::step(const MetricsLine& line) {
  const bool has_x = options_.x == XAxis::kStep || (line.tokens && std::isfinite(*line.tokens));
  if (!has_x) {
    ++run_.without_x;
    return;
  }
  const double x = options_.x == XAxis::kStep ? static_cast<double>(line.step) : *line.tokens;
  for (const std::size_t i : unplaced_) run_.restarts[i].x = x;
  unplaced_.clear();
  x_ = x;
  value(Quantity::kLoss, x, line.loss);
  value(Quantity::kLr, x, line.lr);
  value(Quantity::kGradNorm, x, line.grad_norm);
  std::optional<double> tps = line.tps_total;
  if (!tps && line.tps) tps = *line.tps * (ranks() > 0 ? ranks() : 1);
  value(Quantity::kTps, x, tps);
  if (!inside(x)) return;
  run_.tps_of_a_rank |= !line.tps_total && line.tps && ranks() == 0;
  if (run_.steps++ == 0) run_.first_step = line.step;
  run_.last_step = line.step;
}

void CurveBuilder::take(const MetricsLine& line) {
  if (line.is_start()) {
    start(line);
  } else if (line.is_step()) {
    step(line);
  } else if (line.event == "validation" && line.validation_loss && std::isfinite(*line.validation_loss)) {
    // A validation comes after its step; at step 0 no token has been seen yet.
    const double x = options_.x == XAxis::kStep ? static_cast<double>(line.step) : x_.value_or(0);
    if (inside(x)) validation_.add({x, *line.validation_loss});
  }
}

RunCurves CurveBuilder::finish() {
  for (std::size_t i = 0; i < makers_.size(); ++i) {
    run_.curves[i] = std::move(makers_[i].curve);
    run_.curves[i].points = makers_[i].raw.points();
    run_.curves[i].smooth = makers_[i].smooth.points();
  }
  run_.validation = validation_.points();
  std::erase_if(run_.restarts, [&](const RestartMark& mark) { return !inside(mark.x); });
  return std::move(run_);
}

Result<RunCurves> read_curves(ckpt::Fs& fs, const std::string& run, const CurveOptions& options) {
  TITAN_ASSIGN_OR_RETURN(const std::string path, find_metrics(fs, run));
  CurveBuilder builder(options);
  TITAN_ASSIGN_OR_RETURN(MetricsProblems problems,
                         read_metrics(fs, path, [&](const MetricsLine& line) { builder.take(line); }));
  RunCurves curves = builder.finish();
  curves.path = path;
  curves.problems = std::move(problems);
  if (curves.steps > 0) return curves;
  if (curves.without_x > 0)
    return ckpt::not_found("the steps in " + path + " have no `tokens`").with_hint("plot them over steps: --x step");
  if (options.from || options.to)
    return ckpt::not_found(path + " has no step between --from and --to")
        .with_hint("both are in the units of the x axis: steps, or tokens with --x tokens");
  return ckpt::not_found(path + " has no step yet").with_hint("a run adds one line for each step that it has done");
}

std::vector<std::string> run_names(ckpt::Fs& fs, const std::vector<std::string>& runs) {
  std::vector<std::string> names;
  for (const std::string& run : runs) {
    std::string path = fs.real_path(run).ok() ? *fs.real_path(run) : run;
    for (const char* inner : {"metrics.jsonl", "checkpoint"})
      if (ckpt::base_name(path) == inner && ckpt::parent_path(path) != "/") path = ckpt::parent_path(path);
    names.push_back(ckpt::base_name(path));
  }
  std::vector<std::string> told = names;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (std::count(names.begin(), names.end(), names[i]) > 1) told[i] = ckpt::without_slashes(runs[i]);
  return told;
}

}  // namespace titan::recipe
