#pragma once
// Checks before a run that all ids that it will read are in the vocabulary, up to a limit of tokens.
#include <cstdint>
#include <string>

#include "ckpt/base/result.h"
#include "libtrain/job/data/dataset.h"

namespace titan::recipe {
struct Config;
}

namespace titan::train {

using ckpt::Status;

struct TokenScan {
  std::uint64_t checked = 0;  ///< samples scanned
  std::uint64_t to_read = 0;  ///< samples that the run will read: at most the rest of this epoch and one more; if
                              ///< their order is not known yet, all samples of an epoch
  Status refused;             ///< kInvalid: the error with which the run would end, and at which step
  std::string warning;        ///< about a bad id that the run may meet; which samples it draws is not known yet
};

inline constexpr std::uint64_t kScannedTokens = std::uint64_t{16} << 20;

/// Reads the samples of steps first..last of `global_batch` samples each, at most `most` tokens of training data and as
/// many of validation data. `seed_known`: `data` has the run's seed. Texts are not scanned, since their ids always fit.
TokenScan scan_tokens(const Dataset& data, const recipe::Config& config, std::uint64_t global_batch,
                      std::uint64_t first, std::uint64_t last, bool seed_known, std::uint64_t most = kScannedTokens);

}  // namespace titan::train
