#pragma once
// Is a text the log of a program? Pure.
#include <string_view>

namespace titan::train {

/// Whether most of the first lines have two of these at their beginning: a date, a clock time, a level ("INFO"), a
/// process ("sshd[12]"). A diary or a transcript has only one of them.
bool begins_as_log(std::string_view text);

}  // namespace titan::train
