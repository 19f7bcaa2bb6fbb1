#pragma once
// Which data files rank 0 has read completely, so that only one rank checks terabytes of text or reads blocks of
// thousands of files.
#include <string>
#include <string_view>
#include <vector>

#include "libtrain/job/data/dataset.h"

namespace titan::train {

std::string encode_files(const std::vector<KnownFile>& files);
/// Reads what encode_files() wrote. Throws std::runtime_error if `bytes` are incomplete.
std::vector<KnownFile> decode_files(std::string_view bytes);

/// The files that a start on data of `kind` need not read completely: `others`, which another rank has read, and the
/// files of `stored` (the data that the run resumes with; null: a new run), if `stored` has the same kind.
std::vector<KnownFile> known_files(std::vector<KnownFile> others, const ckpt::DataPosition* stored,
                                   const std::string& kind);

}  // namespace titan::train
