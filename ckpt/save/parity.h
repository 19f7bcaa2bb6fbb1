#pragma once
// Makes parity files of the members of a checkpoint, and lost members of parity files. Streams: a few MiB of memory.
// \source FORMAT.md, "Parity"
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ckpt/base/fs.h"
#include "ckpt/format/manifest.h"
#include "ckpt/format/parity_file.h"

namespace titan::ckpt {

struct ParityHooks {
  std::function<Status()> check;                      ///< asked now and then: a stop, a lock
  std::function<void(std::uint64_t bytes)> advanced;  ///< bytes of members that were read
};

/// Writes `rows` parity files for each group of `manifest`, which has none, into `folder`, where its members lie, and
/// adds their entries to it. They are durable, the names in `parity/` are not. \error kFailed, those of the hooks
Status write_parity(Fs& fs, const std::string& folder, std::uint32_t rows, Manifest& manifest,
                    const ParityHooks& hooks = {});

/// The parity files that lie in a folder and are whole, whatever its manifest says.
struct ParityFound {
  /// What they say the folder held, without them; none: there is none that is whole.
  std::optional<Manifest> manifest;
  std::uint32_t rows = 0;
  std::set<std::uint32_t> whole;  ///< numbers
};
/// Reads every byte of them. `wanted`: only those that go with a checkpoint of this manifest without parity; without
/// it, those that go with the first one that is whole. \error kFailed, those of the hooks
Result<ParityFound> find_parity(Fs& fs, const std::string& folder, const std::optional<Manifest>& wanted,
                                const ParityHooks& hooks = {});

/// Makes the members `lost` (indexes in `found.manifest`) anew in `to`, byte for byte, from those of `folder` that are
/// not lost. Members of a group that lost more than it has parity files for are left out: `made` says which were made.
/// Folders of the members are there. \error kFailed, those of the hooks
Status rebuild_members(Fs& fs, const std::string& folder, const ParityFound& found, const std::set<std::uint32_t>& lost,
                       const std::string& to, std::set<std::uint32_t>& made, const ParityHooks& hooks = {});

}  // namespace titan::ckpt
