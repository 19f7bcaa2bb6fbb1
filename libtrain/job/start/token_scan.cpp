#include "libtrain/job/start/token_scan.h"

#include <algorithm>

#include "ckpt/base/integers.h"
#include "recipe/keys/config.h"

namespace titan::train {
namespace {

/// The first step of first..last after which validation runs.
std::uint64_t first_validation(const recipe::Config& config, std::uint64_t first, std::uint64_t last) {
  const auto freq = static_cast<std::uint64_t>(config.validation.freq);
  return std::min(last, ckpt::round_up(first, freq));
}

Status scan_validation(const Dataset& data, std::uint64_t most) {
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(data.validation_seq_len()) + 1);
  const std::uint64_t count = std::min(data.validation_read(), most / tokens.size() + 1);
  for (std::uint64_t i = 0; i < count; ++i) TITAN_RETURN_IF_ERROR(data.validation_sample(i, tokens));
  return ckpt::ok_status();
}

Status at_step(Status status, std::uint64_t step, const char* who) {
  status.message += "; " + std::string(who) + "step " + std::to_string(step) + " would meet it";
  return status;
}

}  // namespace

TokenScan scan_tokens(const Dataset& data, const recipe::Config& config, std::uint64_t global_batch,
                      std::uint64_t first, std::uint64_t last, bool seed_known, std::uint64_t most) {
  TokenScan scan;
  if (config.training.dataset == "text" || first > last) return scan;
  const ckpt::DataPosition& at = data.origin();
  const bool drawn = at.shuffle && !seed_known;  // the order is drawn at the start
  const std::uint64_t epoch = at.samples_per_epoch, wanted = std::min(last - first + 1, 2 * epoch) * global_batch;
  const std::uint64_t left = epoch - (at.samples - at.epoch_base) % epoch;
  scan.to_read = drawn ? epoch : std::min(wanted, left + epoch);
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(at.seq_len) + 1);
  const std::uint64_t limit = most / tokens.size() + 1;
  Status bad;
  std::uint64_t bad_step = 0, spoiled = 0;
  const auto goes_on = [&] { return bad.ok() || (drawn && bad.code == ckpt::Code::kInvalid); };
  while (scan.checked < std::min(scan.to_read, limit) && goes_on()) {
    const Status found = data.sample(ckpt::kept_sample(at.excluded, at.samples, scan.checked), tokens);
    if (!found.ok() && (bad.ok() || found.code != ckpt::Code::kInvalid)) {
      bad = found;
      bad_step = first + scan.checked / global_batch;
    }
    spoiled += found.ok() ? 0 : 1;
    ++scan.checked;
  }
  if (data.validation_read() > 0) {
    const std::uint64_t step = first_validation(config, first, last);
    const Status found = scan_validation(data, most);
    if (!found.ok() && (bad.ok() || drawn || bad_step > step)) {
      scan.refused = at_step(found, step, "the validation after ");
      return scan;
    }
  }
  if (bad.ok()) return scan;
  if (!drawn) {
    scan.refused = at_step(bad, bad_step, "");
    return scan;
  }
  // If the run is expected to read at least this many samples with bad ids, the chance to miss all of them is
  // negligible.
  constexpr double kSure = 10;
  const double met = static_cast<double>(spoiled) * static_cast<double>(wanted) / static_cast<double>(scan.checked);
  const std::string drawing = "; " + std::to_string(spoiled) + " of " + std::to_string(scan.checked) +
                              " samples have such ids; the samples are drawn at the start, and this run reads " +
                              std::to_string(wanted) + " of " + std::to_string(epoch);
  if (wanted >= epoch) {
    scan.refused = bad;
  } else if (met >= kSure) {
    scan.refused = bad;
    scan.refused.message += drawing;
  } else {
    scan.warning = bad.message + drawing;
  }
  return scan;
}

}  // namespace titan::train
