#pragma once
// Lines for supervised fine-tuning: a prompt with its completion, or messages by role. The loss covers only the
// answers.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::corpus {

/// A part of a document that is tokenized separately.
struct TextPart {
  std::string text;
  bool trained = false;
};

/// The text before and after the messages of each role. \source docs/data.md, "Answers"
struct ChatTemplate {
  struct Around {
    std::string prefix, suffix;
  };
  std::map<std::string, Around> roles;
};

/// Reads {"roles": {"user": {"prefix": "...", "suffix": "..."}, ..}}. \error kUnsupported: a Jinja template; kInvalid:
/// any other file, no role "assistant"
ckpt::Result<ChatTemplate> read_chat_template(ckpt::Fs& fs, const std::string& path);

/// The members `prompt` and `completion` of one JSON object; the completion is trained on. `what` names the line in
/// messages. \error kInvalid: not such an object, an empty completion
ckpt::Result<std::vector<TextPart>> completion_parts(const std::string& what, std::string_view line);

/// The member `messages` of one JSON object, a list of {"role", "content"}. The contents of "assistant" and the
/// suffixes after them are trained on. \error kInvalid: not such an object, a role that the template lacks, no message
/// of "assistant"
ckpt::Result<std::vector<TextPart>> message_parts(const std::string& what, std::string_view line,
                                                  const ChatTemplate& chat);

}  // namespace titan::corpus
