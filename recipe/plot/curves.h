#pragma once
// What a run's metrics.jsonl has to say to a plot: curves, validation points, and where starts lie.
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "recipe/plot/ema.h"
#include "recipe/plot/thin.h"
#include "recipe/record/run_metrics.h"

namespace titan::recipe {

enum class Quantity { kLoss, kLr, kGradNorm, kTps };
inline constexpr std::array kQuantities = {Quantity::kLoss, Quantity::kLr, Quantity::kGradNorm, Quantity::kTps};
/// As --y and the JSON name it: "loss", "lr", "grad_norm", "tps".
const char* quantity_name(Quantity quantity);
/// What stands above its panel: "loss (nats per token)".
const char* quantity_title(Quantity quantity);

enum class XAxis { kStep, kTokens };
const char* x_name(XAxis axis);  ///< "step", "tokens"

struct CurveOptions {
  XAxis x = XAxis::kStep;
  std::optional<double> from, to;  ///< of x, both included
  double smooth = 0;               ///< weight of an Ema; 0: none
  std::size_t buckets = 1024;      ///< of Thin
};

struct Curve {
  std::vector<Point> points, smooth;  ///< smooth: empty without smoothing, and of the learning rate. Thinned
  std::uint64_t count = 0;            ///< of finite values within the range
  std::uint64_t non_finite = 0;
  std::optional<double> first_non_finite;  ///< its x
  std::optional<Point> last, least;
};

/// A start that went on from a checkpoint.
struct RestartMark {
  std::uint64_t step = 0;  ///< of the checkpoint
  double x = 0;
  std::string change;  ///< "2x2 -> 4x1 (DP x PP)"; empty where the layout stayed
  bool operator==(const RestartMark&) const = default;
};

struct RunCurves {
  std::string name;  ///< in legends
  std::string path;  ///< of its metrics.jsonl
  std::array<Curve, kQuantities.size()> curves;
  std::vector<Point> validation;  ///< mean loss, thinned
  std::vector<RestartMark> restarts;
  std::uint64_t steps = 0, first_step = 0, last_step = 0;  ///< of the lines within the range
  std::uint64_t without_x = 0;                             ///< lines that lack tokens
  bool tps_of_a_rank = false;                              ///< the number of ranks is not known
  MetricsProblems problems;
  const Curve& of(Quantity quantity) const { return curves[static_cast<std::size_t>(quantity)]; }
  /// What the reader of a plot should know: problems of the file, values that are not finite.
  std::vector<std::string> notes(XAxis x) const;
};

/// Takes the lines of one run that count, in order. Pure.
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
  std::vector<std::size_t> unplaced_;  ///< restarts that wait for the x of the next step
  std::optional<double> x_;            ///< of the last step
  double dp_ = 0, pp_ = 0;             ///< 0: not known
  std::string schedule_;
};

/// Reads one run. `run` is what a user typed. \error kNotFound (no file, no step in it), those of read_metrics
ckpt::Result<RunCurves> read_curves(ckpt::Fs& fs, const std::string& run, const CurveOptions& options);

/// Names that tell runs apart: the last part of each path, or the whole path where that is not enough.
std::vector<std::string> run_names(ckpt::Fs& fs, const std::vector<std::string>& runs);

}  // namespace titan::recipe
