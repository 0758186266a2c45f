#include "core/workbench/train/gathered_entries.h"

#include <cstdint>
#include <string>

#include <ATen/ops/empty.h>
#include "core/kernel/base/json_text.h"
#include "core/workbench/train/data_parallel.h"

namespace switchyard::train {
namespace {

using base::Json;

std::string described(const std::vector<OptimizerStateEntry>& entries) {
    auto list = Json::array();
    for (const auto& [parameter, key, value] : entries)
        list.push_back(
            {parameter, key, static_cast<int>(value.scalar_type()), value.is_cuda(), value.sizes().vec()});
    return list.dump();
}

OptimizerStateEntry empty_entry(const Json& told) {
    const auto options = at::dtype(static_cast<at::ScalarType>(told[2].get<int>()))
                             .device(told[3].get<bool>() ? at::kCUDA : at::kCPU);
    return {told[0].get<std::string>(), told[1].get<std::string>(),
            at::empty(told[4].get<std::vector<std::int64_t>>(), options)};
}

}  // namespace

std::vector<OptimizerStateEntry> gather_entries(distributed::Group& group,
                                                const std::vector<OptimizerStateEntry>& own,
                                                const EntryReceiver& to, const std::string& what) {
    const auto meet_all = [&](const std::string& when) {
        distributed::meet(group.store(), group.place(), what + when, "", long_wait_seconds);
    };
    meet_all(" begins");
    const auto all = gather_texts(group, described(own));
    std::vector<OptimizerStateEntry> entries;
    for (std::size_t sender = 0; sender < all.size(); ++sender) {
        const auto from = static_cast<std::int64_t>(sender);
        meet_all(" of rank " + std::to_string(from));
        const auto told = base::parse_json(all[sender]).value;
        for (std::size_t i = 0; i < told.size(); ++i) {
            const auto receiver = to(told[i][0].get<std::string>());
            if (receiver != group.rank()) {
                if (from == group.rank() && own[i].value.numel() > 0) group.send(own[i].value, receiver);
                continue;
            }
            entries.push_back(from == receiver ? own[i] : empty_entry(told[i]));
            auto& value = entries.back().value;
            if (from != receiver && value.numel() > 0) group.receive(value, from);
        }
    }
    meet_all(" is done");
    return entries;
}

}  // namespace switchyard::train
