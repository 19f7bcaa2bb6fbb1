#include "libtrain/job/run/publish_note.h"

#include <filesystem>

#include "ckpt/base/files.h"
#include "ckpt/base/path.h"
#include "ckpt/base/text.h"
#include "ckpt/format/member_names.h"
#include "ckpt/read/reader.h"
#include "ckpt/read/step_proof.h"
#include "libtrain/job/run/run_files.h"
#include "recipe/keys/config.h"

namespace titan::train {
namespace {

using ckpt::Status;

constexpr const char* kNote = "on_publish.done";
constexpr std::uint64_t kMostBytes = 4096;

std::string note_of(const Publish& one) { return ckpt::step_name(one.step) + " " + one.id.hex() + "\n"; }

bool is_noted(ckpt::Fs& fs, const std::string& run_dir, const Publish& one) {
  const auto bytes = ckpt::read_file(fs, ckpt::join_path(run_dir, kNote), kMostBytes);
  return bytes.ok() && ckpt::text_of(*bytes) == note_of(one);
}

}  // namespace

std::unique_ptr<PublishHook> make_publish_hook(ckpt::Fs& fs, const recipe::Config& config,
                                               const PublishCallbacks& callbacks) {
  if (!config.checkpoint.on_publish) return nullptr;
  const std::string run_dir = config.job.dump_folder;
  const auto done = [&fs, run_dir, callbacks](const Publish& one) {
    Status status = callbacks.still_ours();
    if (status.ok()) status = replace_file(fs, run_dir, kNote, note_of(one));
    if (!status.ok())
      callbacks.problem(
          "checkpoint.on_publish for step " + std::to_string(one.step) +
          " ended well, which could not be noted, so it may run again at the next start: " + status.message);
  };
  const auto still_there = [&fs](const Publish& one) { return ckpt::check_id_at(fs, one.path, one.id); };
  return std::make_unique<PublishHook>(PublishHook::Options{
      *config.checkpoint.on_publish, ckpt::join_path(run_dir, "on_publish.log"),
      config.checkpoint.on_publish_timeout_seconds, still_there, callbacks.problem, callbacks.say, done});
}

Status publish_missed(ckpt::Fs& fs, const recipe::Config& config, const std::string& path, PublishHook& hook) {
  TITAN_ASSIGN_OR_RETURN(const ckpt::CheckpointReader reader, ckpt::CheckpointReader::open(fs, path));
  Publish one{reader.manifest().step, std::filesystem::absolute(path).string(), reader.manifest().id};
  if (!is_noted(fs, config.job.dump_folder, one)) hook.published(std::move(one));
  return ckpt::ok_status();
}

}  // namespace titan::train
