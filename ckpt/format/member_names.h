#pragma once
// File names inside a checkpoint folder. \source FORMAT.md, "Tree"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ckpt/base/result.h"
#include "ckpt/model/tensor_meta.h"

namespace titan::ckpt {

inline constexpr const char* kManifestFile = "manifest.json";
inline constexpr const char* kLrScheduler = "lr_scheduler";  ///< components stored as "<component>.json"
inline constexpr const char* kDataloader = "dataloader";
inline constexpr const char* kTrainState = "train_state";
/// All components. A resume needs each of them.
inline constexpr const char* kResumeComponents[] = {kModel, kOptimizer, kLrScheduler, kDataloader, kTrainState};
inline constexpr std::uint64_t kMaxManifestBytes = std::uint64_t{64} << 20;
inline constexpr std::uint64_t kMaxManifestMemory = std::uint64_t{96} << 20;  ///< see format_limits.h
/// The size limit of readers for the JSON member `path`.
std::uint64_t max_json_bytes(std::string_view path);

/// "<component>/shard-%05u.h5", for the shard that `rank` creates.
std::string shard_path(std::string_view component, std::uint32_t rank);
/// "<component>.json".
std::string json_path(std::string_view component);
/// "step-%08d".
std::string step_name(std::uint64_t step);
/// Parses a name of exactly the form that step_name() gives; nullopt otherwise.
std::optional<std::uint64_t> parse_step_name(std::string_view name);
/// Name of the unpublished folder of a save: "step-%08d.tmp-<save_id>".
std::string temporary_name(std::uint64_t step, std::string_view save_id);
/// True for 12 to 64 lower-case hex digits; no other text is a save id. So a user's folder "step-00000001.tmp-mine" is
/// foreign and never removed.
bool is_save_id(std::string_view text);

/// Accepts a member path: relative, no empty, "." or ".." part, printable ASCII without spaces and '\', at most 255
/// bytes.
/// \error kCorrupt naming the path.
Status check_member_path(std::string_view path);
/// Accepts a parameter name: UTF-8, 1 to 1,024 bytes, no ASCII control characters. \error kInvalid naming it.
Status check_parameter_name(std::string_view name);
/// Whether a slot of a parameter may have this name: a-z, 0-9 and _, at most 64.
bool is_slot_name(std::string_view name);

}  // namespace titan::ckpt
