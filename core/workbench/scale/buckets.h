// Which gradients are summed up over the ranks at once.
//
// No LibTorch here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace switchyard::scale {

struct Bucket {
    std::int64_t bytes = 0;
    std::size_t parameters = 0;
    std::size_t first = 0;  // of them, the one that forward uses first: its gradient comes last
};

// `parameter_bytes`: of gradients, in the order in which forward uses the parameters. Buckets are in the
// order in which backward fills them, as c10d's compute_bucket_assignment_by_size makes them: the first is
// closed once it has `first_limit` bytes, all others once they have `limit`.
std::vector<Bucket> make_buckets(const std::vector<std::int64_t>& parameter_bytes, std::int64_t first_limit,
                                 std::int64_t limit);

}  // namespace switchyard::scale
