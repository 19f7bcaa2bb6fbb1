#pragma once
// A model in per-rank safetensors files, as written by torch's HuggingFaceStorageWriter and by
// save_pretrained(..., distributed_checkpoint=True) of transformers 5.
// \source torch/distributed/checkpoint/hf_storage.py of torch 2.11
#include <string>
#include <string_view>
#include <vector>

#include "converters/dcp/metadata.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::convert::dcp {

/// Whether `name` is the name of one of these per-rank files: "shard-00001-model-00001-of-00001.safetensors".
bool is_shard(std::string_view name);
/// The names of shards in `folder`, ascending; empty if it cannot be listed.
std::vector<std::string> shards_in(ckpt::Fs& fs, const std::string& folder);

/// The content of `files` in `folder` as the metadata of a DCP directory. The files' headers give the boxes of each
/// tensor. Equal boxes in several files are replicas: the first one is used. \error kCorrupt: a header is wrong, boxes
/// overlap without being equal, or do not fill their tensor; kUnsupported, kFailed
Result<Metadata> read_shards(ckpt::Fs& fs, const std::string& folder, const std::vector<std::string>& files);

}  // namespace titan::convert::dcp
