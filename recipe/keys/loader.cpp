#include "recipe/keys/loader.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "ckpt/base/denied.h"
#include "recipe/keys/foreign_key_names.h"
#include "recipe/keys/overrides.h"
#include "recipe/keys/toml_reader.h"

namespace titan::recipe {
namespace {

constexpr std::size_t kMaxFileBytes = 16u << 20;
constexpr std::size_t kMostProblems = 20;  // most problems shown for one configuration

Result<std::string> read_text(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  const auto unreadable = [&] {
    const int error = errno;
    const std::string inside = path + (path.ends_with('/') ? "" : "/") + "config.toml";
    const bool is_run = error == EISDIR && access(inside.c_str(), F_OK) == 0;
    return ckpt::invalid("cannot read the configuration file '" + path + "': " + std::strerror(error))
        .with_hint(is_run ? "did you mean `" + inside + "`?" : ckpt::denied_hint(error, path, "open"));
  };
  if (!file) return unreadable();
  std::string text;
  char buffer[65536];
  while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, file.get())) {
    text.append(buffer, got);
    if (text.size() > kMaxFileBytes)
      return ckpt::invalid(path + ": larger than 16 MiB; this is not a configuration file");
  }
  if (std::ferror(file.get())) return unreadable();
  return text;
}

/// Collects values and problems: first those of the file, then those of the overrides.
class Loader {
 public:
  void apply(const std::string& typed_name, const Value& value, const Origin& key_at, const Origin& value_at) {
    const std::string name = canonical_name(typed_name);
    const auto* other = value.as<Value::Other>();
    if (other && other->kind == kEmptyTable && section_exists(name)) return;
    const Key* key = find_key(name);
    if (!key) return unknown(typed_name, value, key_at);

    const auto [earlier, first] = names_.try_emplace(name, typed_name);
    const bool same_source = !first && last_origin_[name].kind == value_at.kind;
    if (same_source && value_at.kind == Origin::Kind::kFile)
      return fail(
          ckpt::invalid(key_at.text() + ": " + typed_name + " and " + earlier->second + " are the same key; keep one"));
    last_origin_[name] = value_at;
    // A flag replaces the value of the file, so the file's wrong value is no longer an error.
    if (const auto wrong = wrong_values_.extract(name); wrong && value_at.kind == Origin::Kind::kFlag)
      drop(wrong.mapped().message);
    if (typed_name != name) loaded_.warnings.push_back(key_at.text() + ": " + typed_name + " is read as " + name);

    // For a flag, the origin in the message already names the key.
    const bool named = value_at.kind == Origin::Kind::kFlag;
    Status status = (named ? put_value : set_value)(*key, value, loaded_.config, name);
    if (!status.ok()) {
      status.message = value_at.text() + ": " + status.message;
      const bool from_file = value_at.kind == Origin::Kind::kFile && status.code == ckpt::Code::kUnsupported;
      wrong_values_[name] = {status.message, key, value, from_file};
      return fail(std::move(status));
    }
    if (key->value_in) loaded_.origins[name] = value_at;
  }

  /// Combines the ignored values of a file (KeyFacts::ignore_if) into one warning.
  void warn_ignored(const std::string& path) {
    std::string plain, replaced;
    for (const auto& [name, wrong] : wrong_values_) {
      if (!wrong.from_file || !wrong.key->ignore_if || !wrong.key->ignore_if(loaded_.config, wrong.value)) continue;
      drop(wrong.message);
      const std::string text = name + " = " + to_toml(wrong.value);
      if (wrong.key->instead.empty())
        plain += (plain.empty() ? "without effect here: " : ", ") + text;
      else
        replaced += (replaced.empty() ? "" : "; ") + text + ": " + wrong.key->instead;
    }
    if (plain.empty() && replaced.empty()) return;
    loaded_.warnings.push_back(path + ": " + plain + (plain.empty() || replaced.empty() ? "" : "; ") + replaced);
  }

  /// Removes the errors about keys of torchtitan that are not supported, and returns them. The rest of the
  /// configuration stays valid.
  Status take_refused() {
    Loader refused;
    for (const auto& [name, wrong] : wrong_values_)
      if (!wrong.key->value_in)
        for (const Status& problem : problems_)
          if (problem.message == wrong.message) refused.fail(problem);
    for (const Status& problem : refused.problems_) drop(problem.message);
    return refused.problems_.empty() ? Status{} : refused.all_problems();
  }

  void fail(Status status) { problems_.push_back(std::move(status)); }
  std::vector<Status>& problems() { return problems_; }

