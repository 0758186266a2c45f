// What was promised of the layout of structures, as lines of text, and how it differs from what a build has.
#pragma once

#include <map>
#include <string>

namespace switchyard::test {

// "SwitchyardStablePlugin.magic" -> "at 0, 8 bytes"
using PromisedLayout = std::map<std::string, std::string>;

// Of lines "what: where"; others are comments.
PromisedLayout promised_layout(const std::string& text);

// A line for each that moved, went or came, with what to write where it came; empty: they are alike.
std::string differences(const PromisedLayout& promised, const PromisedLayout& here);

}  // namespace switchyard::test
