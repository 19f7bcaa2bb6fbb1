#include "recipe/plan/data_sets.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "ckpt/base/text.h"
#include "ckpt/base/toml_text.h"
#include "recipe/keys/config.h"
#include "recipe/keys/suggest.h"

namespace titan::recipe {
namespace {

constexpr std::uint64_t kMostEpochs = 1'000'000'000;

ckpt::Status wrong_set(const std::string& item, const std::string& why) {
  if (item.find('=') == std::string::npos)  // the text after a comma
    return ckpt::invalid("training.datasets: " + ckpt::toml_string(item) + ": " + why)
        .with_hint(
            "commas divide sets; a path that is a list stands in a list of texts: [\"path=a.ids, b.ids\", "
            "\"path=c.ids weight=2\"]");
  return ckpt::invalid("training.datasets: " + ckpt::toml_string(item) + ": " + why)
      .with_hint("a set is a table with path, weight, epochs and exhausted, or \"path=FILE weight=0.7 epochs=2\"");
}

/// The known key nearest to a mistyped one ("wight" in "wight=0.6"); "" if none is near, because file names may contain
/// "=".
std::string meant_key(const std::string& key) {
  if (key.size() < 3 || key.find('/') != std::string::npos) return "";
  return nearest_name(key, {"path", "weight", "epochs", "exhausted"});
}

/// The words of an item. A word that does not begin with a known "key=" belongs to the value before it, because paths
/// may contain blanks.
ckpt::Result<std::vector<std::pair<std::string, std::string>>> read_words(const std::string& item) {
  std::vector<std::pair<std::string, std::string>> words;
  for (const std::string& word : ckpt::split(item, ' ')) {
    const std::size_t equals = word.find('=');
    const std::string key = equals == std::string::npos ? "" : word.substr(0, equals);
    const bool known = key == "path" || key == "weight" || key == "epochs" || key == "exhausted";
    if (known) {
      words.emplace_back(key, word.substr(equals + 1));
    } else if (const std::string meant = meant_key(key); !meant.empty()) {
      return wrong_set(item, "unknown key " + ckpt::toml_string(key) + " (did you mean " + meant + "?)");
    } else if (!words.empty() && words.back().first == "path") {
      words.back().second += " " + word;
    } else if (!word.empty()) {
      return wrong_set(item, "unknown word " + ckpt::toml_string(word) + ", known are path, weight, epochs, exhausted");
    }
  }
  return words;
}

ckpt::Result<DataSetChoice> read_choice(const std::string& item) {
  DataSetChoice choice;
  std::optional<std::string> exhausted;
  std::set<std::string> seen;
  TITAN_ASSIGN_OR_RETURN(const auto words, read_words(item));
  for (const auto& [key, value] : words) {
    if (!seen.insert(key).second) return wrong_set(item, key + " is there twice");
    if (key == "path") {
      choice.path = std::string(ckpt::trimmed(value));
    } else if (key == "weight") {
      const std::optional<double> number = ckpt::number_of<double>(value);
      if (!number || !(*number > 0) || !std::isfinite(*number))
        return wrong_set(item, "expected a number above 0 as weight, found " + ckpt::toml_string(value));
      choice.weight = *number;
    } else if (key == "epochs") {
      const std::optional<std::uint64_t> number = ckpt::number_of<std::uint64_t>(value);
      if (!number || *number < 1 || *number > kMostEpochs)
        return wrong_set(item,
                         "expected a whole number from 1 to 1000000000 as epochs, found " + ckpt::toml_string(value));
      choice.epochs = *number;
    } else {
      exhausted = value;
    }
  }
  if (choice.path.empty()) return wrong_set(item, "it has no path");
  if (!exhausted) return choice;
  if (*exhausted != "repeat" && *exhausted != "stop" && *exhausted != "drop")
    return wrong_set(item, "expected repeat, stop or drop as exhausted, found " + ckpt::toml_string(*exhausted));
  if (*exhausted == "repeat" && choice.epochs != 0)
    return wrong_set(item, "what repeats has no number of epochs: leave out one of the two");
  if (*exhausted != "repeat") choice.epochs = std::max<std::uint64_t>(choice.epochs, 1);
  choice.stops = *exhausted == "stop";
  return choice;
}

}  // namespace

ckpt::Result<std::vector<DataSetChoice>> data_set_choices(const Config& config) {
  std::vector<DataSetChoice> choices;
  std::set<std::string> paths;
  for (const std::string& item : config.training.datasets) {
    TITAN_ASSIGN_OR_RETURN(DataSetChoice choice, read_choice(item));
    if (!paths.insert(choice.path).second) return wrong_set(item, "another set has this path");
    choices.push_back(std::move(choice));
  }
  if (!choices.empty() && config.training.dataset_path)
    return ckpt::invalid("training.dataset_path and training.datasets are both set")
        .with_hint("make that path one of the sets, or leave it out: --training.dataset_path=none");
  return choices;
}

std::vector<std::string> data_paths(const Config& config) {
  std::vector<std::string> paths;
  if (const auto choices = data_set_choices(config); choices.ok())
    for (const DataSetChoice& choice : *choices) paths.push_back(choice.path);
  if (config.training.dataset_path) paths.push_back(*config.training.dataset_path);
  return paths;
}

}  // namespace titan::recipe
