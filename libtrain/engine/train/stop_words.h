#pragma once
// What a run that stops early says of it.
#include <string>

namespace titan::train {

/// Who asked for the stop: "SIGTERM", "Ctrl-C", or that another rank has heard it. May wait 0.2 s for a signal that is
/// on its way.
std::string who_asks();
/// The exit code of a stop that saves nothing: 130 behind Ctrl-C, else 143.
int code_without_save();

}  // namespace titan::train
