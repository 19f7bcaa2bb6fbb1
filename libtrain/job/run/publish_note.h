#pragma once
// The note, the file RUN/on_publish.done: the last step whose checkpoint.on_publish command succeeded. If this is not
// the newest step, the next start runs the command for the newest step.
#include <functional>
#include <memory>
#include <string>

#include "libtrain/job/run/publish_hook.h"

namespace titan::recipe {
struct Config;
}

namespace titan::ckpt {
class Fs;
}

namespace titan::train {

struct PublishCallbacks {
  std::function<ckpt::Status()> still_ours;  ///< called before the note is written; an error means that another process
                                             ///< has taken over the run folder
  std::function<void(const std::string&)> problem, say;  ///< get warnings, and messages, for the log
};

/// Creates the configured hook, which writes this note after each successful command; null if no command is configured.
/// `fs` must outlive the hook.
std::unique_ptr<PublishHook> make_publish_hook(ckpt::Fs& fs, const recipe::Config& config,
                                               const PublishCallbacks& callbacks);

/// Runs the command for the run's newest step, at `path`, unless the note says that it ran. The caller must hold the
/// run's lock. \error as CheckpointReader::open
ckpt::Status publish_missed(ckpt::Fs& fs, const recipe::Config& config, const std::string& path, PublishHook& hook);

}  // namespace titan::train
