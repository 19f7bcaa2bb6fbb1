#pragma once
// Names for messages, and the list of globals that a pickle may call.
#include <string>
#include <string_view>

namespace titan::convert::dcp {

inline constexpr std::string_view kMetadataModule = "torch.distributed.checkpoint.metadata";
inline constexpr std::string_view kOldMetadataModule = "torch.distributed._shard.sharded_tensor.metadata";
inline constexpr std::string_view kFilesystemModule = "torch.distributed.checkpoint.filesystem";

/// "BUILD", or "0xff" for a byte that is no opcode.
std::string opcode_name(unsigned char opcode);

enum class Allowed { kNo, kCall, kInstance, kGetattr, kOrderedDict };
/// What may be done with module.name: be called (REDUCE), or be instantiated (NEWOBJ).
Allowed allowed(std::string_view module, std::string_view name);

}  // namespace titan::convert::dcp
