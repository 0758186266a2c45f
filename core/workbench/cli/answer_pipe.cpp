#include "core/workbench/cli/answer_pipe.h"

#include <nlohmann/json.hpp>

#include "core/kernel/base/stdout_redirect.h"

namespace switchyard::cli {

AnswerPipe::AnswerPipe() {
    const int descriptor = base::redirect_stdout_for_good();
    file_ = descriptor < 0 ? nullptr : ::fdopen(descriptor, "w");
}

void AnswerPipe::say(const nlohmann::ordered_json& message) const {
    const auto line = message.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
    std::fwrite(line.data(), 1, line.size(), file_);
    std::fflush(file_);
}

}  // namespace switchyard::cli
