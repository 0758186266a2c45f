// Why a component does not serve a request, as JSON for people: codes are names. (A probe report keeps their
// numbers.)
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <switchyard/interfaces/verdict.h>

namespace switchyard::resolver {

inline nlohmann::ordered_json reasons_json(const std::vector<Reason>& reasons) {
    auto list = nlohmann::ordered_json::array();
    for (const auto& reason : reasons) {
        list.push_back({{"code", std::string(name(reason.code))},
                        {"field", reason.field},
                        {"expected", reason.expected},
                        {"got", reason.got},
                        {"hint", reason.hint}});
    }
    return list;
}

}  // namespace switchyard::resolver
