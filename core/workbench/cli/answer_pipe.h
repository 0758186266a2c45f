// The standard output of a process that answers requests, a line of JSON each: what a plugin prints does not
// come between them.
#pragma once

#include <cstdio>

#include <nlohmann/json_fwd.hpp>

namespace switchyard::cli {

class AnswerPipe {
public:
    // Takes the standard output, for good.
    AnswerPipe();
    explicit operator bool() const { return file_ != nullptr; }  // there is one
    void say(const nlohmann::ordered_json& message) const;

private:
    std::FILE* file_;
};

}  // namespace switchyard::cli
