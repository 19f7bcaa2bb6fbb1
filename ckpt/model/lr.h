#pragma once
// The LR schedule as a checkpoint stores it (plain values). \source FORMAT.md, "lr_scheduler.json"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace titan::ckpt {

enum class PhaseKind { kLinear, kSqrt, kCosine, kConstant };
const char* phase_kind_name(PhaseKind kind);  ///< "linear", "sqrt", "cosine", "constant"

/// One phase of an LR schedule. For step n (1-based) the last phase with first <= n applies (if there is none, the
/// first phase):
///   lr(n) = end + (start - end) * g(p), p = clamp((n - origin) / length, 0, 1); for length 0: p = n < origin ? 0 : 1
/// with g(p) = 1 - p (linear), 1 - sqrt(p) (sqrt), (1 + cos(pi p)) / 2 (cosine) or 1 (constant).
struct LrPhase {
  std::uint64_t first = 1;
  PhaseKind kind = PhaseKind::kConstant;
  double start = 0, end = 0;
  double origin = 0, length = 0;
  bool operator==(const LrPhase&) const = default;
};

/// The configured settings from which the phases were made. Drift is found by comparing a configuration with these
/// settings, not with the phases.
struct LrSettings {
  double peak = 0;                 ///< optimizer.lr
  std::uint64_t warmup_steps = 0;  ///< lr_scheduler.warmup_steps, as configured
  std::uint64_t total_steps = 0;   ///< lr_scheduler.total_steps, else training.steps
  std::optional<double> decay_ratio;
  std::string decay_type = "linear";  ///< linear, sqrt, cosine
  double min_lr_factor = 0;
  bool operator==(const LrSettings&) const = default;
};

/// The phases in order, and the settings that were accepted last.
struct LrSchedule {
  std::vector<LrPhase> phases;
  LrSettings accepted;
  bool operator==(const LrSchedule&) const = default;
};

}  // namespace titan::ckpt
