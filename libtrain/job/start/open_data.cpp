#include "libtrain/job/start/open_data.h"

#include <algorithm>

#include "ckpt/plan/mixture.h"
#include "ckpt/plan/same_files.h"
#include "libtrain/job/data/data_shares.h"
#include "libtrain/job/forecast/forecast.h"
#include "libtrain/job/start/checked_data.h"
#include "libtrain/job/start/prepare.h"
#include "recipe/change/drift.h"
#include "recipe/keys/loader.h"
#include "recipe/plan/data_sets.h"

namespace titan::train {
namespace {

/// Finds the tokens of texts, and makes them if that is this rank's task.
Status settle_texts(ckpt::Fs& fs, const StartInputs& inputs, const recipe::Config& config,
                    std::span<const KnownFile> checked, Start& start) {
  std::string note;
  start.texts.clear();
  const bool mixed = !config.training.datasets.empty();
  if ((!config.training.dataset_path && !mixed) || text_tokenizer(fs, config, &note).empty()) {
    if (!note.empty()) start.warnings.push_back(std::move(note));
    return ckpt::ok_status();
  }
  TITAN_RETURN_IF_ERROR(recipe::data_set_choices(config).status());
  const auto vocabulary = static_cast<std::uint64_t>(start.plan.dims.vocab_size);
  const auto settle = [&](const std::string& path, const char* key, const ckpt::DataPosition* stored) -> Status {
    TITAN_ASSIGN_OR_RETURN(TextCache cache, find_text_cache(fs, config, path, key, vocabulary, checked, stored,
                                                            start.texts.empty() ? nullptr : &start.texts.front()));
    if (inputs.text_work == TextWork::kMake && !start.complete)
      TITAN_RETURN_IF_ERROR(prove_text_cache(fs, inputs.stop, inputs.say, cache));
    const bool needed = !cache.there && !start.complete;
    if (needed && inputs.text_work == TextWork::kNeed)
      return ckpt::failed("rank 0 has made " + cache.folder + ", and it is not seen here")
          .with_hint("all hosts of a run need one file system for job.dump_folder, and the same files as data");
    if (needed && inputs.text_work == TextWork::kMake)
      TITAN_RETURN_IF_ERROR(make_text_cache(fs, config, inputs.stop, inputs.say, cache));
    start.warnings.insert(start.warnings.end(), cache.warnings.begin(), cache.warnings.end());
    start.texts.push_back(std::move(cache));
    return ckpt::ok_status();
  };
  const char* const key = mixed ? "training.datasets" : "training.dataset_path";
  for (const std::string& path : recipe::data_paths(config)) {
    TITAN_RETURN_IF_ERROR(check_not_run_folder(path, config.job.dump_folder, key));
    TITAN_RETURN_IF_ERROR(settle(path, key, start.stored ? &start.stored->data : nullptr));
  }
  if (!config.validation.enable || !config.validation.dataset_path) return ckpt::ok_status();
  return settle(*config.validation.dataset_path, "validation.dataset_path", nullptr);
}

/// Number of samples of the texts `files` in the run so far, as its data or as one set of them; 0: not read yet.
std::uint64_t known_samples(const ckpt::DataPosition& stored, std::span<const ckpt::DataFile> files) {
  if (stored.sets.empty()) return ckpt::match_files(stored.files, files).same ? stored.samples_per_epoch : 0;
  for (std::size_t set = 0; set < stored.sets.size(); ++set)
    if (ckpt::match_files(ckpt::files_of_set(stored, set), files).same) return stored.sets[set].samples;
  return 0;
}

/// The position in data whose texts are not tokenized yet: everything except the number of samples, which is known only
/// if the run continues with the same texts. \error as share_out
Result<ckpt::DataPosition> position_of_texts(const recipe::Config& config, const Start& start) {
  ckpt::DataPosition data;
  data.seed = start.seed.value_or(0);
  data.shuffle = config.training.shuffle;
  data.seq_len = static_cast<std::uint64_t>(config.training.seq_len);
  data.sample_stride = static_cast<std::uint64_t>(config.training.sample_stride.value_or(config.training.seq_len));
  data.kind = "text";
  data.tokenizer = start.texts[0].tokenizer;
  TITAN_ASSIGN_OR_RETURN(const std::vector<recipe::DataSetChoice> choices, recipe::data_set_choices(config));
  bool all_known = true;
  for (std::size_t i = 0; i < std::max<std::size_t>(1, choices.size()); ++i) {
    std::vector<ckpt::DataFile> files;
    for (const KnownFile& known : start.texts[i].files) files.push_back(known.file);
    if (!choices.empty()) data.sets.push_back(set_of(choices[i], 0, files.size()));
    data.files.insert(data.files.end(), files.begin(), files.end());
  }
  // The same texts have the same number of samples if they are cut in the same way.
  const bool alike = start.stored && start.stored->data.kind == data.kind &&
                     recipe::same_sample_boundaries(start.stored->state.accepted,
                                                    recipe::accepted_settings(config, start.plan, data.seed, data));
  for (std::size_t i = 0; i < std::max<std::size_t>(1, choices.size()); ++i) {
    const std::span<const ckpt::DataFile> files = ckpt::files_of_set(data, i);
    const std::uint64_t samples = alike ? known_samples(start.stored->data, files) : 0;
    all_known &= samples != 0;
    data.samples_per_epoch += samples;
    // An unknown number of samples is set to 1; epochs in the configuration do not depend on it.
    if (!choices.empty()) data.sets[i] = set_of(choices[i], std::max<std::uint64_t>(samples, 1), files.size());
  }
  if (!all_known) data.samples_per_epoch = 0;
  if (!choices.empty()) TITAN_RETURN_IF_ERROR(share_out(choices, data));
  return data;
}

/// Whether tokens of texts are damaged; a run makes them again. If only looking, reports whether they can be read as
/// data.
bool any_damaged(ckpt::Fs& fs, const StartInputs& inputs, Start& start) {
  bool damaged = false;
  for (TextCache& cache : start.texts) {
    const Status proven = prove_text_cache(
        fs, inputs.stop, [&start](const std::string& line) { start.warnings.push_back(line); }, cache);
    damaged |= proven.ok() && !cache.there;
  }
  return damaged;
}

}  // namespace

Status open_data(ckpt::Fs& fs, const StartInputs& inputs, Start& start) {
  const recipe::Config& config = start.loaded.config;
  const std::vector<KnownFile> checked =
      known_files(inputs.checked_data, start.stored ? &start.stored->data : nullptr, config.training.dataset);
  const Status texts = settle_texts(fs, inputs, config, checked, start);
  const bool made = std::all_of(start.texts.begin(), start.texts.end(), [](const TextCache& one) { return one.there; });
  if (texts.ok() && !made) {
    TITAN_ASSIGN_OR_RETURN(start.data, position_of_texts(config, start));
    return ckpt::ok_status();
  }
  auto dataset = !texts.ok() ? Result<std::unique_ptr<Dataset>>(texts)
                             : Dataset::open(config, start.seed.value_or(0),
                                             static_cast<std::uint64_t>(start.plan.dims.vocab_size), checked,
                                             inputs.stop, start.texts);
  if (dataset.ok()) {
    const Status& doubt = (*dataset)->doubt();
    if (!doubt.ok() && !start.stored) return doubt;
    if (!doubt.ok()) start.warnings.push_back(doubt.message);
    start.dataset = std::move(*dataset);
    start.data = start.dataset->origin();
    return ckpt::ok_status();
  }
  if (!inputs.stop.check().ok()) return dataset.status();
  if (texts.ok() && inputs.text_work == TextWork::kLook && !start.complete && any_damaged(fs, inputs, start)) {
    TITAN_ASSIGN_OR_RETURN(start.data, position_of_texts(config, start));
    return ckpt::ok_status();
  }
  if (start.complete) {
    start.warnings.push_back("the dataset cannot be compared with the checkpoint's: " + dataset.status().message);
    start.data = start.stored->data;
    return ckpt::ok_status();
  }
  if (!inputs.allow_missing_data || start.stored || config.training.corpus.empty() ||
      !recipe::data_paths(config).empty())
    return dataset.status();
  start.no_data = dataset.status();
  return ckpt::ok_status();
}

Status end_with_data(Start& start) {
  const bool counted = start.data.samples_per_epoch > 0;  // 0: texts are not tokenized yet
  if (start.data.sets.empty() || start.complete || !counted) return ckpt::ok_status();
  const ckpt::Mixture mixture(start.data);
  if (!mixture.end()) return ckpt::ok_status();
  recipe::Config& config = start.loaded.config;
  const std::uint64_t begin = start.stored ? start.decision.step : 0, last = last_step_of(config);
  const auto batch = static_cast<std::uint64_t>(start.plan.batch.global);
  const auto is_filled = [&](std::uint64_t step) {
    return ckpt::kept_sample(start.data.excluded, start.data.samples, (step - begin) * batch - 1) < *mixture.end();
  };
  if (begin >= last || is_filled(last)) return ckpt::ok_status();
  std::uint64_t filled = begin, open = last;
  while (open - filled > 1) {
    const std::uint64_t middle = filled + (open - filled) / 2;
    if (is_filled(middle))
      filled = middle;
    else
      open = middle;
  }
  const std::string set = "'" + ckpt::set_names(start.data.sets)[mixture.last_set()] + "' has given all of its epochs";
  if (filled == begin)
    return ckpt::invalid("the data end before step " + std::to_string(begin + 1) + ": " + set)
        .with_hint("give it more epochs in training.datasets, with --allow training.datasets");
  config.debug.stop_at_step = static_cast<std::int64_t>(filled);
  start.data_end = true;
  start.warnings.push_back("the data end after step " + std::to_string(filled) + ", where the run stops: " + set +
                           " by then");
  return ckpt::ok_status();
}

}  // namespace titan::train
