#pragma once
// The data of a plot, from a run's metrics.jsonl: values, validation points, and marks of starts.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "recipe/history/run_metrics.h"
#include "recipe/history/thin.h"

namespace titan::recipe {

/// What can be plotted: training loss, learning rate, gradient norm, tokens per second.
enum class Quantity { kLoss, kLr, kGradNorm, kTps };
inline constexpr std::array kQuantities = {Quantity::kLoss, Quantity::kLr, Quantity::kGradNorm, Quantity::kTps};
/// The name in --y and the JSON: "loss", "lr", "grad_norm", "tps".
const char* quantity_name(Quantity quantity);
/// The title of its panel: "loss (nats per token)".
const char* quantity_title(Quantity quantity);

enum class XAxis { kStep, kTokens };
const char* x_name(XAxis axis);  ///< "step", "tokens"

struct CurveOptions {
  XAxis x = XAxis::kStep;
  std::optional<double> from, to;  ///< range of x, inclusive
  double smooth = 0;               ///< weight for Ema; 0: no smoothing
  std::size_t buckets = 1024;      ///< for Thin
};

/// An exponential moving average with bias correction.
/// After n values x: s = w s + (1 - w) x, and the average is s / (1 - w^n). The average of one value is that value.
class Ema {
 public:
  /// `weight` of earlier values, 0 <= weight < 1.
  explicit Ema(double weight) : weight_(weight) {}
  /// Adds `value` and returns the average. A non-finite value is returned and otherwise ignored.
  double add(double value);

 private:
  double weight_, sum_ = 0, missing_ = 1;  ///< missing_: w^n
};

/// One quantity of one run.
struct Curve {
  std::vector<Point> points, smooth;  ///< thinned; `smooth` is empty without smoothing, and for the learning rate
  std::uint64_t count = 0;            ///< number of finite values within the range
  std::uint64_t non_finite = 0;
  std::optional<double> first_non_finite;  ///< x of the first non-finite value
  std::optional<Point> last, least;        ///< the last point, and the one with the lowest value
};

/// A start that resumed from a checkpoint.
struct RestartMark {
  std::uint64_t step = 0;  ///< step of the checkpoint
  double x = 0;            ///< its position on the x axis
  std::string change;      ///< "2x2 -> 4x1 (DP x PP), 1F1B -> GPipe"; empty if neither changed
  bool operator==(const RestartMark&) const = default;
};

/// All curves of one run.
struct RunCurves {
  std::string name;  ///< for the legend
  std::string path;  ///< path of its metrics.jsonl
  std::array<Curve, kQuantities.size()> curves;
  std::vector<Point> validation;  ///< mean validation loss, thinned
  std::vector<RestartMark> restarts;
  std::uint64_t steps = 0, first_step = 0, last_step = 0;  ///< from the lines within the range
  std::uint64_t without_x = 0;                             ///< number of lines that lack tokens
  bool tps_of_a_rank = false;  ///< tps is per rank, because the number of ranks is not known
  MetricsProblems problems;
  const Curve& of(Quantity quantity) const { return curves[static_cast<std::size_t>(quantity)]; }
  /// Notes for the reader of the plot: problems of the file, non-finite values.
  std::vector<std::string> notes(XAxis x) const;
};

/// Builds the curves from the valid lines of one run, in order. Pure.
class CurveBuilder {
 public:
  explicit CurveBuilder(const CurveOptions& options);
  void take(const MetricsLine& line);
  RunCurves finish();

 private:
  struct Maker {
    Maker(const CurveOptions& options)
        : raw(options.buckets), smooth(options.buckets), ema(options.smooth) {}  // NOLINT
    Thin raw, smooth;
    Ema ema;
    Curve curve;
  };
  bool inside(double x) const;
  void value(Quantity quantity, double x, const std::optional<double>& value);
  void start(const MetricsLine& line);
  void step(const MetricsLine& line);
  double ranks() const { return dp_ * pp_; }

  CurveOptions options_;
  std::vector<Maker> makers_;
  Thin validation_;
  RunCurves run_;
  std::vector<std::size_t> unplaced_;  ///< restarts that need the x of the next step
  std::optional<double> x_;            ///< x of the last step
  double dp_ = 0, pp_ = 0;             ///< 0: unknown
  std::string schedule_;
};

/// Reads one run; `run` is as the user typed it. \error kNotFound (no file, or no step within the range), the errors of
/// read_metrics
ckpt::Result<RunCurves> read_curves(ckpt::Fs& fs, const std::string& run, const CurveOptions& options);

/// Names of different runs that distinguish them: the name of the run's folder, or the path as typed for runs whose
/// folders have the same name.
std::vector<std::string> run_names(ckpt::Fs& fs, const std::vector<std::string>& runs);

}  // namespace titan::recipe
