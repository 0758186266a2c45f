#include <switchyard/compare/stacks/backend_stack.h>

#include <algorithm>

namespace switchyard::compare {
namespace {

std::string choices(std::span<const Kind> kinds) {
    std::string text;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        text += i == 0 ? "" : i + 1 == kinds.size() ? " or " : ", ";
        text += std::string(name(kinds[i])) + "=";
    }
    return text;
}

}  // namespace

std::string read_stack(const std::string& text, std::span<const Kind> kinds, BackendStack& stack) {
    stack = {text, {}};
    if (text.empty()) return "a stack needs a name";
    std::size_t start = 0;
    while (start <= text.size()) {
        const std::size_t end = std::min(text.find('+', start), text.size());
        const std::string part = text.substr(start, end - start);
        const std::size_t equals = part.find('=');
        if (equals == std::string::npos && start == 0) {
            for (const Kind kind : kinds) {
                if (kind != Kind::precision) stack.backends[kind] = part;
            }
        } else {
            const auto kind = parse<Kind>(part.substr(0, equals));
            const bool known = kind && std::find(kinds.begin(), kinds.end(), *kind) != kinds.end();
            if (equals == std::string::npos || !known || equals + 1 == part.size())
                return "'" + part + "' is not " + choices(kinds) + " with a backend";
            stack.backends[*kind] = part.substr(equals + 1);
        }
        start = end + 1;
    }
    return "";
}

config::Config with_stack(config::Config config, const BackendStack& stack) {
    for (const auto& [kind, backend] : stack.backends) config.slot(kind).backend = {backend};
    config.layers.clear();  // exceptions of single layers would make it another stack
    return config;
}

std::vector<std::string> overrides(const BackendStack& stack) {
    std::vector<std::string> texts;
    for (const auto& [kind, backend] : stack.backends)
        texts.push_back(std::string(name(kind)) + ".backend=" + backend);
    return texts;
}

}  // namespace switchyard::compare
