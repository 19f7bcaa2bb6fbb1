#include "cli/titan_engine/prompt.h"

#include "ckpt/base/files.h"
#include "ckpt/base/fs_posix.h"
#include "ckpt/base/text.h"
#include "cli/kit/flag_values.h"
#include "cli/titan_engine/speech.h"

namespace titan::cli {

using ckpt::Result;
using ckpt::Status;

namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;  // of a file of ids
constexpr const char* kBetween = ", \t\r\n";

}  // namespace

Status check_prompt(const Command& command) {
  const bool text = command.has("prompt"), ids = command.has("prompt-ids");
  if (text && ids) return ckpt::invalid("`--prompt` and `--prompt-ids` are given: one begins the text");
  if (!text && !ids)
    return ckpt::invalid("`titan-train sample` needs --prompt TEXT or --prompt-ids IDS")
        .with_hint("--prompt is for models of bytes, or with a tokenizer.json; others take ids: 1,2,3, or a file");
  for (const char* flag : {"prompt", "stop"})
    for (const std::string& value : command.all(flag))
      if (value.empty())
        return ckpt::invalid("`--" + std::string(flag) + "` is empty").with_hint("give at least one character");
  return ckpt::ok_status();
}

Result<std::vector<std::int64_t>> parse_ids(const std::string& text) {
  std::vector<std::int64_t> ids;
  for (std::size_t at = text.find_first_not_of(kBetween); at != std::string::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBetween, at), text.size());
    const std::string word = text.substr(at, end - at);
    const auto id = ckpt::number_of<std::int64_t>(word);
    if (!id || *id < 0) return ckpt::invalid("'" + word + "' is no token id");
    ids.push_back(*id);
    at = text.find_first_not_of(kBetween, end);
  }
  if (ids.empty()) return ckpt::invalid("no token id is there");
  return ids;
}

Result<std::vector<std::int64_t>> prompt_of(const Command& command, const Texts& texts, std::int64_t vocab_size) {
  std::vector<std::int64_t> ids;
  if (const auto text = command.value("prompt")) {
    TITAN_ASSIGN_OR_RETURN(ids, ids_of(texts, *text, true));
  } else {
    std::string list = *command.value("prompt-ids"), from = "`--prompt-ids`";
    if (list.find_first_not_of("0123456789, \t\r\n") != std::string::npos) {
      from = list;
      const auto bytes = ckpt::read_file(ckpt::posix_fs(), list, kMostBytes);
      if (!bytes.ok()) {
        Status status =
            bytes.status().wrapped("`--prompt-ids " + list + "` is neither ids nor a file that can be read");
        status.code = ckpt::Code::kInvalid;
        return status.with_hint("expected 1,2,3, or a text file of such numbers");
      }
      list.assign(reinterpret_cast<const char*>(bytes->data()), bytes->size());
    }
    auto parsed = parse_ids(list);
    if (!parsed.ok()) return ckpt::invalid(from + ": " + parsed.status().message);
    ids = std::move(*parsed);
  }
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (ids[i] >= vocab_size)
      return ckpt::invalid("id " + std::to_string(ids[i]) + ", number " + std::to_string(i + 1) +
                           " of the prompt, is outside the vocabulary of " + std::to_string(vocab_size));
  return ids;
}

}  // namespace titan::cli
