#pragma once
// Long work of a verb: shows a line of progress, and ends cleanly when asked to stop.
#include <cstdint>
#include <string>

#include "cli/kit/progress.h"
#include "cli/kit/stop.h"
#include "cli/kit/verb.h"

namespace titan::cli {

/// Must live as long as the work that `options` ask for.
class Work {
 public:
  /// Sets `cancel` and `progress` of the options. The line shows `label`, followed by the name of the present piece if
  /// the work names its pieces (`begin` of the options).
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
