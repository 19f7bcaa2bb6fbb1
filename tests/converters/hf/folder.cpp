#include "tests/converters/hf/folder.h"

#include <gtest/gtest.h>

#include <cstring>

#include "ckpt/base/fs.h"
#include "converters/hf/hf_config.h"
#include "converters/hf/safetensors.h"
#include "tests/support/files.h"

namespace titan::convert::testing {

Result<ConversionReport> convert_to(ckpt::Fs& fs, const std::string& source, const std::string& destination,
                                    ConvertOptions options) {
  options.source = source;
  options.destination = destination;
  options.created = "2026-01-02T03:04:05Z";
  options.writer = "test";
  return convert_checkpoint(fs, options);
}

void expect_ok(const Result<ConversionReport>& report) { EXPECT_TRUE(report.ok()) << report.status().to_string(); }

recipe::ModelDims tiny_model() {
  recipe::ModelDims model{.dim = 12,
                          .n_layers = 2,
                          .n_heads = 4,
                          .n_kv_heads = 2,
                          .head_dim = 6,
                          .ffn_dim = 20,
                          .vocab_size = 17,
                          .norm_eps = 1e-5,
                          .rope_theta = 10000};
  return model;
}

RawTensors model_tensors(const recipe::ModelDims& model) {
  RawTensors tensors;
  const auto add = [&](const std::string& name, std::uint64_t rows, std::uint64_t columns) {
    RawTensor& tensor = tensors[name];
    tensor.shape = columns == 0 ? "[" + std::to_string(rows) + "]"
                                : "[" + std::to_string(rows) + "," + std::to_string(columns) + "]";
    const auto n = static_cast<float>(tensors.size());
    for (std::uint64_t i = 0; i < rows * std::max<std::uint64_t>(columns, 1); ++i) {
      const float value = n + static_cast<float>(i) / 4096;
      char bytes[4];
      std::memcpy(bytes, &value, 4);
      tensor.bytes.append(bytes, 4);
    }
  };
  const std::uint64_t q = model.n_heads * model.head_dim, kv = model.n_kv_heads * model.head_dim;
  add("model.embed_tokens.weight", model.vocab_size, model.dim);
  for (std::int64_t i = 0; i < model.n_layers; ++i) {
    const std::string layer = "model.layers." + std::to_string(i) + ".";
    add(layer + "self_attn.q_proj.weight", q, model.dim);
    add(layer + "self_attn.k_proj.weight", kv, model.dim);
    add(layer + "self_attn.v_proj.weight", kv, model.dim);
    if (model.qkv_bias) {
      add(layer + "self_attn.q_proj.bias", q, 0);
      add(layer + "self_attn.k_proj.bias", kv, 0);
      add(layer + "self_attn.v_proj.bias", kv, 0);
    }
    add(layer + "self_attn.o_proj.weight", model.dim, q);
    add(layer + "mlp.gate_proj.weight", model.ffn_dim, model.dim);
    add(layer + "mlp.up_proj.weight", model.ffn_dim, model.dim);
    add(layer + "mlp.down_proj.weight", model.dim, model.ffn_dim);
    if (model.qk_norm) {
      add(layer + "self_attn.q_norm.weight", model.head_dim, 0);
      add(layer + "self_attn.k_norm.weight", model.head_dim, 0);
    }
    add(layer + "input_layernorm.weight", model.dim, 0);
    add(layer + "post_attention_layernorm.weight", model.dim, 0);
  }
  add("model.norm.weight", model.dim, 0);
  if (!model.tied) add("lm_head.weight", model.vocab_size, model.dim);
  return tensors;
}

std::string safetensors_file(const RawTensors& tensors) {
  std::string json = "{", data;
  for (const auto& [name, tensor] : tensors) {
    json += (json.size() > 1 ? ",\"" : "\"") + name + "\":{\"dtype\":\"" + tensor.dtype +
            "\",\"shape\":" + tensor.shape + ",\"data_offsets\":[" + std::to_string(data.size()) + "," +
            std::to_string(data.size() + tensor.bytes.size()) + "]}";
    data += tensor.bytes;
  }
  json += "}";
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>(json.size() >> (8 * i) & 0xff);
  return file + json + data;
}

RawTensors read_safetensors(ckpt::Fs& fs, const std::string& path) {
  RawTensors tensors;
  const auto file = fs.open_read(path);
  if (!file.ok()) {
    ADD_FAILURE() << file.status().to_string();
    return tensors;
  }
  const auto header = read_safetensors_header(**file, path);
  if (!header.ok()) {
    ADD_FAILURE() << header.status().to_string();
    return tensors;
  }
  for (const SafetensorsEntry& entry : header->entries) {
    RawTensor& tensor = tensors[entry.name];
    tensor.dtype = entry.dtype == ckpt::DType::kBF16 ? "BF16" : entry.dtype == ckpt::DType::kF16 ? "F16" : "F32";
    tensor.shape = "[";
    for (const std::uint64_t extent : entry.shape)
      tensor.shape += (tensor.shape.size() > 1 ? "," : "") + std::to_string(extent);
    tensor.shape += "]";
    tensor.bytes.resize(entry.end - entry.begin);
    EXPECT_TRUE(
        (*file)->pread(header->buffer_offset + entry.begin, std::as_writable_bytes(std::span(tensor.bytes))).ok());
  }
  return tensors;
}

void make_hf_folder(ckpt::Fs& fs, const std::string& folder, const recipe::ModelDims& model,
                    const RawTensors& tensors) {
  EXPECT_TRUE(ckpt::testing::put_text(fs, folder + "/model.safetensors", safetensors_file(tensors)).ok());
  EXPECT_TRUE(ckpt::testing::put_text(fs, folder + "/config.json", write_hf_config(model, {}, {}).write()).ok());
}

}  // namespace titan::convert::testing
