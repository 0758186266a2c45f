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
                                                const std::string& what) {
    const auto meet = [&](const distributed::Place& place, const std::string& when) {
        distributed::meet(group.store(), place, what + when, "", long_wait_seconds);
    };
    const auto meet_first = [&](std::int64_t other, std::int64_t place) {
        meet({place, 2}, " of rank " + std::to_string(other));
    };
    // What comes next on the ranks that are through does not wait as long for the others.
    const auto meet_all = [&](const std::string& when) { meet(group.place(), when); };
    meet_all(" begins");
    const auto all = gather_texts(group, described(own));
    if (group.rank() != 0) {
        meet_first(group.rank(), 1);
        for (const auto& entry : own)
            if (entry.value.numel() > 0) group.send(entry.value, 0);
        meet_all(" is done");
        return {};
    }
    auto entries = own;
    for (std::size_t rank = 1; rank < all.size(); ++rank) {
        meet_first(static_cast<std::int64_t>(rank), 0);
        for (const auto& told : base::parse_json(all[rank]).value) {
            auto entry = empty_entry(told);
            if (entry.value.numel() > 0) group.receive(entry.value, static_cast<std::int64_t>(rank));
            entries.push_back(std::move(entry));
        }
    }
    meet_all(" is done");
    return entries;
}

}  // namespace switchyard::train
