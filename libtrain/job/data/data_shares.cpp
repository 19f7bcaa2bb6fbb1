#include "libtrain/job/data/data_shares.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "ckpt/plan/mixture.h"

namespace titan::train {

ckpt::MixedSet set_of(const recipe::DataSetChoice& choice, std::uint64_t samples, std::uint64_t files) {
  const std::filesystem::path path(choice.path);
  ckpt::MixedSet set;
  set.name = (path.has_filename() ? path : path.parent_path()).filename().string();
  set.samples = samples;
  set.most = choice.epochs * samples;
  set.stops = choice.stops;
  set.files = files;
  return set;
}

ckpt::Status share_out(std::span<const recipe::DataSetChoice> choices, ckpt::DataPosition& position) {
  std::map<std::string, std::size_t> by_contents;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const auto [same, is_new] = by_contents.try_emplace(ckpt::contents_of(ckpt::files_of_set(position, i)).hex(), i);
    if (!is_new)
      return ckpt::invalid("training.datasets: '" + choices[i].path + "' has the same contents as '" +
                           choices[same->second].path + "'")
          .with_hint("a set that is to be read more often has a larger weight");
  }
  std::vector<double> weights;
  for (const auto& [contents, place] : by_contents) weights.push_back(choices[place].weight);
  const std::vector<std::uint64_t> shares = ckpt::shares_of(weights);
  std::size_t next = 0;
  for (const auto& [contents, place] : by_contents) {
    position.sets[place].share = shares[next++];
    if (position.sets[place].share == 0)
      return ckpt::invalid("training.datasets: the weight of '" + choices[place].path +
                           "' is too small compared with the others: it would never be read")
          .with_hint("give it a larger weight, or leave it out");
  }
  return {};
}

}  // namespace titan::train
