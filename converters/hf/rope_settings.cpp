#include "converters/hf/rope_settings.h"

#include "ckpt/base/toml_text.h"

namespace titan::convert {
namespace {

using recipe::ModelDims;
using recipe::RopeScaling;
using Kind = RopeScaling::Kind;

constexpr const char *kOriginal = "original_max_position_embeddings", *kLongest = "max_position_embeddings";

// The RoPE settings in one of the two forms.
struct Rope {
  std::optional<double> theta;
  std::optional<RopeScaling> scaling;
};

ckpt::Status ambiguous(const std::string& what) {
  return ckpt::unsupported(what + ", and versions of transformers differ in which one they take")
      .with_hint("keep the one that the model was trained with");
}

std::optional<double> real_if(Fields& rope, const char* key) {
  return rope.find(key) == nullptr ? std::nullopt : std::optional(rope.real(key));
}

// The original context length of a scaling; the context length if that key is missing.
std::int64_t original_of(Fields& fields, Fields& rope) {
  return rope.find(kOriginal) != nullptr ? rope.whole(kOriginal) : fields.whole(kLongest);
}

void read_yarn(Fields& fields, Fields& rope, RopeScaling& scaling) {
  scaling.factor = rope.real("factor");
  scaling.original_max_position_embeddings = original_of(fields, rope);
  if (fields.find(kOriginal) != nullptr && fields.whole(kOriginal) != scaling.original_max_position_embeddings)
    rope.fail(ambiguous(fields.what() + " has two values of " + kOriginal));
  const double mscale = real_if(rope, "mscale").value_or(0), all = real_if(rope, "mscale_all_dim").value_or(0);
  scaling.attention_factor =
      real_if(rope, "attention_factor").value_or(recipe::yarn_attention(scaling.factor, mscale, all));
  scaling.beta_fast = real_if(rope, "beta_fast").value_or(scaling.beta_fast);
  scaling.beta_slow = real_if(rope, "beta_slow").value_or(scaling.beta_slow);
  scaling.truncate = rope.flag("truncate", true);
}

// transformers 4 reads the original length next to the object and computes the factor from the two lengths;
// transformers 5 uses the given factor.
void read_longrope(Fields& fields, Fields& rope, RopeScaling& scaling) {
  const bool given = fields.find(kOriginal) != nullptr;
  const std::int64_t original = given ? fields.whole(kOriginal) : original_of(fields, rope);
  const double ratio = original == 0 ? 0 : static_cast<double>(fields.whole(kLongest)) / static_cast<double>(original);
  const std::optional<double> factor = real_if(rope, "factor"), attention = real_if(rope, "attention_factor");
  if (given && factor && !attention && *factor != ratio)
    rope.fail(ambiguous(rope.what() + " has the factor " + ckpt::toml_float(*factor) + ", the two lengths make it " +
                        ckpt::toml_float(ratio)));
  scaling.original_max_position_embeddings = original;
  scaling.factor = factor.value_or(ratio);
  scaling.attention_factor = attention.value_or(recipe::longrope_attention(scaling.factor, original));
  scaling.short_factors = rope.reals("short_factor");
  scaling.long_factors = rope.reals("long_factor");
}

RopeScaling read_scaling(Fields& fields, Fields& rope, Kind kind) {
  RopeScaling scaling;
  scaling.kind = kind;
  switch (kind) {
    case Kind::kLlama3:
      scaling.factor = rope.real("factor");
      scaling.low_freq_factor = rope.real("low_freq_factor");
      scaling.high_freq_factor = rope.real("high_freq_factor");
      scaling.original_max_position_embeddings = rope.whole(kOriginal);
      break;
    case Kind::kLinear: scaling.factor = rope.real("factor"); break;
    case Kind::kDynamic:
      scaling.factor = rope.real("factor");
      scaling.original_max_position_embeddings = fields.whole(kLongest);  // both versions use the context
      break;
    case Kind::kYarn: read_yarn(fields, rope, scaling); break;
    case Kind::kLongrope: read_longrope(fields, rope, scaling); break;
  }
  return scaling;
}

std::optional<Rope> read_rope_object(Fields& fields, const char* key) {
  const JsonValue* object = fields.find(key);
  if (object == nullptr) return std::nullopt;
  Rope read;
  if (!object->is_object()) {
    fields.fail(ckpt::incompatible(fields.what() + ": '" + key + "', the parameters of RoPE, is not an object"));
    return read;
  }
  Fields rope(fields.what() + ": " + key, *object);
  read.theta = real_if(rope, "rope_theta");
  const std::string old_type = rope.text("type", "default"), type = rope.text("rope_type", old_type);
  if (rope.find("type") != nullptr && type != old_type)
    rope.fail(ckpt::unsupported(rope.what() + " has the rope_type '" + type + "' and the type '" + old_type +
                                "', and programs differ in which one they take")
                  .with_hint("keep the one that the model was trained with"));
  if (rope.real("partial_rotary_factor", 1.0) != 1.0)
    rope.lack("only a part of each head is rotated (partial_rotary_factor)");
  if (const auto kind = recipe::rope_kind(type))
    read.scaling = read_scaling(fields, rope, *kind);
  else if (type != "default")
    rope.lack("frequencies are scaled as '" + type + "'");
  fields.fail(rope.status());
  return read;
}

JsonValue numbers(const std::vector<double>& values) {
  std::vector<JsonValue> items;
  for (const double value : values) items.push_back(JsonValue::real(value));
  return JsonValue::list(std::move(items));
}

JsonValue rope_object(const ModelDims& model, bool with_theta) {
  JsonValue rope = JsonValue::object();
  const std::optional<RopeScaling>& scaling = model.rope_scaling;
  const auto is = [&](Kind kind) { return scaling && scaling->kind == kind; };
  if (is(Kind::kYarn) || is(Kind::kLongrope)) rope.set("attention_factor", JsonValue::real(scaling->attention_factor));
  if (is(Kind::kYarn)) {
    rope.set("beta_fast", JsonValue::real(scaling->beta_fast));
    rope.set("beta_slow", JsonValue::real(scaling->beta_slow));
  }
  if (scaling) rope.set("factor", JsonValue::real(scaling->factor));
  if (is(Kind::kLlama3)) {
    rope.set("high_freq_factor", JsonValue::real(scaling->high_freq_factor));
    rope.set("low_freq_factor", JsonValue::real(scaling->low_freq_factor));
  }
  if (is(Kind::kLongrope)) rope.set("long_factor", numbers(scaling->long_factors));
  if (is(Kind::kLlama3) || is(Kind::kYarn) || is(Kind::kLongrope))
    rope.set(kOriginal, JsonValue::integer(static_cast<std::uint64_t>(scaling->original_max_position_embeddings)));
  if (with_theta) rope.set("rope_theta", JsonValue::real(model.rope_theta));
  rope.set("rope_type", JsonValue::string(scaling ? recipe::rope_kind_name(scaling->kind) : "default"));
  if (is(Kind::kLongrope)) rope.set("short_factor", numbers(scaling->short_factors));
  if (is(Kind::kYarn)) rope.set("truncate", JsonValue::boolean(scaling->truncate));
  return rope;
}

}  // namespace

void read_hf_rope(Fields& fields, double default_theta, ModelDims& model) {
  const std::optional<Rope> five = read_rope_object(fields, "rope_parameters"),
                            four = read_rope_object(fields, "rope_scaling");
  std::optional<double> theta;
  std::string theta_key;
  const auto take_theta = [&](const std::string& key, std::optional<double> value) {
    if (value && theta && *value != *theta)
      fields.fail(ambiguous(fields.what() + ": " + key + " is " + ckpt::toml_float(*value) + ", " + theta_key + " is " +
                            ckpt::toml_float(*theta)));
    if (!value || theta) return;
    theta = value;
    theta_key = key;
  };
  if (five) take_theta("rope_parameters.rope_theta", five->theta);
  if (four) take_theta("rope_scaling.rope_theta", four->theta);
  if (fields.find("rope_theta") != nullptr) take_theta("rope_theta", fields.real("rope_theta"));
  model.rope_theta = theta.value_or(default_theta);
  if (five && four && five->scaling != four->scaling)
    fields.fail(ambiguous(fields.what() + ": rope_parameters and rope_scaling scale frequencies differently"));
  model.rope_scaling = five ? five->scaling : four ? four->scaling : std::nullopt;
}

void add_both_ropes(JsonValue& config, const ModelDims& model) {
  const auto lacks = [&config](const char* key) { return config.find(key) == nullptr; };
  const std::optional<RopeScaling>& scaling = model.rope_scaling;
  // transformers 4 reads longrope's original length only here.
  if (scaling && scaling->kind == Kind::kLongrope && lacks(kOriginal))
    config.set(kOriginal, JsonValue::integer(static_cast<std::uint64_t>(scaling->original_max_position_embeddings)));
  if (lacks("rope_parameters")) config.set("rope_parameters", rope_object(model, true));
  if (lacks("rope_scaling")) config.set("rope_scaling", scaling ? rope_object(model, false) : JsonValue());
  if (lacks("rope_theta")) config.set("rope_theta", JsonValue::real(model.rope_theta));
}

std::uint64_t written_context(const ModelDims& model, std::uint64_t wanted) {
  const std::optional<RopeScaling>& scaling = model.rope_scaling;
  return scaling && scaling->kind == Kind::kDynamic
             ? static_cast<std::uint64_t>(scaling->original_max_position_embeddings)
             : wanted;
}

}  // namespace titan::convert
