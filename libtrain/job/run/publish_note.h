#pragma once
// RUN/on_publish.done: the step whose command of checkpoint.on_publish ended well last. What a start finds missing runs
// then.
#include <functional>
#include <memory>
#include <string>

#include "ckpt/base/fs.h"
#include "libtrain/job/run/publish_hook.h"
#include "recipe/keys/config.h"

namespace titan::train {

struct PublishTells {
  std::function<ckpt::Status()> still_ours;  ///< asked before the note is written
  std::function<void(const std::string&)> problem, say;
};

/// The hook of this configuration, which notes each command that ended well; null where it has no command. `fs`
/// outlives it.
std::unique_ptr<PublishHook> make_publish_hook(ckpt::Fs& fs, const recipe::Config& config, const PublishTells& tells);

/// Lets the command run for the newest step of the run, at `path`, unless the note says that it has. The run's lock is
/// held. \error as CheckpointReader::open
ckpt::Status publish_missed(ckpt::Fs& fs, const recipe::Config& config, const std::string& path, PublishHook& hook);

}  // namespace titan::train
