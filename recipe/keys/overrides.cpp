#include "recipe/keys/overrides.h"

#include <algorithm>

#include "ckpt/base/utf8.h"
#include "recipe/keys/key_table.h"
#include "recipe/keys/toml_reader.h"

namespace titan::recipe {
namespace {

using ckpt::is_utf8;

std::string underscored(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

const Key* key_of(const std::string& name) { return find_key(canonical_name(name)); }

/// "checkpoint.no_enable" -> "checkpoint.enable" when that is a boolean; else "".
std::string negated_flag(const std::string& name) {
  const auto start = name.rfind('.') + 1;  // 0 without a dot
  if (name.compare(start, 3, "no_") != 0) return "";
  const std::string positive = name.substr(0, start) + name.substr(start + 3);
  const Key* key = key_of(positive);
  return key && (is_bool(*key) || !key->value_in) && !key_of(name) ? positive : "";
}

/// Reads a flag's value by the type of its key: a text key takes the text unchanged unless it is a quoted TOML string.
Value read_value(const std::string& name, const std::string& text) {
  Value value = parse_override_value(text);
  const Key* key = key_of(name);
  if (key && is_string(*key) && !value.as<std::string>()) return {text};
  return value;
}

class Reader {
 public:
  Reader(const std::vector<std::string>& arguments, std::vector<ckpt::Status>& problems)
      : arguments_(arguments), problems_(problems) {}

  std::vector<Override> read() {
    while (at_ < arguments_.size()) read_one(arguments_[at_++]);
    std::ranges::stable_sort(found_, std::greater<>{}, &Override::set);
    return std::move(found_);
  }

 private:
  void read_one(const std::string& argument) {
    if (!is_utf8(argument))
      return fail("an argument is not valid UTF-8: " + to_toml({argument.substr(0, argument.find('='))}));
    if (argument == "--set") {
      if (at_ == arguments_.size()) return fail("--set needs section.key=value");
      if (is_utf8(arguments_[at_])) return add_set(arguments_[at_++]);
      ++at_;
      return fail("the argument of --set is not valid UTF-8");
    }
    if (argument.starts_with("--set=")) return add_set(argument.substr(6));
    if (!argument.starts_with("--") || argument.size() == 2)
      return fail("unexpected argument " + toml_string(argument) + "; keys are set with --section.key=value");
    const auto equals = argument.find('=');
    const std::string flag = argument.substr(0, equals);
    const std::string name = underscored(flag.substr(2));
    if (equals != std::string::npos) return add(flag, name, argument.substr(equals + 1), false);
    add_without_equals(flag, name);
  }

  void add_set(const std::string& text) {
    const auto split = split_set(text);
    if (!split) return fail("--set " + text + ": expected section.key=value");
    add("--set " + text.substr(0, text.find('=')), split->first, split->second, true);
  }

  void add_without_equals(const std::string& flag, const std::string& name) {
    if (const std::string positive = negated_flag(name); !positive.empty())
      return found_.push_back({flag, positive, {false}, false});
    const Key* key = key_of(name);
    const std::string* next = at_ < arguments_.size() ? &arguments_[at_] : nullptr;
    const bool next_is_value = next && !next->starts_with("--");
    // A boolean flag needs no value. The argument after it is its value only if it is "true" or "false".
    const bool boolean = key && is_bool(*key);
    if (boolean && !(next && (*next == "true" || *next == "false")))
      return found_.push_back({flag, name, {true}, false});
    if (!next_is_value) {
      if (key && !key->value_in) return found_.push_back({flag, name, {true}, false});
      // An unknown key is reported as unknown, not as lacking its value.
      if (!key) return found_.push_back({flag, name, {true}, false});
      return fail("flag " + flag + " needs a value: expected " + expectation(*key));
    }
    ++at_;
    if (!is_utf8(*next)) return fail("the value of " + flag + " is not valid UTF-8");
    found_.push_back({flag, name, read_value(name, *next), false});
  }

  void add(const std::string& flag, const std::string& name, const std::string& text, bool set) {
    if (!key_of(name) && !negated_flag(name).empty())
      return fail("flag " + flag + " takes no value (write --" + negated_flag(name) + "=" + text + ")");
    found_.push_back({flag, name, read_value(name, text), set});
  }

  void fail(std::string message) { problems_.push_back(ckpt::invalid(std::move(message))); }

  const std::vector<std::string>& arguments_;
  std::vector<ckpt::Status>& problems_;
  std::vector<Override> found_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<std::pair<std::string, std::string>> split_set(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return std::nullopt;
  return std::pair(underscored(text.substr(0, equals)), text.substr(equals + 1));
}

std::vector<Override> parse_overrides(const std::vector<std::string>& arguments, std::vector<ckpt::Status>& problems) {
  return Reader(arguments, problems).read();
}

}  // namespace titan::recipe
