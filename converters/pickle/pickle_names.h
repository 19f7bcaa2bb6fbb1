#pragma once
// Names for messages, and the list of globals that a pickle may call.
#include <string>
#include <string_view>

namespace titan::convert {

inline constexpr std::string_view kMetadataModule = "torch.distributed.checkpoint.metadata";
inline constexpr std::string_view kOldMetadataModule = "torch.distributed._shard.sharded_tensor.metadata";
inline constexpr std::string_view kFilesystemModule = "torch.distributed.checkpoint.filesystem";

/// The name of an opcode, like "BUILD"; "0xff" for a byte that is not an opcode.
std::string opcode_name(unsigned char opcode);

/// How a pickle may use a global. kGetattr and kOrderedDict are calls with a meaning of their own.
enum class Allowed { kNo, kCall, kInstance, kGetattr, kOrderedDict };
/// What a pickle may do with module.name: call it (REDUCE: kCall), or instantiate it (NEWOBJ: kInstance).
Allowed allowed(std::string_view module, std::string_view name);

}  // namespace titan::convert
