// How errors are told: which of them mean that memory was lacking. To add a case: the words of a library.
#include "core/workbench/cli/error_text.h"
#include "core/kernel/base/limits.h"
#include "core/workbench/cli/memory_advice.h"

#include <switchyard_test.h>

using namespace switchyard;

TEST_CASE(
    "memory that was lacking is known by the words of whoever asked for it, and what needs less is told") {
    for (const char* said : {"cannot allocate 68719476736 bytes of CPU memory: live tensors hold 1 bytes",
                             "[enforce fail at alloc_cpu.cpp:118] err == 0. DefaultCPUAllocator: can't "
                             "allocate memory: you tried "
                             "to allocate 9 bytes.",
                             "DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes.",
                             "CUDA out of memory. Tried to allocate 20.00 GiB.", "std::bad_alloc"}) {
        INFO(said);
        CHECK(cli::is_out_of_memory(said));
        const auto told = cli::error_text(said, "train");
        CHECK_THAT(told, test::contains(said));
        CHECK_THAT(told, test::contains("smaller batch.size"));
        CHECK_THAT(told, test::contains("train.recompute"));
        CHECK(cli::error_text(told, "train") == told);  // of a process that passes it on
    }
    for (const char* said : {"the memory of the job is not known", "cannot open a.toml", ""}) {
        CHECK_FALSE(cli::is_out_of_memory(said));
        CHECK(cli::error_text(said, "train") == said);
    }
}

TEST_CASE("LibTorch's stack is not told") {
    CHECK(cli::error_text("CUDA out of memory.\nException raised from malloc at cuda.cpp:1\nframe #0: x",
                          "train")
              .starts_with("CUDA out of memory.\nless memory "));
    CHECK(cli::without_frames("no such size\nException raised from f at g.cpp:3\nframe #0: x") ==
          "no such size");
    CHECK(cli::without_frames("Exception raised from f at g.cpp:3").empty());
}

TEST_CASE("a word that is longer than any path is quoted in part, and the text around it stays") {
    const std::string longest(base::limits::path_bytes, 'p'), longer = longest + "p";
    const auto text = [](const std::string& word) { return "a:  " + word + ": error:\n\tb\n"; };
    CHECK(cli::with_short_words(text(longest)) == text(longest));
    CHECK(cli::with_short_words(text(longer)) ==
          text(std::string(base::limits::quoted_characters, 'p') + "... (4097 characters)"));
    CHECK(cli::with_short_words("").empty());
    CHECK(cli::with_short_words(" \n ") == " \n ");
}
