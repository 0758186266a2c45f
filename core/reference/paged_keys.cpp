#include <switchyard/reference/paged_keys.h>

#include <ATen/ops/zeros.h>

namespace switchyard::reference {

at::Tensor gather_pages(const at::Tensor& pages, const PagedCache& cache, std::int64_t b,
                        std::int64_t length) {
    const std::int64_t page_size = pages.size(1);
    const at::Tensor table =
        cache.block_table.select(0, b).narrow(0, 0, (length + page_size - 1) / page_size);
    const at::Tensor rows_SKD = pages.index_select(0, table.to(at::kLong))
                                    .reshape({-1, pages.size(2), pages.size(3)})
                                    .narrow(0, 0, length);
    return rows_SKD.transpose(0, 1).unsqueeze(0);
}

PaddedKeys padded_keys(const PagedCache& cache, std::int64_t queries) {
    const at::Tensor lengths = cache.lengths.to(at::kCPU, at::kLong);
    const std::int64_t batch = lengths.size(0);
    const std::int64_t longest = batch == 0 ? 0 : lengths.max().item<std::int64_t>();
    const auto empty = [&](const at::Tensor& pages) {
        return at::zeros({batch, pages.size(2), longest, pages.size(3)}, pages.options());
    };
    PaddedKeys keys{empty(cache.k_pages), empty(cache.v_pages), cache.lengths, cache.lengths.sub(queries)};
    for (std::int64_t b = 0; b < batch; ++b) {
        const auto length = lengths[b].item<std::int64_t>();
        keys.k.narrow(0, b, 1).narrow(2, 0, length).copy_(gather_pages(cache.k_pages, cache, b, length));
        keys.v.narrow(0, b, 1).narrow(2, 0, length).copy_(gather_pages(cache.v_pages, cache, b, length));
    }
    return keys;
}

}  // namespace switchyard::reference
