// How long the candidates for one class of requests took on one host: what `auto` chooses by. Plain data; who
// times it and where it is kept is not the resolver's business.
#pragma once

#include <limits>
#include <string>
#include <vector>

namespace switchyard::resolver {

struct MeasuredCandidate {
    std::string name;     // "plugin/component"
    std::string library;  // content hash: another build is another candidate
    std::string options;  // of the component, as JSON text: another chunk size is another candidate
    // Of one call, milliseconds, with a 95 % interval; NaN bounds: the best of a few calls, after which it
    // was too far behind to be timed on.
    double ms = std::numeric_limits<double>::quiet_NaN();
    double low = std::numeric_limits<double>::quiet_NaN();
    double high = std::numeric_limits<double>::quiet_NaN();
    std::string failure;  // not empty: it threw or gave what is not finite, and has no time

    bool timed() const { return failure.empty(); }
};

struct Measurement {
    std::string shape_class;
    std::string host;  // all that a time depends on beside the candidates
    std::string date;  // "2026-11-21"
    std::vector<MeasuredCandidate> candidates;
    // What was timed, where it is not what the class says: "20 tensors of 2.1 million values". Empty: it is.
    std::string sample = {};
};

}  // namespace switchyard::resolver
