#include "libtrain/engine/train/train_loop.h"

#include <ATen/ATen.h>

#include "ckpt/read/reader.h"
#include "ckpt/read/step_proof.h"
#include "libtrain/job/start/start_message.h"

namespace titan::train {

void reload(RunState& run, const std::string& path, const ckpt::Digest& id, bool moments) {
  run.engine.exchange->await_weights();
  StartMessage word;
  run.on_root([&]() -> ckpt::Status {
    word.decision = {StartMode::kResume, path};
    auto reader = ckpt::CheckpointReader::open(run.fs, path);
    const std::string durable = ckpt::join_path(run.checkpoint_dir, ckpt::base_name(path));
    if (!reader.ok() && durable != path) {  // the step may be gone from the near folder
      word.decision.path = durable;
      reader = ckpt::CheckpointReader::open(run.fs, durable);
    }
    TITAN_RETURN_IF_ERROR(reader.status());
    TITAN_RETURN_IF_ERROR(ckpt::check_id(word.decision.path, reader->manifest().id, id));
    word.decision.manifest = std::move(*reader).take_manifest();
    return ckpt::ok_status();
  });
  const std::string bytes = run.world.io->broadcast(run.root() ? encode_start(word) : "", 0);
  ckpt::Result<StartMessage> heard = decode_start(bytes);
  ckpt::Status status = heard.status();
  if (status.ok()) {
    const ckpt::CheckpointReader reader =
        ckpt::CheckpointReader::known(run.fs, heard->decision.path, std::move(*heard->decision.manifest));
    status = Checkpointer::load(reader, run.plan(), *run.engine.optimizer, moments, run.inputs.stop);
  }
  check(agree(*run.world.io, status));
  if (!moments) {
    for (ShardedAdamW::State& state : run.engine.optimizer->states()) {
      state.exp_avg.zero_();
      state.exp_avg_sq.zero_();
    }
  }
  run.engine.exchange->send_weights(run.engine.optimizer->params());
}

}  // namespace titan::train
