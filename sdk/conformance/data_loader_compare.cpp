#include <sstream>

#include <switchyard/conformance/data_loader_run.h>

namespace switchyard::conformance {
namespace {

// "" where equal.
std::string difference(const std::string& what, const at::Tensor& found, const at::Tensor& expected) {
    std::ostringstream text;
    if (found.defined() != expected.defined()) {
        text << what << (found.defined() ? " is defined, but must not be" : " is undefined");
    } else if (!found.defined()) {
        return "";
    } else if (found.scalar_type() != expected.scalar_type()) {
        text << what << " has dtype " << found.scalar_type() << ", expected " << expected.scalar_type();
    } else if (found.sizes() != expected.sizes()) {
        text << what << " has shape " << found.sizes() << ", expected " << expected.sizes();
    } else {
        const at::Tensor a = found.cpu().reshape({-1}), b = expected.reshape({-1});
        const at::Tensor differ = a.ne(b).logical_and(a.isnan().logical_and(b.isnan()).logical_not());
        if (!differ.any().item<bool>()) return "";
        const auto place = differ.to(at::kByte).argmax().item<std::int64_t>();
        text << what << " has " << a[place].item() << " at " << place << " of " << a.numel() << ", expected "
             << b[place].item();
    }
    return text.str();
}

// Padded ids that are right where there are tokens: then the places beside them are wrong.
bool same_tokens(const at::Tensor& found, const TokenBatch& expected) {
    const at::Tensor& ids = expected.ids;
    const bool comparable = found.defined() && ids.defined() && found.scalar_type() == ids.scalar_type() &&
                            found.dim() == 2 && ids.dim() == 2 && found.size(0) == ids.size(0);
    if (!comparable) return false;
    const at::Tensor& lengths = expected.tokens.lengths;
    for (std::int64_t row = 0; row < ids.size(0); ++row) {
        const auto length = lengths.defined() ? lengths[row].item<std::int64_t>() : ids.size(1);
        if (found.size(1) < length) return false;
        if (!found[row].narrow(0, 0, length).cpu().equal(ids[row].narrow(0, 0, length))) return false;
    }
    return true;
}

// Full rows may have their lengths, too.
std::string lengths_difference(const std::string& what, const TokenBatch& found, const TokenBatch& expected) {
    const at::Tensor& lengths = found.tokens.lengths;
    const bool full_rows =
        !expected.tokens.lengths.defined() && expected.ids.defined() && expected.ids.dim() == 2;
    if (!full_rows || !lengths.defined()) return difference(what, lengths, expected.tokens.lengths);
    const bool right = lengths.scalar_type() == at::kInt && lengths.numel() == expected.ids.size(0) &&
                       lengths.eq(expected.ids.size(1)).all().item<bool>();
    return right ? "" : what + " are not those of full rows";
}

std::string sequences_difference(const std::string& side, const TokenBatch& found,
                                 const TokenBatch& expected) {
    const Tokens &tokens = found.tokens, &right = expected.tokens;
    std::string text = difference(side + "token_type_ids", found.token_type_ids, expected.token_type_ids);
    if (text.empty()) text = difference(side + "cu_seqlens", tokens.cu_seqlens, right.cu_seqlens);
    if (text.empty()) text = difference(side + "positions", tokens.positions, right.positions);
    if (text.empty() && tokens.max_seqlen < right.max_seqlen)
        text = side + "max_seqlen is " + std::to_string(tokens.max_seqlen) + ", expected " +
               std::to_string(right.max_seqlen) + " or more";
    if (text.empty() && found.count != expected.count)
        text =
            side + "count is " + std::to_string(found.count) + ", expected " + std::to_string(expected.count);
    return text;
}

Fault side_difference(const std::string& side, const TokenBatch& found, const TokenBatch& expected) {
    if (found.ids.defined() && expected.ids.defined() && found.tokens.layout != expected.tokens.layout)
        return {"wrong_batch", "", side + "layout is another than asked for"};
    std::string text = difference(side + "ids", found.ids, expected.ids);
    if (!text.empty()) return {same_tokens(found.ids, expected) ? "wrong_padding" : "wrong_batch", "", text};
    text = sequences_difference(side, found, expected);
    if (!text.empty()) return {"wrong_batch", "", text};
    text = lengths_difference(side + "lengths", found, expected);
    return text.empty() ? Fault{} : Fault{"wrong_padding", "", text};
}

}  // namespace

Fault difference_of(const Batch& found, const Batch& expected) {
    Fault fault = side_difference("the source's ", found.source, expected.source);
    if (fault.code.empty()) fault = side_difference("the target's ", found.target, expected.target);
    if (!fault.code.empty()) return fault;
    std::string text = difference("labels", found.labels, expected.labels);
    if (text.empty()) text = difference("float_labels", found.float_labels, expected.float_labels);
    if (!text.empty()) return {"wrong_labels", "", text};
    if (found.samples == expected.samples) return {};
    std::ostringstream samples;
    samples << "its sequences are said to be of the samples " << at::IntArrayRef(found.samples)
            << ", expected " << at::IntArrayRef(expected.samples);
    return {"wrong_batch", "", samples.str()};
}

}  // namespace switchyard::conformance
