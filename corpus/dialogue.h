#pragma once
// Reads JSON lines for supervised fine-tuning (SFT). A line has a prompt and its completion, or a list of chat messages
// with roles. Only the answers (the completion, the messages of the assistant) count in the loss.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::corpus {

/// A part of a document. Each part is tokenized separately, so that no token covers text of two parts.
struct TextPart {
  std::string text;
  bool trained = false;  ///< the tokens of this part count in the loss
};

/// The text that is put before and after each message, by role. \source docs/data.md, "Answers"
struct ChatTemplate {
  struct Around {
    std::string prefix, suffix;
  };
  std::map<std::string, Around> roles;
};

/// Reads a file {"roles": {"user": {"prefix": "...", "suffix": "..."}, ..}}. A missing prefix or suffix is empty.
/// \error kUnsupported: a Jinja template; kInvalid: no file, any other content, or no role "assistant"; kCorrupt: more
/// than 1 MiB; kMediaError, kFailed
ckpt::Result<ChatTemplate> read_chat_template(ckpt::Fs& fs, const std::string& path);

/// The parts of a line with the members `prompt` and `completion`: the prompt (left out if empty), then the completion,
/// which is trained on. `what` names the line in messages. \error kInvalid: the line lacks a member or is no JSON
/// object, or the completion is empty
ckpt::Result<std::vector<TextPart>> completion_parts(const std::string& what, std::string_view line);

/// The parts of a line with the member `messages`, a list of {"role", "content"}. For the role "assistant", content and
/// suffix are trained on, the prefix is not. Adjacent parts that are both trained on, or both not, become one part.
/// \error kInvalid: the line is not of this form, has a role that the template lacks, or has no message of "assistant"
ckpt::Result<std::vector<TextPart>> message_parts(const std::string& what, std::string_view line,
                                                  const ChatTemplate& chat);

}  // namespace titan::corpus
