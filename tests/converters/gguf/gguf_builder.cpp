#include "tests/converters/gguf/gguf_builder.h"

#include <bit>
#include <map>

#include "tests/converters/hf/folder.h"

namespace titan::convert::testing {
namespace {

void pad(std::string& bytes, std::uint64_t alignment) {
  bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
}

std::string gguf_name(std::string name) {
  const std::map<std::string, std::string> parts{{"model.embed_tokens", "token_embd"},
                                                 {"model.layers", "blk"},
                                                 {"self_attn.q_norm", "attn_q_norm"},
                                                 {"self_attn.k_norm", "attn_k_norm"},
                                                 {"self_attn.q_proj", "attn_q"},
                                                 {"self_attn.k_proj", "attn_k"},
                                                 {"self_attn.v_proj", "attn_v"},
                                                 {"self_attn.o_proj", "attn_output"},
                                                 {"mlp.gate_proj", "ffn_gate"},
                                                 {"mlp.up_proj", "ffn_up"},
                                                 {"mlp.down_proj", "ffn_down"},
                                                 {"input_layernorm", "attn_norm"},
                                                 {"post_attention_layernorm", "ffn_norm"},
                                                 {"model.norm", "output_norm"},
                                                 {"lm_head", "output"}};
  for (const auto& [theirs, gguf] : parts)
    if (const std::size_t at = name.find(theirs); at != std::string::npos) name.replace(at, theirs.size(), gguf);
  return name;
}

// Rows of halves (j, j + d/2) as neighbours.
std::string neighbours(const std::string& bytes, std::size_t head_dim, std::size_t row) {
  std::string out;
  for (std::size_t head = 0; head < bytes.size() / row / head_dim; ++head)
    for (std::size_t j = 0; j < head_dim / 2; ++j)
      for (const std::size_t from : {j, j + head_dim / 2}) out += bytes.substr((head * head_dim + from) * row, row);
  return out;
}

}  // namespace

std::string number(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
  return out;
}
std::string text(const std::string& value) { return number(value.size(), 8) + value; }
std::string u32_key(const std::string& key, std::uint32_t value) { return text(key) + number(4, 4) + number(value, 4); }
std::string f32_key(const std::string& key, float value) {
  return text(key) + number(6, 4) + number(std::bit_cast<std::uint32_t>(value), 4);
}
std::string text_key(const std::string& key, const std::string& value) {
  return text(key) + number(8, 4) + text(value);
}
std::string tensor(const std::string& name, const std::vector<std::uint64_t>& dims, std::uint32_t type,
                   std::uint64_t offset) {
  std::string out = text(name) + number(dims.size(), 4);
  for (const std::uint64_t dim : dims) out += number(dim, 8);
  return out + number(type, 4) + number(offset, 8);
}

std::string GgufParts::file(std::uint64_t alignment) const {
  std::string out =
      "GGUF" + number(version, 4) + number(tensors.size() + more_tensors, 8) + number(keys.size() + more_keys, 8);
  for (const std::string& key : keys) out += key;
  for (const std::string& one : tensors) out += one;
  pad(out, alignment);
  return out + data;
}

std::vector<std::string> model_keys(const recipe::ModelDims& model, const std::string& architecture) {
  const auto size = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  const std::string a = architecture + ".";
  return {text_key("general.architecture", architecture),
          u32_key(a + "block_count", size(model.n_layers)),
          u32_key(a + "context_length", 64),
          u32_key(a + "embedding_length", size(model.dim)),
          u32_key(a + "feed_forward_length", size(model.ffn_dim)),
          u32_key(a + "attention.head_count", size(model.n_heads)),
          u32_key(a + "attention.head_count_kv", size(model.n_kv_heads)),
          u32_key(a + "attention.key_length", size(model.head_dim)),
          f32_key(a + "attention.layer_norm_rms_epsilon", static_cast<float>(model.norm_eps)),
          f32_key(a + "rope.freq_base", static_cast<float>(model.rope_theta))};
}

GgufParts model_file(const recipe::ModelDims& model, const std::string& architecture) {
  GgufParts parts;
  parts.keys = model_keys(model, architecture);
  for (const auto& [name, raw] : model_tensors(model)) {
    std::vector<std::uint64_t> dims;  // "[rows,columns]", and the file has columns first
    for (std::size_t at = 1; at < raw.shape.size(); at = raw.shape.find_first_of(",]", at) + 1)
      dims.insert(dims.begin(), std::stoull(raw.shape.substr(at)));
    const bool rotate_half = name.find("q_proj") != std::string::npos || name.find("k_proj") != std::string::npos;
    const std::size_t row = dims.size() == 2 ? dims[0] * 4 : 4;
    parts.tensors.push_back(tensor(gguf_name(name), dims, 0, parts.data.size()));
    parts.data += rotate_half && architecture == "llama"
                      ? neighbours(raw.bytes, static_cast<std::size_t>(model.head_dim), row)
                      : raw.bytes;
    pad(parts.data, 32);
  }
  return parts;
}

}  // namespace titan::convert::testing
