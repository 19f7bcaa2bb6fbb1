#include "recipe/keys/key_table.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <type_traits>

#include "ckpt/base/text.h"
#include "recipe/keys/config.h"
#include "recipe/keys/foreign_key_names.h"
#include "recipe/keys/suggest.h"

namespace titan::recipe {

bool always(Config&, const Value&) { return true; }
bool without_stages(Config& config, const Value&) { return config.parallelism.pipeline_parallel_degree == 1; }

namespace {

template <typename T>
struct Unwrapped {
  using type = T;
  static constexpr bool optional = false;
};
template <typename T>
struct Unwrapped<std::optional<T>> {
  using type = T;
  static constexpr bool optional = true;
};

/// Calls `visit` with a null pointer of the key's plain type (bool*, int64*, double*, string*, list*) and whether it is
/// optional.
template <typename Visitor>
auto with_type(const Key& key, Visitor visit) {
  Config config;
  return std::visit(
      [&]<typename T>(T*) { return visit(static_cast<typename Unwrapped<T>::type*>(nullptr), Unwrapped<T>::optional); },
      key.value_in(config));
}

template <typename T>
bool holds(const Key& key) {
  return key.value_in && with_type(key, []<typename P>(P*, bool) { return std::is_same_v<P, T>; });
}

std::string number_text(double value) {
  return value == std::floor(value) && std::fabs(value) < 1e15 ? std::to_string(static_cast<std::int64_t>(value))
                                                               : toml_float(value);
}

std::string quoted_list(const std::vector<std::string>& words) { return ckpt::joined(words, ", ", toml_string); }

bool is_text(const Value& value, std::string_view expected) {
  const auto* text = value.as<std::string>();
  return text && *text == expected;
}

/// Whether `word` is in KeyFacts::unsupported; "*" stands for every value that is not a choice.
bool is_unsupported(const Key& key, const std::string& word) {
  return std::ranges::find(key.unsupported, word) != key.unsupported.end() ||
         std::ranges::find(key.unsupported, "*") != key.unsupported.end();
}

bool generally_harmless(const Value& value) {
  if (const auto* flag = value.as<bool>()) return !*flag;
  if (const auto* text = value.as<std::string>()) return text->empty() || *text == "none";
  if (const auto* list = value.as<std::vector<Value>>()) return list->empty();
  return false;
}

Status not_yet(const Key& key, const Value& value, std::string_view name = {}) {
  Status status =
      ckpt::unsupported("not supported yet: " + (name.empty() ? key.name : std::string(name)) + " = " + to_toml(value));
  if (!key.hint.empty()) return status.with_hint(key.hint);
  return status.with_hint(key.choices.empty() ? "leave it out" : "here it is " + expectation(key));
}

/// The first item that is not a string of a list of strings; nullptr if there is none.
const Value* item_that_is_no_text(const Key& key, const Value& value) {
  const auto* list = value.as<std::vector<Value>>();
  if (list == nullptr || !holds<std::vector<std::string>>(key) || key.lists) return nullptr;
  const auto found = std::ranges::find_if(*list, [](const Value& item) { return item.as<std::string>() == nullptr; });
  return found == list->end() ? nullptr : &*found;
}

Status wrong(const Key& key, const Value& value) {
  if (const Value* item = item_that_is_no_text(key, value))
    return ckpt::invalid("expected a list of texts, found " + describe(*item) + " in it" +
                         (item->as<std::int64_t>() != nullptr ? ": write " + toml_string(to_toml(*item)) : ""));
  std::string text = "expected " + expectation(key) + ", found " + describe(value);
  if (const auto* word = value.as<std::string>()) {
    std::string near = nearest_name(*word, key.choices);
    if (!near.empty()) near = toml_string(near);
    if (holds<SaveInterval>(key)) near = meant_save_interval(*word);
    if (!near.empty()) text += " (did you mean " + near + "?)";
  }
  return ckpt::invalid(std::move(text));
}

using Words = std::vector<std::string>;

/// Converts a list of strings, or one string with commas between its items. A table in the list becomes a string of its
/// words. `lists`: an item may itself be a list of strings.
std::optional<Words> convert_words(const Value& value, bool lists = false) {
  Words words;
  if (const auto* text = value.as<std::string>()) {
    words = ckpt::split(*text, ',');
    std::erase(words, "");
    return words;
  }
  const auto* list = value.as<std::vector<Value>>();
  if (list == nullptr) return std::nullopt;
  for (const Value& item : *list) {
    const auto* word = item.as<std::string>();
    const auto* table = item.as<Value::Other>();
    const std::optional<Words> inner = word == nullptr && lists ? convert_words(item) : std::nullopt;
    if (word != nullptr) {
      words.push_back(*word);
    } else if (inner) {
      words.push_back(ckpt::joined(*inner, " "));
    } else if (table != nullptr && table->kind == kTable) {
      words.push_back(table->text);
    } else {
      return std::nullopt;
    }
  }
  return words;
}

/// Converts a number of steps, or a text for parse_save_interval().
std::optional<SaveInterval> convert_interval(const Value& value) {
  if (const auto* text = value.as<std::string>()) return parse_save_interval(*text);
  const auto* steps = value.as<std::int64_t>();
  if (steps == nullptr) return std::nullopt;
  SaveInterval interval;
  interval.steps = *steps;
  return interval;
}

/// The value as a T if it has that type; integers count as floats.
template <typename T>
std::optional<T> convert(const Value& value, bool lists) {
  if constexpr (std::is_same_v<T, Words>) {
    return convert_words(value, lists);
  } else if constexpr (std::is_same_v<T, SaveInterval>) {
    return convert_interval(value);
  } else if (const auto* same = value.as<T>()) {
    return *same;
  }
  if constexpr (std::is_same_v<T, double>) {
    if (const auto* integer = value.as<std::int64_t>()) return static_cast<double>(*integer);
    if (const auto* text = value.as<std::string>(); text != nullptr && *text == "inf")
      return std::numeric_limits<double>::infinity();
  }
  return std::nullopt;
}

bool same_word(const Key& key, const std::string& a, const std::string& b) {
  if (!key.any_case) return a == b;
  return std::ranges::equal(
      a, b, {}, [](unsigned char c) { return std::tolower(c); }, [](unsigned char c) { return std::tolower(c); });
}

Status check_string(const Key& key, const Value& value, const std::string& text) {
  // System calls would cut a file name at the NUL.
  if (text.find('\0') != std::string::npos) return ckpt::invalid("expected text without NUL, found " + describe(value));
  if (text.empty() && key.name == "job.dump_folder")
    return ckpt::invalid("expected the name of a folder, found " + describe(value));
  const auto is = [&](const std::string& choice) { return same_word(key, choice, text); };
  if (std::ranges::any_of(key.choices, is) || std::ranges::any_of(key.other_choices, is)) return ckpt::ok_status();
  if (is_unsupported(key, text)) return not_yet(key, value);
  if (key.choices.empty()) return ckpt::ok_status();
  return wrong(key, value);
}

}  // namespace

bool Range::contains(double value) const {
  if (also && value == *also) return true;
  if (!std::isfinite(value) || (whole && value != std::floor(value))) return false;
  return value <= max && (open ? value > min : value >= min);
}

const char* class_name(KeyClass cls) {
  switch (cls) {
    case KeyClass::kCurve: return "curve";
    case KeyClass::kLayout: return "layout";
    case KeyClass::kSaving: return "saving";
    case KeyClass::kLogging: return "logging";
    case KeyClass::kEnvironment: return "environment";
    case KeyClass::kStart: return "start";
  }
  return "curve";
}

const std::vector<Key>& key_table() {
  static const std::vector<Key> table = [] {
    std::vector<Key> keys = own_keys();
    for (Key& key : torchtitan_keys()) keys.push_back(std::move(key));
    return keys;
  }();
  return table;
}

const std::vector<Alias>& key_aliases() {
  static const std::vector<Alias> aliases = [] {
    std::vector<Alias> list;
    for (const Key& key : key_table()) {
      // An alias of a "section.*" key covers the section: "profiler.freq" stands for "profiling.freq".
      const std::string section = key.name.ends_with(".*") ? key.name.substr(0, key.name.size() - 1) : "";
      for (const std::string& alias : key.aliases)
        list.push_back({alias, section.empty() ? key.name : section + alias.substr(alias.rfind('.') + 1)});
    }
    return list;
  }();
  return aliases;
}

const Key* find_key(std::string_view name) {
  const Key* section = nullptr;
  for (const Key& key : key_table()) {
    if (key.name == name) return &key;
    const std::string_view stem = key.name;
    if (stem.ends_with(".*") && name.starts_with(stem.substr(0, stem.size() - 1))) section = &key;
  }
  return section;
}

bool same_on_all_ranks(const std::string& name) {
  const Key* key = find_key(name);
  if (key != nullptr && key->of_machine) return false;
  return key == nullptr || key->cls == KeyClass::kCurve || key->cls == KeyClass::kLayout ||
         key->cls == KeyClass::kSaving || name.starts_with("validation.") || name.starts_with("profiling.") ||
         name.starts_with("lr_scheduler.") || name == "training.cpu_gemm";  // resolved on rank 0
}

std::string canonical_name(std::string_view name) {
  for (const Alias& alias : key_aliases())
    if (alias.name == name) return alias.key;
  return std::string(name);
}

std::string suggest_key(std::string_view name) {
  // Not for "validation.batch_size" and the like, which more probably mean a key of section "validation".
  if (const ForeignKeyName* foreign = find_foreign_key_name(name);
      foreign != nullptr && !name.starts_with("validation."))
    return foreign->key;
  std::vector<std::string> names;
  for (const Key& key : key_table())
    if (!key.name.ends_with(".*")) names.push_back(key.name);
  return nearest_name(name, names);
}

bool is_bool(const Key& key) { return holds<bool>(key); }
bool is_string(const Key& key) { return holds<std::string>(key); }
bool is_optional(const Key& key) {
  return key.value_in && with_type(key, [](auto*, bool optional) { return optional; });
}

std::string type_name(const Key& key) {
  if (!key.value_in) return "any";
  return holds<bool>(key)           ? "boolean"
         : holds<std::int64_t>(key) ? "integer"
         : holds<double>(key)       ? "float"
         : holds<Words>(key)        ? "list"
         : holds<SaveInterval>(key) ? "interval"
                                    : "string";
}

std::string expectation(const Key& key) {
  if (!key.choices.empty() && holds<Words>(key)) return "a list of " + quoted_list(key.choices);
  if (!key.choices.empty())
    return key.choices.size() == 1 ? toml_string(key.choices[0]) : "one of " + quoted_list(key.choices);
  const std::string type = type_name(key);
  if (type == "interval")
    return "a number of steps of at least 1, a time such as \"10min\" (s, min, h, d), \"continuous\" or \"auto\"";
  std::string text = (type == "integer" ? "an " : "a ") + (key.range.whole ? "whole number" : type);
  if (type == "boolean" || type == "string" || type == "list") return text;
  const auto& [min, max, also, open, whole] = key.range;
  if (std::isfinite(max))
    text += (open ? " above " : " from ") + number_text(min) + (open ? ", at most " : " to ") + number_text(max);
  else
    text += (open ? " above " : " of at least ") + number_text(min);
  if (also) text += ", or " + number_text(*also);
  return text;
}

std::optional<Value> get_value(const Key& key, const Config& config) {
  // value_in() only computes an address; nothing is written through it here.
  return std::visit(
      []<typename T>(T* place) -> std::optional<Value> {
        if constexpr (Unwrapped<T>::optional) {
          if (!*place) return std::nullopt;
          return Value{**place};
        } else if constexpr (std::is_same_v<T, Words>) {
          std::vector<Value> list;
          for (const std::string& word : *place) list.push_back({word});
          return Value{std::move(list)};
        } else if constexpr (std::is_same_v<T, SaveInterval>) {
          return place->kind == SaveInterval::Kind::kSteps ? Value{place->steps} : Value{place->text};
        } else {
          return Value{*place};
        }
      },
      key.value_in(const_cast<Config&>(config)));
}

Status set_value(const Key& key, const Value& value, Config& config, std::string_view name) {
  Status status = put_value(key, value, config, name);
  if (status.code == ckpt::Code::kInvalid) status.message = key.name + ": " + status.message;
  return status;
}

Status put_value(const Key& key, const Value& value, Config& config, std::string_view name) {
  if (!key.value_in) {
    const bool fine =
        key.any_harmless || generally_harmless(value) || std::ranges::find(key.harmless, value) != key.harmless.end();
    return fine ? ckpt::ok_status() : not_yet(key, value, name);
  }
  return std::visit(
      [&]<typename T>(T* place) -> Status {
        using Plain = typename Unwrapped<T>::type;
        if constexpr (Unwrapped<T>::optional)
          if ((is_text(value, "none") && !key.none_is_value) ||
              (std::is_same_v<Plain, std::string> && is_text(value, ""))) {
            place->reset();
            return ckpt::ok_status();
          }
        if constexpr (std::is_same_v<Plain, Words>)
          if (is_text(value, "none")) {
            place->clear();
            return ckpt::ok_status();
          }
        const std::optional<Plain> plain = convert<Plain>(value, key.lists);
        if (!plain) return wrong(key, value);
        if constexpr (std::is_same_v<Plain, std::string>) {
          TITAN_RETURN_IF_ERROR(check_string(key, value, *plain));
        } else if constexpr (std::is_same_v<Plain, Words>) {
          for (const std::string& word : *plain) TITAN_RETURN_IF_ERROR(check_string(key, {word}, word));
        } else if constexpr (std::is_same_v<Plain, SaveInterval>) {
          if (plain->steps < 1) return wrong(key, value);
        } else if constexpr (!std::is_same_v<Plain, bool>) {
          if (!key.range.contains(static_cast<double>(*plain))) return wrong(key, value);
        } else if (*plain && is_unsupported(key, "true")) {
          return not_yet(key, value);
        }
        *place = *plain;
        return ckpt::ok_status();
      },
      key.value_in(config));
}

Status check_values(const Config& config) {
  Config scratch;
  for (const Key& key : key_table()) {
    if (!key.value_in) continue;
    if (const std::optional<Value> value = get_value(key, config))
      TITAN_RETURN_IF_ERROR(set_value(key, *value, scratch));
  }
  return ckpt::ok_status();
}

}  // namespace titan::recipe
