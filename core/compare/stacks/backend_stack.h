// A stack of backends: who does what, in one word of a command line.
//
//     torch                             everything by torch
//     torch+precision=torch/bf16        the same in bf16
//     attention=flash                   the rest as the configuration says
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include <switchyard/config/config.h>
#include <switchyard/interfaces/types.h>

namespace switchyard::compare {

struct BackendStack {
    std::string name;  // as it was written
    std::map<Kind, std::string> backends;
};

// A bare name stands for all of `kinds` but precision, whose backends have names of their own. Returns what is wrong, or "".
std::string read_stack(const std::string& text, std::span<const Kind> kinds, BackendStack& stack);

// The configuration with these backends in every layer.
config::Config with_stack(config::Config config, const BackendStack& stack);

// As --set takes them: "attention.backend=torch".
std::vector<std::string> overrides(const BackendStack& stack);

}  // namespace switchyard::compare
