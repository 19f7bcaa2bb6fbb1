#pragma once
// Reading the parts of tokenizer.json: objects with a "type", whose members may be absent or null. Pure.
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/format/json_value.h"

namespace titan::recipe {

/// The member "type"; "" where there is none.
std::string type_of(const ckpt::JsonValue& part);
/// A member that is true or false. \error kInvalid: something else
ckpt::Result<bool> flag_of(const ckpt::JsonValue& part, const char* key, bool when_absent);
/// A member that is a text. \error kInvalid: absent, or something else
ckpt::Result<std::string> text_of(const ckpt::JsonValue& part, const char* key);
/// The parts of a Sequence (whose list is the member `key`), or the one that `part` is itself. \error kInvalid: too
/// many
ckpt::Result<std::vector<const ckpt::JsonValue*>> parts_of(const ckpt::JsonValue& part, const char* key);
/// Whether `to` in place of `from` makes texts more than four times as long: no tokenizer does, and texts would have no
/// bound.
bool grows(const std::string& from, const std::string& to);
/// What a part of the kind `what` of the type `type` is answered.
ckpt::Status refused_type(const char* what, const std::string& type);

}  // namespace titan::recipe
