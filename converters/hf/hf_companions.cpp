#include "converters/hf/hf_companions.h"

#include <algorithm>
#include <string_view>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/text.h"
#include "converters/companions.h"
#include "converters/hf/hf_checkpoint.h"
#include "converters/json_file.h"
#include "converters/other_programs.h"

namespace titan::convert {

using ckpt::join_path;

namespace {

constexpr std::uint64_t kMaxCompanionBytes = std::uint64_t{256} << 20;

// Why the file `name` is not copied into a checkpoint; a note then names it, so that the user can copy it. nullptr: it
// is not such a file.
const char* why_left_behind(const std::string& name) {
  if (name == "additional_chat_templates") return "it is a folder";
  return name.ends_with(".py") ? "it is code" : nullptr;
}

// What the file `name` is if it is not the JSON that it should be; "" if it can be copied. Files that a start of a run
// reads must be JSON objects; of other files only the beginning is checked.
Result<std::string> why_no_json(Fs& fs, const std::string& path, const std::string& name) {
  if (!name.ends_with(".json")) return std::string();
  Status status;
  if (name == kHfConfig || name == "generation_config.json") {
    status = read_json_object(fs, path, kMaxHfConfigBytes).status();
  } else {
    TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<ckpt::File> file, fs.open_read(path));
    status = or_wrong_file_kind(path, *file, {}, ckpt::FileKind::kJson);
  }
  const bool said = status.code == ckpt::Code::kCorrupt || status.code == ckpt::Code::kIncompatible ||
                    status.code == ckpt::Code::kUnsupported;
  if (!said) TITAN_RETURN_IF_ERROR(status);
  return status.message;
}

// Whether a companion whose real path is `real` may be copied. A link may lead within the folder, or to the blobs of
// Hugging Face's cache (<model>/snapshots/<revision> next to <model>/blobs). No other link is followed: these files may
// be published later, so they must not be arbitrary files of this machine.
bool may_travel(Fs& fs, const std::string& folder, const std::string& real) {
  const auto home = fs.real_path(folder);
  if (!home.ok()) return false;
  const std::string blobs = join_path(ckpt::parent_path(ckpt::parent_path(*home)), "blobs");
  const auto info = fs.stat(blobs);  // a link in place of the folder may lead anywhere
  return real.starts_with(*home + "/") ||
         (info.ok() && info->type == ckpt::FileType::kDirectory && real.starts_with(blobs + "/"));
}

// Files in which trainers store other state than weights: Hugging Face's Trainer, accelerate, DeepSpeed.
bool is_training_state(const std::string& name) {
  constexpr std::string_view kBegins[] = {"optimizer.", "optimizer_",    "scheduler.",     "scaler.",
                                          "sampler.",   "trainer_state", "training_args.", "random_states_",
                                          "rng_state",  "global_step",   "dl_state_dict.", "custom_checkpoint_"};
  return std::ranges::any_of(kBegins, [&](std::string_view begin) { return name.starts_with(begin); });
}

}  // namespace

std::vector<std::string> training_state(const std::vector<ckpt::DirEntry>& entries) {
  std::vector<std::string> names;
  for (const ckpt::DirEntry& entry : entries)
    if (is_training_state(entry.name)) names.push_back(entry.name);
  std::ranges::sort(names);
  return names;
}

Status find_companions(Fs& fs, const std::string& folder, ImportPlan& plan) {
  TITAN_ASSIGN_OR_RETURN(const std::vector<ckpt::DirEntry> entries, fs.list(folder));
  for (const ckpt::DirEntry& entry : entries) {
    if (const char* why = why_left_behind(entry.name)) plan.notes.push_back(entry.name + " is not taken along: " + why);
    if (!is_companion(entry.name)) continue;
    if (std::ranges::find(plan.companions, entry.name, &Companion::name) != plan.companions.end()) continue;
    const std::string name = join_path(folder, entry.name), path = through_link(fs, name);
    TITAN_ASSIGN_OR_RETURN(const ckpt::FileInfo info, fs.stat(path));
    if (path != name && !may_travel(fs, folder, path)) {
      plan.notes.push_back(entry.name + " is not taken along: it is a link out of the folder, to " + path);
    } else if (info.type == ckpt::FileType::kFile && info.size <= kMaxCompanionBytes) {
      TITAN_ASSIGN_OR_RETURN(const std::string why, why_no_json(fs, path, entry.name));
      if (!why.empty()) {
        plan.notes.push_back(entry.name + " is not taken along: " + why);
        continue;
      }
      plan.companions.push_back({path, entry.name, {}});
    } else {
      plan.notes.push_back(entry.name + " is not taken along: it is " +
                           (info.type == ckpt::FileType::kFile ? "too large" : "not a regular file"));
    }
  }
  return ckpt::ok_status();
}

}  // namespace titan::convert
