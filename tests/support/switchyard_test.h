// What every test includes: Catch2 2 (Debian 12) or Catch2 3 (Ubuntu 24.04) under one name, with Approx,
// generators and matchers, and the one way to skip. Include it last: LibTorch's logging has a macro CHECK
// too, which gives way here.
#pragma once

#undef CHECK
#ifdef SWITCHYARD_CATCH2_V2
#include <catch2/catch.hpp>
#else
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_adapters.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_all.hpp>
namespace Catch {
using Matchers::ContainsSubstring;
using Matchers::EndsWith;
using Matchers::StartsWith;
}  // namespace Catch
using Catch::Approx;  // global, as Catch2 2 has it
#endif

#include <filesystem>
#include <string>

namespace switchyard::test {

#ifdef SWITCHYARD_CATCH2_V2
using Catch::Detail::Approx;
#else
using Catch::Approx;
#endif

/// Records that the running test case is skipped, and why. Leave the test case afterwards:
///     if (!device_present()) return switchyard::test::skip("no CUDA device");
/// `./dev test` lists the reason, and fails when it matches no line of tests/skips.txt.
void skip(const std::string& reason);

/// Root of the source tree (SWITCHYARD_TEST_SOURCE_DIR).
std::filesystem::path source_dir();
/// Root of the build tree, where bin/ and lib/ are (SWITCHYARD_TEST_BUILD_DIR).
std::filesystem::path build_dir();
/// A new, empty folder for this process, removed when it ends.
std::filesystem::path temporary_dir(const std::string& name);

/// Matcher for "contains this text", under one name for both versions.
inline auto contains(const std::string& text) {
#ifdef SWITCHYARD_CATCH2_V2
    return Catch::Matchers::Contains(text);
#else
    return Catch::Matchers::ContainsSubstring(text);
#endif
}

}  // namespace switchyard::test
