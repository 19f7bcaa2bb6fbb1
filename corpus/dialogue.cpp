#include "corpus/dialogue.h"

#include <algorithm>

#include "ckpt/base/text.h"
#include "ckpt/base/utf8.h"
#include "ckpt/format/json_reader.h"
#include "ckpt/store/named_file.h"
#include "corpus/document_reader.h"

namespace titan::corpus {
namespace {

using ckpt::JsonReader;
using ckpt::Result;
using ckpt::Status;

constexpr std::uint64_t kLargestTemplate = 1 << 20;
constexpr std::size_t kMostRoles = 64;
constexpr std::size_t kMostMessages = 1 << 16;  // of a line
constexpr const char* kAnswers = "assistant";

/// An optional member of an object, which must not occur twice.
class Once {
 public:
  Once(JsonReader& in, std::string name) : in_(in), name_(std::move(name)) {}
  /// Reads the member if `key` is its name.
  bool read(std::string_view key) {
    if (key != name_) return false;
    if (found_) in_.fail("the member '" + name_ + "' is there twice");
    found_ = true;
    text_ = in_.text();
    return true;
  }
  bool found() const { return found_; }
  std::string take() { return std::move(text_); }

 private:
  JsonReader& in_;
  std::string name_, text_;
  bool found_ = false;
};

Status jinja(const std::string& path) {
  return ckpt::unsupported("'" + path + "' is a chat template in Jinja, which is not supported")
      .with_hint(
          "write what stands around each role as plain strings: {\"roles\": {\"user\": {\"prefix\": \"...\", "
          "\"suffix\": \"...\"}, \"assistant\": {...}}}");
}

}  // namespace

Result<ChatTemplate> read_chat_template(ckpt::Fs& fs, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(const auto bytes, ckpt::read_named_file(fs, path, "roles in JSON", kLargestTemplate));
  std::string_view text = ckpt::text_of(bytes);
  if (text.starts_with(ckpt::kByteOrderMark)) text.remove_prefix(ckpt::kByteOrderMark.size());
  if (path.ends_with(".jinja") || text.find("{%") != std::string_view::npos ||
      text.find("\"chat_template\"") != std::string_view::npos)
    return jinja(path);
  JsonReader in(path, text);
  ChatTemplate chat;
  in.object([&](std::string_view key) {
    if (key != "roles") return in.fail("unknown member '" + std::string(key) + "', expected 'roles'");
    in.object([&](std::string_view name) {
      const std::string role(name);
      if (chat.roles.size() == kMostRoles) return in.fail("more than 64 roles");
      if (chat.roles.count(role) != 0) return in.fail("the role '" + role + "' is there twice");
      Once prefix(in, "prefix"), suffix(in, "suffix");
      in.object([&](std::string_view member) {
        if (!prefix.read(member) && !suffix.read(member))
          in.fail("unknown member '" + std::string(member) + "' of a role, expected 'prefix' and 'suffix'");
      });
      chat.roles[role] = {prefix.take(), suffix.take()};
    });
  });
  if (Status status = in.finish(); !status.ok()) {
    status.code = ckpt::Code::kInvalid;
    return status;
  }
  if (chat.roles.count(kAnswers) == 0)
    return ckpt::invalid("'" + path + "' says nothing of the role 'assistant', whose messages are trained on");
  return chat;
}

Result<std::vector<TextPart>> completion_parts(const std::string& what, std::string_view line) {
  JsonReader in(what, line);
  Once prompt(in, "prompt"), completion(in, "completion");
  in.object([&](std::string_view key) {
    if (!prompt.read(key) && !completion.read(key)) in.skip();
  });
  TITAN_RETURN_IF_ERROR(bad_line(line, in.finish()));
  if (!prompt.found() || !completion.found())
    return ckpt::invalid(what + " has no member '" + (prompt.found() ? "completion" : "prompt") + "'")
        .with_hint("--messages FILE reads lines with messages by role");
  std::vector<TextPart> parts = {{prompt.take(), false}, {completion.take(), true}};
  if (parts[1].text.empty()) return ckpt::invalid(what + " has an empty completion: nothing would be trained on");
  if (parts[0].text.empty()) parts.erase(parts.begin());
  return parts;
}

Result<std::vector<TextPart>> message_parts(const std::string& what, std::string_view line, const ChatTemplate& chat) {
  JsonReader in(what, line);
  std::vector<TextPart> parts;
  bool found = false, answers = false;
  const auto add = [&](std::string text, bool trained) {
    if (text.empty()) return;
    if (!parts.empty() && parts.back().trained == trained)
      parts.back().text += text;
    else
      parts.push_back({std::move(text), trained});
  };
  const auto read_message = [&](std::size_t number) {
    if (number == kMostMessages) return in.fail("more than 65536 messages");
    Once role(in, "role"), content(in, "content");
    in.object([&](std::string_view key) {
      if (!role.read(key) && !content.read(key)) in.skip();
    });
    if (!in.ok()) return;
    const std::string name = role.take();
    const auto around = chat.roles.find(name);
    if (around == chat.roles.end()) return in.fail("the template says nothing of the role '" + name + "'");
    if (!content.found()) return in.fail("a message has no member 'content'");
    const bool trained = name == kAnswers;
    const std::string text = content.take() + around->second.suffix;
    answers |= trained && !text.empty();
    add(around->second.prefix, false);
    add(text, trained);
  };
  in.object([&](std::string_view key) {
    if (key != "messages") return in.skip();
    if (found) return in.fail("the member 'messages' is there twice");
    found = true;
    in.array(read_message);
  });
  TITAN_RETURN_IF_ERROR(bad_line(line, in.finish()));
  if (!found)
    return ckpt::invalid(what + " has no member 'messages'").with_hint("--completions reads prompt and completion");
  if (!answers)
    return ckpt::invalid(what + " has no message of the role 'assistant' with a text: nothing would be trained on");
  return parts;
}

}  // namespace titan::corpus
