#pragma once
// Reads the parts of tokenizer.json: objects with a "type", whose members may be absent or null. Pure.
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/format/json_value.h"

namespace titan::recipe {

/// The member "type"; "" if there is none.
std::string type_of(const ckpt::JsonValue& part);
/// The value of a boolean member; `when_absent` if it is missing. \error kInvalid: another type
ckpt::Result<bool> flag_of(const ckpt::JsonValue& part, const char* key, bool when_absent);
/// The value of a string member. \error kInvalid: missing, or another type
ckpt::Result<std::string> text_of(const ckpt::JsonValue& part, const char* key);
/// The parts of a Sequence, from the list in its member `key`; for another type, `part` itself. \error kInvalid: too
/// many parts
ckpt::Result<std::vector<const ckpt::JsonValue*>> parts_of(const ckpt::JsonValue& part, const char* key);
/// Whether replacing `from` by `to` can make a text more than four times as long. No real tokenizer does this, and
/// refusing it bounds the size of texts.
bool grows(const std::string& from, const std::string& to);
/// The error about a part of kind `what` whose type `type` is not supported.
ckpt::Status refused_type(const char* what, const std::string& type);

}  // namespace titan::recipe
