#include "ckpt/plan/same_files.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

namespace titan::ckpt {
namespace {

using Content = std::pair<std::uint64_t, Digest>;
Content content_of(const DataFile& file) { return {file.bytes, file.blocks}; }

/// Indexes of files by a key. Each index is returned once, the lowest first.
template <typename Key>
class Waiting {
 public:
  void add(const Key& key, std::size_t place) { places_[key].push_back(place); }
  /// The first index under `key` that is not `taken`.
  std::optional<std::size_t> take(const Key& key, std::vector<bool>& taken) {
    const auto found = places_.find(key);
    if (found == places_.end()) return std::nullopt;
    std::size_t& next = next_[key];
    while (next < found->second.size() && taken[found->second[next]]) ++next;
    if (next == found->second.size()) return std::nullopt;
    taken[found->second[next]] = true;
    return found->second[next++];
  }

 private:
  std::map<Key, std::vector<std::size_t>> places_;
  std::map<Key, std::size_t> next_;
};

std::vector<DataFile> with_tokens(std::span<const DataFile> files) {
  std::vector<DataFile> kept;
  std::ranges::copy_if(files, std::back_inserter(kept), [](const DataFile& file) { return file.bytes > 0; });
  return kept;
}

/// For each stored file, the index of the present file with which it is paired, if there is one.
std::vector<std::optional<std::size_t>> pair_up(const std::vector<DataFile>& stored, const std::vector<DataFile>& there,
                                                std::vector<bool>& taken) {
  Waiting<std::pair<Content, std::string>> by_name;
  Waiting<Content> by_content;
  for (std::size_t i = 0; i < there.size(); ++i) {
    by_name.add({content_of(there[i]), there[i].name}, i);
    by_content.add(content_of(there[i]), i);
  }
  std::vector<std::optional<std::size_t>> partner(stored.size());
  for (std::size_t i = 0; i < stored.size(); ++i)
    partner[i] = by_name.take({content_of(stored[i]), stored[i].name}, taken);
  for (std::size_t i = 0; i < stored.size(); ++i)
    if (!partner[i]) partner[i] = by_content.take(content_of(stored[i]), taken);
  return partner;
}

std::string sizes(const DataFile& then, const DataFile& now) {
  if (then.bytes == now.bytes) return then.name + " (other contents of " + std::to_string(now.bytes) + " bytes)";
  return then.name + " (" + std::to_string(then.bytes) + " bytes, " + std::to_string(now.bytes) + " now)";
}

/// Fills in the differences: stored and present files that are not paired.
void name_differences(const std::vector<DataFile>& stored, const std::vector<DataFile>& there,
                      const std::vector<std::optional<std::size_t>>& partner, const std::vector<bool>& taken,
                      FileMatch& match) {
  std::map<std::string, std::vector<const DataFile*>> unmatched;
  for (std::size_t i = there.size(); i-- > 0;)
    if (!taken[i]) unmatched[there[i].name].push_back(&there[i]);
  for (std::size_t i = 0; i < stored.size(); ++i) {
    if (partner[i]) continue;
    std::vector<const DataFile*>& same_name = unmatched[stored[i].name];
    if (same_name.empty()) {
      match.removed.push_back(stored[i].name);
    } else {
      match.changed.push_back(sizes(stored[i], *same_name.back()));
      same_name.pop_back();
    }
  }
  for (const auto& [name, files] : unmatched) match.added.insert(match.added.end(), files.size(), name);
}

}  // namespace

bool FileMatch::reordered() const { return !std::ranges::is_sorted(order); }

FileMatch match_files(std::span<const DataFile> stored, std::span<const DataFile> there) {
  const std::vector<DataFile> then = with_tokens(stored), now = with_tokens(there);
  std::vector<bool> taken(now.size(), false);
  const auto partner = pair_up(then, now, taken);
  FileMatch match;
  match.same =
      then.size() == now.size() && std::ranges::all_of(partner, [](const auto& place) { return place.has_value(); });
  if (!match.same) {
    name_differences(then, now, partner, taken, match);
    return match;
  }
  for (std::size_t i = 0; i < then.size(); ++i) {
    match.order.push_back(*partner[i]);
    if (then[i].name != now[*partner[i]].name)
      match.renamed.push_back(then[i].name + " is " + now[*partner[i]].name + " now");
  }
  return match;
}

std::string same_files_note(const FileMatch& match) {
  if (!match.same || (match.renamed.empty() && !match.reordered())) return "";
  if (match.renamed.empty()) return "data: the same files in another order: read in the checkpoint's order";
  const std::string names = match.renamed.size() == 1 ? "another name" : "other names";
  return "data: same contents under " + names + ": taken (" + first_few(match.renamed) + ")" +
         (match.reordered() ? ", and read in the checkpoint's order" : "");
}

std::string other_files_note(const FileMatch& match) {
  std::string text;
  for (const auto& [what, names] :
       {std::pair{"changed: ", &match.changed}, {"added: ", &match.added}, {"removed: ", &match.removed}})
    if (!names->empty()) text += (text.empty() ? "" : "; ") + std::string(what) + first_few(*names);
  return text;
}

std::string first_few(std::span<const std::string> words, std::size_t most) {
  std::string text;
  for (const std::string& word : words.first(std::min(most, words.size()))) text += (text.empty() ? "" : ", ") + word;
  return words.size() <= most ? text : text + ", and " + std::to_string(words.size() - most) + " more";
}

std::string first_within(std::span<const std::string> words, std::size_t length) {
  std::size_t count = 0, used = 0;
  while (count < words.size() && (count == 0 || used + words[count].size() <= length))
    used += words[count++].size() + 2;
  return first_few(words, count);
}

std::string file_names(std::span<const DataFile> files, std::size_t most) {
  std::vector<std::string> names;
  for (const DataFile& file : files) names.push_back(file.name);
  return first_few(names, most);
}

}  // namespace titan::ckpt
