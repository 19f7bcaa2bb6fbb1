#pragma once
// Long work of a verb: a line of progress while it goes on, and a clean end when it is asked to stop.
#include <cstdint>
#include <string>

#include "cli/kit/progress.h"
#include "cli/kit/stop.h"
#include "cli/kit/verb.h"

namespace titan::cli {

/// Lives as long as the work that `options` ask for.
class Work {
 public:
  /// Sets `cancel` and `progress` of the options. The line is called `label`; where the work names the pieces that it
  /// begins (`begin` of the options), `label` and that name.
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
