#pragma once
// The LR declaration and the data position as a checkpoint stores them (pure values).
// \source FORMAT.md, "lr_scheduler.json" and "dataloader.json"
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ckpt/base/hash.h"

namespace titan::ckpt {

enum class PhaseKind { kLinear, kSqrt, kCosine, kConstant };

/// One phase of a learning-rate curve. For step n (1-based) the last phase with first <= n applies:
/// lr(n) = end + (start - end) * g(clamp((n - origin) / length, 0, 1)), with g linear 1-p, sqrt 1-sqrt(p),
/// cosine (1+cos(pi p))/2, constant 1.
struct LrPhase {
  std::uint64_t first = 1;
  PhaseKind kind = PhaseKind::kConstant;
  double start = 0, end = 0;
  double origin = 0, length = 0;
  bool operator==(const LrPhase&) const = default;
};

/// The settings of the config that the phases came from; drift is config against these, never against phases.
struct LrSettings {
  double peak = 0;                 ///< optimizer.lr
  std::uint64_t warmup_steps = 0;  ///< lr_scheduler.warmup_steps, as configured
  std::uint64_t total_steps = 0;   ///< lr_scheduler.total_steps, else training.steps
  std::optional<double> decay_ratio;
  std::string decay_type = "linear";  ///< linear, sqrt, cosine
  double min_lr_factor = 0;
  bool operator==(const LrSettings&) const = default;
};

struct LrSchedule {
  std::vector<LrPhase> phases;
  LrSettings accepted;
  bool operator==(const LrSchedule&) const = default;
};

/// One data file as the fingerprint sees it (no folder names).
struct DataFile {
  std::string name;  ///< base name
  std::uint64_t bytes = 0;
  Digest blocks;  ///< digest of 64 blocks at fixed positions
  bool operator==(const DataFile&) const = default;
};

/// Where the run is in its data: one number, independent of ranks.
struct DataPosition {
  std::uint64_t samples = 0;  ///< consumed since the start of the permutation sequence
  /// value of `samples` at which epoch `first_epoch` began (a changed dataset starts a new one)
  std::uint64_t epoch_base = 0;
  std::uint64_t first_epoch = 0;  ///< epoch number at `epoch_base`
  std::uint64_t seed = 0;
  bool shuffle = true;
  std::uint64_t seq_len = 0;
  std::uint64_t sample_stride = 0;
  std::uint64_t samples_per_epoch = 0;
  std::string kind;       ///< "text" or "tokens"
  std::string tokenizer;  ///< "byte", or the digest of a tokenizer file, "none" for token files
  std::vector<DataFile> files;
  bool operator==(const DataPosition&) const = default;
};

/// One start of the run that led to this checkpoint.
struct Attempt {
  std::uint32_t number = 1;
  std::string started;           ///< RFC 3339 UTC
  std::uint64_t first_step = 1;  ///< first step that it trained
  std::uint64_t last_step = 0;   ///< last step so far
  std::uint32_t dp = 1, pp = 1;
  std::string schedule;              ///< pipeline schedule
  std::string version;               ///< titan version and git hash
  std::string environment;           ///< libraries, BLAS, ISA, device, threads: one line
  std::string policy;                ///< LR policy applied at this start, empty for none
  std::vector<std::string> changed;  ///< keys that differed and were allowed, "key: old -> new"
  std::vector<std::string> notes;    ///< environment drift and the like
  bool operator==(const Attempt&) const = default;
};

/// Sorted (key, canonical text) pairs; equal settings have equal text.
using Settings = std::vector<std::pair<std::string, std::string>>;

struct TrainState {
  std::uint64_t step = 0;
  std::uint64_t tokens = 0;  ///< seen so far
  std::uint64_t seed = 0;    ///< run seed
  std::string origin;        ///< id of the checkpoint that this run was started from, empty for none
  double wall_time_s = 0;    ///< training time over all attempts
  std::vector<Attempt> attempts;
  Settings accepted;     ///< curve-shaping settings in force, on derived values (drift compares these)
  Settings environment;  ///< the rest of the equivalence class: libraries, BLAS, ISA, device
  bool operator==(const TrainState&) const = default;
};

}  // namespace titan::ckpt
