#include "recipe/text/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "ckpt/base/utf8.h"
#include "recipe/text/ruby_syntax.h"

namespace titan::recipe {
namespace {

using ckpt::Result;

constexpr std::uint32_t kMostSteps = 1u << 28;   // per match: more than any sane pattern takes for 100 MB
constexpr std::uint32_t kMostHeapKiB = 1 << 18;  // per match in the interpreter
constexpr std::size_t kFirstStack = 32 << 10, kMostStack = 8 << 20;  // bytes, for JIT-compiled code

std::string pcre_error(int code) {
  PCRE2_UCHAR text[256];
  pcre2_get_error_message(code, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

/// The first byte of a character.
std::uint8_t lead_of(std::uint32_t code) {
  if (code < 0x80) return static_cast<std::uint8_t>(code);
  if (code < 0x800) return static_cast<std::uint8_t>(0xc0 | code >> 6);
  return static_cast<std::uint8_t>(code < 0x10000 ? 0xe0 | code >> 12 : 0xf0 | code >> 18);
}

}  // namespace

void Pattern::Free::operator()(pcre2_real_code_8* code) const { pcre2_code_free(code); }

Result<Pattern::Code> Pattern::compiled(const std::string& pattern) {
  int error = 0;
  std::size_t offset = 0;
  pcre2_compile_context* context = pcre2_compile_context_create(nullptr);
  if (context == nullptr) return ckpt::failed("out of memory");
  pcre2_set_newline(context, PCRE2_NEWLINE_LF);
  Code code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                          PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error, &offset, context));
  pcre2_compile_context_free(context);
  if (!code) return ckpt::invalid("the pattern '" + pattern + "' cannot be read: " + pcre_error(error));
  // If JIT compilation fails, the interpreter gives the same matches at a third of the speed.
  pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
  return code;
}

Result<Pattern> Pattern::compile(std::string_view ruby) {
  TITAN_ASSIGN_OR_RETURN(const PcreSyntax syntax, from_ruby(ruby));
  Pattern pattern;
  TITAN_ASSIGN_OR_RETURN(pattern.plain_, compiled(syntax.plain));
  if (syntax.exact == syntax.plain) return pattern;
  TITAN_ASSIGN_OR_RETURN(pattern.exact_, compiled(syntax.exact));
  pattern.newer_ = syntax.newer;
  for (const CodeRange& range : syntax.newer)
    for (std::uint32_t code = range.first; code <= range.last; ++code) pattern.leads_[lead_of(code)] = true;
  return pattern;
}

bool Pattern::has_newer(std::string_view text) const {
  for (std::size_t at = 0; at < text.size(); ++at)
    if (leads_[static_cast<std::uint8_t>(text[at])] && contains(newer_, ckpt::decode_utf8(text.substr(at)).code))
      return true;
  return false;
}

struct Matcher::State {
  pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_jit_stack* stack = pcre2_jit_stack_create(kFirstStack, kMostStack, nullptr);
  ~State() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    pcre2_jit_stack_free(stack);
  }
};

Matcher::Matcher(const Pattern& pattern) : pattern_(&pattern), state_(std::make_unique<State>()) {
  if (state_->data == nullptr || state_->context == nullptr) {
    status_ = ckpt::failed("out of memory");
    return;
  }
  pcre2_set_match_limit(state_->context, kMostSteps);
  pcre2_set_heap_limit(state_->context, kMostHeapKiB);
  if (state_->stack != nullptr) pcre2_jit_stack_assign(state_->context, nullptr, state_->stack);
}
Matcher::~Matcher() = default;
Matcher::Matcher(Matcher&&) noexcept = default;

void Matcher::start(std::string_view text) {
  text_ = text;
  at_ = 0;
  code_ = pattern_->exact_ && pattern_->has_newer(text) ? pattern_->exact_.get() : pattern_->plain_.get();
}

bool Matcher::next(Match* match) {
  while (status_.ok() && at_ <= text_.size()) {
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text_.data());
    const auto find = [&](std::uint32_t options) {
      return pcre2_match(code_, subject, text_.size(), at_, PCRE2_NO_UTF_CHECK | options, state_->data,
                         state_->context);
    };
    int found = find(0);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) found = find(PCRE2_NO_JIT);
    if (found == PCRE2_ERROR_NOMATCH) break;
    if (found < 0) {
      status_ = ckpt::invalid("a pattern of the tokenizer gave up on a text of " + std::to_string(text_.size()) +
                              " bytes: " + pcre_error(found));
      break;
    }
    const std::size_t* place = pcre2_get_ovector_pointer(state_->data);
    *match = {place[0], place[1]};
    if (match->end > match->begin) {
      at_ = match->end;
      return true;
    }
    at_ = match->end;  // after an empty match the search continues at the next character
    do {
      ++at_;
    } while (at_ < text_.size() && (static_cast<std::uint8_t>(text_[at_]) & 0xc0) == 0x80);
  }
  at_ = text_.size() + 1;
  return false;
}

}  // namespace titan::recipe
