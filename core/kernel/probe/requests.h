// The standard requests: what the probe asks every component, so that a listing can say what it serves on
// which device and dtype.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <switchyard/interfaces/kinds.h>

namespace switchyard::loader {

struct StandardRequest {
    std::string formula;  // "layer_norm", "adamw", ...; empty where a kind has only one
    std::shared_ptr<const Request> request;
};

// Devices and dtypes that the listing of a kind has rows for.
std::vector<Device> probed_devices(Kind kind);
std::vector<DType> probed_dtypes(Kind kind);

// One for each formula of the kind: evaluation of a batch of 8 sequences of 128 tokens, 12 heads of 64,
// without masks or dropout. `custom`: the formulas of its own that the component brings.
std::vector<StandardRequest> standard_requests(Kind kind, Device device, DType dtype,
                                               const std::vector<std::string>& custom);

// Where none of those is served: the same in another form - packed sequences, a stored weight.
std::vector<StandardRequest> other_forms(Kind kind, Device device, DType dtype);

// One thing changed of a request that is served: "masks", "alibi".
struct Variation {
    std::string field, value;
    std::shared_ptr<const Request> request;
};
// Those of one field stand together.
std::vector<Variation> variations(Kind kind, const Request& served);

// The same for the tiny forward (forward.h), on the CPU.
std::vector<StandardRequest> tiny_requests(Kind kind, DType dtype, const std::vector<std::string>& custom);

}  // namespace switchyard::loader
