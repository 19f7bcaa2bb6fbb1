#include "converters/skip_rules.h"

#include <fnmatch.h>

#include <algorithm>

namespace titan::convert {
namespace {

bool matches(const std::string& glob, const std::string& name) { return fnmatch(glob.c_str(), name.c_str(), 0) == 0; }

// The most general pattern made from `name` that matches none of `kept`.
std::string glob_for(const std::string& name, const std::vector<std::string>& kept) {
  const std::size_t first = name.find('.'), last = name.rfind('.');
  if (first == std::string::npos) return name;
  for (const std::string& glob : {name.substr(0, first) + ".*", "*" + name.substr(last)})
    if (std::ranges::none_of(kept, [&](const std::string& other) { return matches(glob, other); })) return glob;
  return name;
}

}  // namespace

bool SkipRules::takes(std::initializer_list<std::string> names) {
  bool taken = false;
  for (std::size_t i = 0; i < globs_.size(); ++i) {
    for (const std::string& name : names) {
      if (name == globs_[i] || matches(globs_[i], name)) taken = used_[i] = true;
    }
  }
  return taken;
}

ckpt::Status SkipRules::check_used(const std::string& what) const {
  for (std::size_t i = 0; i < globs_.size(); ++i)
    if (!used_[i])
      return ckpt::invalid("--skip '" + globs_[i] + "' matches no tensor of " + what)
          .with_hint("--dry-run lists the names");
  return {};
}

std::string skip_flags(const std::vector<std::string>& names, const std::vector<std::string>& all) {
  constexpr std::size_t kShown = 5;
  std::vector<std::string> kept, globs;
  std::ranges::copy_if(all, std::back_inserter(kept),
                       [&](const std::string& name) { return std::ranges::find(names, name) == names.end(); });
  for (const std::string& name : names) {
    if (std::ranges::any_of(globs, [&](const std::string& glob) { return glob == name || matches(glob, name); }))
      continue;
    globs.push_back(glob_for(name, kept));
    if (globs.size() > kShown) break;
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(globs.size(), kShown); ++i)
    text += (i > 0 ? " --skip '" : "--skip '") + globs[i] + "'";
  return globs.size() > kShown ? text + " and so on" : text;
}

}  // namespace titan::convert
