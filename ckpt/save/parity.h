#pragma once
// Makes parity files from the members of a checkpoint, and rebuilds lost members from parity files. Parity files belong
// to a group of at most kParityGroup members. Uses at most 20 MiB of memory besides the manifest. \source FORMAT.md,
// "Parity"
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "ckpt/format/manifest.h"
#include "ckpt/format/parity_file.h"

namespace titan::ckpt {

class Fs;

/// Callbacks of the functions below.
struct ParityHooks {
  std::function<Status()> check;  ///< called from time to time; not ok (stop request, lock lost) ends the work
  std::function<void(std::uint64_t bytes)> advanced;  ///< gets the number of bytes of members that were read
};

/// Divides the members of `manifest` into groups, writes `rows` parity files for each group into `folder` (which holds
/// the members), and adds them to `manifest`, which must not list parity files yet. Syncs the files and the folder
/// `parity/`. \error kFailed, kMediaError, kCorrupt (a member is too short), the errors of the hooks
Status write_parity(Fs& fs, const std::string& folder, std::uint32_t rows, Manifest& manifest,
                    const ParityHooks& hooks = {});

/// The undamaged parity files in a folder. They are found without the folder's manifest.
struct ParityFound {
  /// The manifest stored in the parity files (it lists none of them); empty if no undamaged parity file was found.
  std::optional<Manifest> manifest;
  std::uint32_t rows = 0;
  std::set<std::uint32_t> whole;  ///< numbers of the undamaged parity files
};
/// Reads every byte of the parity files. Returns the undamaged ones that contain `wanted`, a manifest without parity
/// files. If `wanted` is empty, returns those that contain the same manifest as the first undamaged one.
/// \error kFailed, the errors of the hooks
Result<ParityFound> find_parity(Fs& fs, const std::string& folder, const std::optional<Manifest>& wanted,
                                const ParityHooks& hooks = {});

/// Rebuilds the members `lost` (indexes in `found.manifest`) in `to`, byte for byte, from the other members in `folder`
/// and the parity files. Skips a group that lost more members than it has undamaged parity files; `made` gets the
/// indexes of the rebuilt members. Their folders in `to` must exist. \error kFailed, kMediaError, the errors of the
/// hooks
Status rebuild_members(Fs& fs, const std::string& folder, const ParityFound& found, const std::set<std::uint32_t>& lost,
                       const std::string& to, std::set<std::uint32_t>& made, const ParityHooks& hooks = {});

}  // namespace titan::ckpt
