#include "converters/mistral/params.h"

#include <optional>
#include <string_view>

#include "converters/json_file.h"
#include "converters/known_members.h"

namespace titan::convert {
namespace {

using recipe::ModelDims;

// Keys without effect on the model: buffer sizes and names.
constexpr std::string_view kHarmless[] = {"max_seq_len", "max_position_embeddings", "model_type", "model_parallel",
                                          "max_batch_size"};
// Settings that Titan's model always has.
constexpr std::pair<const char*, bool> kExpected[] = {{"use_biases", false}, {"causal", true}};
// mistral-inference's default without a sliding window. Its first versions used 1e4 with a window.
constexpr double kTheta = 1e6;

class Params : KnownMembers {
 public:
  Params(const std::string& what, const JsonValue& json)
      : KnownMembers(what, json, "take params.json from where the model came from") {}

  ckpt::Result<ModelDims> read() {
    if (!json_.is_object()) return no_json_object(what_, json_.write().front());
    ModelDims model;
    TITAN_ASSIGN_OR_RETURN(model.dim, size("dim"));
    TITAN_ASSIGN_OR_RETURN(model.n_layers, size("n_layers"));
    TITAN_ASSIGN_OR_RETURN(model.n_heads, size("n_heads"));
    TITAN_ASSIGN_OR_RETURN(model.n_kv_heads, size("n_kv_heads", model.n_heads));
    if (model.n_heads == 0) return ckpt::incompatible(what_ + ": n_heads is 0");
    TITAN_ASSIGN_OR_RETURN(model.head_dim, size("head_dim", model.dim / model.n_heads));
    TITAN_ASSIGN_OR_RETURN(model.ffn_dim, size("hidden_dim"));
    TITAN_ASSIGN_OR_RETURN(model.vocab_size, size("vocab_size"));
    TITAN_ASSIGN_OR_RETURN(model.norm_eps, real("norm_eps", std::nullopt));
    TITAN_RETURN_IF_ERROR(read_window(model));
    TITAN_ASSIGN_OR_RETURN(model.rope_theta,
                           real("rope_theta", model.window.tokens == 0 ? std::optional(kTheta) : std::nullopt));
    TITAN_ASSIGN_OR_RETURN(model.tied, flag("tied_embeddings", false));
    for (const auto& [key, expected] : kExpected) {
      TITAN_ASSIGN_OR_RETURN(const bool found, flag(key, expected));
      if (found != expected) return lack(key);
    }
    TITAN_RETURN_IF_ERROR(check_rest(kHarmless));
    const ckpt::Status sound = recipe::check_dims(model);
    return sound.ok() ? ckpt::Result<ModelDims>(model) : sound.wrapped(what_);
  }

 private:
  ckpt::Status read_window(ModelDims& model) {
    const JsonValue* value = find("sliding_window");
    if (value == nullptr) return {};
    if (!value->as_u64() || *value->as_u64() == 0) return lack("sliding_window");  // a list means one window per layer
    model.window = {recipe::to_dimension(*value->as_u64()), {}};
    if (find("rope_theta") != nullptr) return {};
    return ckpt::incompatible(what_ +
                              " has a sliding_window and no rope_theta, for which versions of mistral-inference " +
                              "have 1e4 and 1e6")
        .with_hint("add it to the file; Mistral 7B v0.1 has \"rope_theta\": 10000.0");
  }
};

}  // namespace

ckpt::Result<ModelDims> read_mistral_params(const std::string& what, const JsonValue& params) {
  return Params(what, params).read();
}

std::optional<std::uint64_t> mistral_context(const JsonValue& params) {
  for (const char* key : {"max_position_embeddings", "max_seq_len"}) {
    const JsonValue* value = params.find(key);
    if (const auto length = value == nullptr ? std::nullopt : value->as_u64()) return length;
  }
  return std::nullopt;
}

}  // namespace titan::convert
