#include "core/workbench/scale/buckets.h"

namespace switchyard::scale {

std::vector<Bucket> make_buckets(const std::vector<std::int64_t>& parameter_bytes, std::int64_t first_limit,
                                 std::int64_t limit) {
    std::vector<Bucket> buckets;
    Bucket open;
    for (std::size_t i = parameter_bytes.size(); i-- > 0;) {
        open.bytes += parameter_bytes[i];
        ++open.parameters;
        open.first = i;
        if (open.bytes < (buckets.empty() ? first_limit : limit)) continue;
        buckets.push_back(open);
        open = {};
    }
    if (open.parameters > 0) buckets.push_back(open);
    return buckets;
}

}  // namespace switchyard::scale
