#pragma once
// Connects a long operation of a verb with a progress line and with stop signals.
#include <cstdint>
#include <string>

#include "cli/kit/progress.h"
#include "cli/kit/stop.h"
#include "cli/kit/verb.h"

namespace titan::cli {

/// Shows progress while an operation runs, and cancels it on a stop signal. Must outlive the operation.
class Work {
 public:
  /// Sets `cancel` and `progress` of the operation's `options`. The progress line begins with `label`. If the options
  /// have a function `begin`, the name that the operation passes to `begin` follows the label.
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