  Result<LoadedConfig> finish(const std::string& path) {
    for (const Key& key : key_table())
      if (key.value_in) loaded_.origins.try_emplace(key.name);
    if (problems_.empty()) {
      loaded_.config.job.config_file = path;
      return std::move(loaded_);
    }
    return all_problems();
  }

 private:
  Status all_problems() const {
    if (problems_.size() == 1) return problems_[0];
    const bool invalid = std::ranges::any_of(problems_, [](const Status& s) { return s.code == ckpt::Code::kInvalid; });
    const std::string message = std::to_string(problems_.size()) + " problems in the configuration";
    Status all = invalid ? ckpt::invalid(message) : ckpt::unsupported(message);
    for (std::size_t i = 0; i < std::min(problems_.size(), kMostProblems); ++i)
      all.causes.push_back(problems_[i].message + (problems_[i].hint.empty() ? "" : "; " + problems_[i].hint));
    if (problems_.size() > kMostProblems)
      all.causes.push_back("and " + std::to_string(problems_.size() - kMostProblems) + " more");
    return all;
  }

  /// A value that was rejected.
  struct Wrong {
    std::string message;  ///< also in problems_
    const Key* key = nullptr;
    Value value;
    bool from_file = false;  ///< from the file, and not supported
  };

  void drop(const std::string& message) {
    std::erase_if(problems_, [&](const Status& problem) { return problem.message == message; });
  }

  static bool section_exists(const std::string& name) {
    return std::ranges::any_of(key_table(), [&](const Key& key) { return key.name.starts_with(name + "."); });
  }

  /// A key of another section is suggested only if the value is valid for it.
  bool may_be(const std::string& name, const std::string& near, const Value& value) const {
    const Key* const key = find_key(near);
    const auto last = [](const std::string& text) { return text.substr(text.rfind('.') + 1); };
    if (key == nullptr || find_foreign_key_name(name) != nullptr || last(name) != last(near)) return true;
    Config config = loaded_.config;
    return set_value(*key, value, config).ok();
  }

  void unknown(const std::string& name, const Value& value, const Origin& at) {
    if (section_exists(name))
      return fail(
          ckpt::invalid(at.text() + ": '" + name + "' is a section, not a key (its keys are " + name + ".<name>)"));
    const std::string near = suggest_key(name);
    if (near.empty() || !may_be(name, near, value))
      return fail(
          ckpt::invalid(at.text() + ": unknown key '" + name + "'").with_hint("configs/full.toml lists every key"));
    const ForeignKeyName* foreign = find_foreign_key_name(name);
    const std::string note =
        foreign != nullptr && near == foreign->key && *foreign->note ? ", " + std::string(foreign->note) : "";
    fail(ckpt::invalid(at.text() + ": unknown key '" + name + "' (did you mean '" + near + "'" + note + "?)"));
  }

  LoadedConfig loaded_;
  std::map<std::string, std::string> names_;  ///< canonical name -> the name that was used first
  std::map<std::string, Origin> last_origin_;
  std::map<std::string, Wrong> wrong_values_;  ///< by canonical name
  std::vector<Status> problems_;
};

}  // namespace

std::string Origin::text() const {
  switch (kind) {
    case Kind::kDefault: return "default";
    case Kind::kFile: return source + ":" + std::to_string(line) + ":" + std::to_string(column);
    case Kind::kFlag: return "flag " + source;
    case Kind::kCheckpoint: return "checkpoint " + source;
  }
  return "default";
}

Result<LoadedConfig> load_config_text(std::string_view text, const std::string& path,
                                      const std::vector<std::string>& overrides, Status* refused) {
  TITAN_ASSIGN_OR_RETURN(const std::vector<TomlEntry> entries, parse_toml(text, path));
  Loader loader;
  for (const TomlEntry& entry : entries) {
    const auto origin = [&](TomlPosition at) { return Origin{Origin::Kind::kFile, path, at.line, at.column}; };
    loader.apply(entry.key, entry.value, origin(entry.key_at), origin(entry.value_at));
  }
  for (const Override& one : parse_overrides(overrides, loader.problems())) {
    const Origin origin{Origin::Kind::kFlag, one.flag};
    loader.apply(one.name, one.value, origin, origin);
  }
  loader.warn_ignored(path);
  if (refused) *refused = loader.take_refused();
  return loader.finish(path);
}

Result<LoadedConfig> load_config(const std::string& path, const std::vector<std::string>& overrides, Status* refused) {
  if (path.empty()) return load_config_text("", "", overrides, refused);
  TITAN_ASSIGN_OR_RETURN(const std::string text, read_text(path));
  return load_config_text(text, path, overrides, refused);
}

}  // namespace titan::recipe
