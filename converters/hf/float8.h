#pragma once
// FP8 weights with a scale per block, as in DeepSeek's and Qwen's FP8 folders: X.weight in F8_E4M3, with
// X.weight_scale_inv.
#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "ckpt/format/json_value.h"

namespace titan::convert {

using ckpt::JsonValue;

/// Rows and columns of a block.
struct BlockSize {
  std::uint64_t rows = 0, columns = 0;
};
/// Reads the block size from quantization_config of a config.json. \error kUnsupported: another method, or no blocks;
/// kIncompatible: it is missing \source https://github.com/huggingface/transformers, integrations/finegrained_fp8.py
ckpt::Result<BlockSize> read_block_size(const std::string& what, const JsonValue& config);

/// The value of each of the 256 bytes in F8_E4M3 (no infinities; 0x7f and 0xff are NaN).
const std::array<float, 256>& e4m3_values();
/// Decodes elements of one row: out[i] = value of bytes[i] x scales[(first + i) / columns]. `first`: column of the
/// first element; `scales`: the scales of the blocks in this row; `columns`: width of a block. The scale is a factor,
/// although its name says "inverse".
void scale_row(std::span<const std::byte> bytes, std::uint64_t first, std::span<const float> scales,
               std::uint64_t columns, std::span<float> out);

}  // namespace titan::convert
