#pragma once
// Companion files of a model (tokenizer, configuration): members `hf/<name>` of a checkpoint with role "derived", for
// every source format.
#include <functional>
#include <string>
#include <vector>

#include "converters/format.h"

namespace titan::convert {

/// `path`, or its target if it is a symbolic link: files in Hugging Face's cache are links to blobs.
std::string through_link(Fs& fs, const std::string& path);

inline constexpr const char* kCompanionFolder = "hf";

/// Copies `companions` to `<checkpoint>/hf/` and syncs each copy. Creates that folder; the caller must sync the folder
/// itself. Returns the member entries of the copies. \error kFailed
Result<std::vector<ckpt::FileEntry>> take_companions(Fs& fs, const std::vector<Companion>& companions,
                                                     const std::string& checkpoint);

/// The members `hf/<name>` of a Titan checkpoint.
std::vector<Companion> companions_of(const CheckpointReader& checkpoint);

/// Reads a companion, checked against its digest. \error kCorrupt, kFailed
Result<std::string> read_companion(Fs& fs, const Companion& companion, std::uint64_t limit);
/// Reads the one of `companions` whose name is `name`; returns "" if there is none.
Result<std::string> read_companion(Fs& fs, const std::vector<Companion>& companions, const std::string& name,
                                   std::uint64_t limit);

/// Copies the companions for which `wanted` is true to the folder `destination`, checks the digest of each and syncs
/// it. \error kCorrupt (a digest), kFailed
Status copy_companions(Fs& fs, const std::vector<Companion>& companions, const std::string& destination,
                       const std::function<bool(const std::string& name)>& wanted);

}  // namespace titan::convert
