#pragma once
// Long-running work of a verb: shows progress, and cancels cleanly on a stop signal.
#include <cstdint>
#include <string>

#include "cli/kit/progress.h"
#include "cli/kit/stop.h"
#include "cli/kit/verb.h"

namespace titan::cli {

/// Must outlive the work that `options` describe.
class Work {
 public:
  /// Sets `cancel` and `progress` of the options. The progress line shows `label`, followed by the name of the present
  /// part if the options have `begin`.
  template <typename Options>
  Work(const Request& request, Options& options, const std::string& label) : progress_(!request.json) {
    options.cancel = stop_on_signals();
    options.progress = [this](std::uint64_t done, std::uint64_t total) { progress_.update(done, total); };
    if constexpr (requires { options.begin; })
      options.begin = [this, label](const std::string& name) { progress_.begin(label + name); };
    else
      progress_.begin(label);
  }

 private:
  Progress progress_;
};

}  // namespace titan::cli
