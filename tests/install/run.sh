#!/usr/bin/env bash
# What `cmake --install` leaves is enough to build a plugin outside this tree, and the installed program finds it.
# To add a case: write a function, and a `check` line at the end. They run in order, each on what the ones before left.
source "$(dirname "$0")/../support/script.sh"
cmake=$1 compiler=$2 libtorch=$3
source_dir=$SWITCHYARD_TEST_SOURCE_DIR
prefix=$TMPDIR/prefix
example=$TMPDIR/example
rm -rf "$prefix" "$example" "$TMPDIR/adafactor_run"  # of a run before
unset SWITCHYARD_DEPS SWITCHYARD_PLUGIN_PATH CMAKE_PREFIX_PATH
# What was compiled from the same text is taken from the cache of the build. How large that may be is written where this HOME
# does not lead: nothing is cleaned up from here.
if (($# > 4)); then
    export CMAKE_C_COMPILER_LAUNCHER=$4 CMAKE_CXX_COMPILER_LAUNCHER=$4 CCACHE_DIR=${CCACHE_DIR:-$5} CCACHE_MAXSIZE=0
fi

installs() {
    "$cmake" --install "$SWITCHYARD_TEST_BUILD_DIR" --prefix "$prefix" >"$TMPDIR/install.log" || cat "$TMPDIR/install.log"
    local file
    for file in bin/switchyard libexec/switchyard/switchyard-{run,probe,manifest} lib/switchyard/plugins/libnaive.so \
        lib/switchyard/plugins/libtorch.so lib/cmake/Switchyard/SwitchyardConfig.cmake \
        include/switchyard/interfaces/attention.h share/switchyard/configs share/doc/switchyard/LICENSE; do
        [[ -e $prefix/$file ]] || fail "$file was not installed"
    done
    # Where there is Arrow. Programs look for it there.
    file=lib/switchyard/libswitchyard_parquet.so
    [[ ! -e $SWITCHYARD_TEST_BUILD_DIR/$file || -e $prefix/$file ]] || fail "$file was not installed"
}

# Every installed header, each in turn the first one that a source includes.
headers_stand_alone() {
    local header
    # Those of kernels are nvcc's, and come with the emulator only inside the tree.
    (cd "$prefix/include" && find switchyard -name '*.h' | grep -v '/sdk/cuda/device' | sort) >"$TMPDIR/headers"
    [[ $(wc -l <"$TMPDIR/headers") -gt 10 ]] || fail "too few headers: $(cat "$TMPDIR/headers")"
    sed 's/.*/#include <&>/' "$TMPDIR/headers" >"$TMPDIR/forward.cpp"
    sed '1!G;h;$!d' "$TMPDIR/forward.cpp" >"$TMPDIR/backward.cpp"
    for header in forward backward; do
        "$compiler" -std=c++20 -fopenmp -fsyntax-only -I"$prefix/include" -isystem "$libtorch/include" \
            -isystem "$libtorch/include/torch/csrc/api/include" "$TMPDIR/$header.cpp"
    done
}

mentions_no_build_tree() {
    local found
    found=$(grep -rlF -e "$SWITCHYARD_TEST_BUILD_DIR" -e "$source_dir/core" "$prefix/lib/cmake" "$prefix/include") || true
    [[ -z $found ]] || fail "these installed files name the source or build tree: $found"
}

example_builds() {
    cp -r "$source_dir/examples/plugin" "$example"
    "$cmake" -S "$example" -B "$example/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_CXX_COMPILER="$compiler" -G Ninja >"$TMPDIR/configure.log" 2>&1 || fail "$(cat "$TMPDIR/configure.log")"
    "$cmake" --build "$example/build" >"$TMPDIR/build.log" 2>&1 || fail "$(cat "$TMPDIR/build.log")"
}

# The others, each a project of its own, as one build: three of them, all with SWITCHYARD_EXAMPLES=all, as .ci/nightly says. Without
# optimisation, for tests/examples proves and trains them as they are in the tree.
examples_build() {
    local name own=$TMPDIR/examples names=(adafactor panel_linear warp_norm)
    if [[ ${SWITCHYARD_EXAMPLES:-} == all ]]; then names+=(focal length_buckets mish online_softmax patient_fp16); fi
    rm -rf "$own" && mkdir "$own"
    printf 'cmake_minimum_required(VERSION 3.25)\nproject(own LANGUAGES CXX)\n' >"$own/CMakeLists.txt"
    for name in "${names[@]}"; do
        cp -r "$source_dir/examples/plugins/$name" "$own/$name"
        echo "add_subdirectory($name)" >>"$own/CMakeLists.txt"
    done
    "$cmake" -S "$own" -B "$own/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Debug -DSWITCHYARD_CUDA_FOR=HOST \
        -DCMAKE_CXX_COMPILER="$compiler" -G Ninja >"$TMPDIR/configure.log" 2>&1 || fail "$(cat "$TMPDIR/configure.log")"
    "$cmake" --build "$own/build" >"$TMPDIR/build.log" 2>&1 || fail "$(cat "$TMPDIR/build.log")"
    if grep -q warning "$TMPDIR/build.log"; then fail "$(cat "$TMPDIR/build.log")"; fi
}

own_algorithm_trains() {
    SWITCHYARD_PLUGIN_PATH=$TMPDIR/examples/build/adafactor "$prefix/bin/switchyard" train "$source_dir/examples/plugins/adafactor/train.toml" \
        --run "$TMPDIR/adafactor_run" >"$TMPDIR/train" 2>&1 || fail "$(cat "$TMPDIR/train")"
}

# The folder that holds the example's library, wherever its own CMakeLists.txt puts it.
example_folder() { dirname "$(find "$example/build" -name 'lib*.so' | head -n 1)"; }
example_name() { basename "$(find "$example/build" -name 'lib*.so' | head -n 1)" | sed 's/^lib//; s/\.so$//'; }

example_exports_one_symbol() {
    local symbols
    symbols=$(nm -D --defined-only "$(example_folder)/lib$(example_name).so" | awk '{ print $3 }')
    [[ $symbols == switchyard_plugin_v1 ]] || fail "exported: $symbols"
}

example_is_found() {
    SWITCHYARD_PLUGIN_PATH=$(example_folder) "$prefix/bin/switchyard" plugins list >"$TMPDIR/list" 2>&1
    expect_text "$TMPDIR/list" "$(example_name)"
    expect_text "$TMPDIR/list" naive
    "$prefix/bin/switchyard" plugins list >"$TMPDIR/list" 2>&1
    if grep -qw -- "$(example_name)" "$TMPDIR/list"; then fail "listed without being on the path"; fi
}

example_is_explained() {
    SWITCHYARD_PLUGIN_PATH=$(example_folder) "$prefix/bin/switchyard" plugins info "$(example_name)" >"$TMPDIR/info" 2>&1 ||
        fail "plugins info gives $?: $(cat "$TMPDIR/info")"
    expect_text "$TMPDIR/info" "$(example_folder)"
}

# Links of installed documents to files: each is there.
links_lead_somewhere() {
    local document link broken=
    while read -r document; do
        while read -r link; do
            [[ $link == *:* || -e $(dirname "$document")/${link%%#*} ]] || broken+="$document: $link"$'\n'
        done < <(grep -ohE '\]\([^)# ][^) ]*\)' "$document" | sed -E 's/^\]\(//; s/\)$//')
    done < <(find "$prefix/share/doc/switchyard" -name '*.md')
    [[ -e $prefix/share/doc/switchyard/README.md && -e $prefix/share/doc/switchyard/examples/plugin/CMakeLists.txt ]] ||
        fail "README.md or the examples are not there"
    [[ -z $broken ]] || fail "links to nothing:"$'\n'"$broken"
}

# Without a LibTorch: find_package looks for none.
new_stable_plugin_verifies() {
    local folder=$TMPDIR/own_stable_$1
    rm -rf "$folder"
    "$prefix/bin/switchyard" plugins new "my_stable_$1" --kind "$1" --stable --out "$folder" >"$TMPDIR/new.log"
    "$cmake" -S "$folder" -B "$folder/build" -DCMAKE_PREFIX_PATH="$prefix" -G Ninja >"$TMPDIR/configure.log" 2>&1 || fail "$(cat "$TMPDIR/configure.log")"
    "$cmake" --build "$folder/build" >"$TMPDIR/build.log" 2>&1 || fail "$(cat "$TMPDIR/build.log")"
    if grep -q warning "$TMPDIR/build.log"; then fail "$(cat "$TMPDIR/build.log")"; fi
    "$prefix/bin/switchyard" plugins verify "$folder/build/libmy_stable_$1.so" --drawn 10 --seed "$drawn_seed" >"$TMPDIR/verify" 2>&1 || fail "$(cat "$TMPDIR/verify")"
    expect_text "$TMPDIR/verify" "no faults in what ran"
}

# Two of those with a kernel for CUDA, as one build without optimisation: with the CUDA part where there is an nvcc, and for the CPU alone
# where there is none. Of the others nvcc compiles the kernel; tests/plugins/cuda_emulation/templates compiles and runs all of all.
new_cuda_plugins_build() {
    local kind own=$TMPDIR/own_cuda nvcc
    rm -rf "$own" && mkdir "$own"
    printf 'cmake_minimum_required(VERSION 3.25)\nproject(own LANGUAGES CXX)\n' >"$own/CMakeLists.txt"
    for kind in activation attention linear loss normalization optimizer; do
        "$prefix/bin/switchyard" plugins new "my_cuda_$kind" --kind "$kind" --cuda --out "$own/my_cuda_$kind" >"$TMPDIR/new.log"
    done
    for kind in "${cuda_kinds[@]}"; do echo "add_subdirectory(my_cuda_$kind)" >>"$own/CMakeLists.txt"; done
    "$cmake" -S "$own" -B "$own/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Debug -DSWITCHYARD_CUDA_FOR=HOST \
        -DCMAKE_CXX_COMPILER="$compiler" -G Ninja >"$TMPDIR/configure.log" 2>&1 || fail "$(cat "$TMPDIR/configure.log")"
    "$cmake" --build "$own/build" >"$TMPDIR/build.log" 2>&1 || fail "$(cat "$TMPDIR/build.log")"
    if grep -q warning "$TMPDIR/build.log"; then fail "$(cat "$TMPDIR/build.log")"; fi
    if grep -q "CUDA part left out" "$TMPDIR/configure.log"; then return; fi
    for kind in "${cuda_kinds[@]}"; do
        [[ -e $own/build/my_cuda_$kind/libmy_cuda_${kind}_cuda.so ]] || fail "there is no library for CUDA: $(ls "$own/build/my_cuda_$kind")"
    done
    nvcc=$(PATH=$PATH:/usr/local/cuda/bin command -v nvcc)
    for kind in activation linear loss normalization; do
        "$nvcc" -std=c++20 -Werror all-warnings -arch=sm_80 -c "$own/my_cuda_$kind/my_cuda_${kind}_kernel.cu" -o "$TMPDIR/kernel.o"
    done
}

new_cuda_plugin_verifies() {
    "$prefix/bin/switchyard" plugins verify "$TMPDIR/own_cuda/build/my_cuda_$1/libmy_cuda_$1.so" --dtype float32 --drawn 5 --seed "$drawn_seed" >"$TMPDIR/verify" 2>&1 ||
        fail "$(cat "$TMPDIR/verify")"
    expect_text "$TMPDIR/verify" "no faults in what ran"
}

# What the plugin of a kind is called: most as classes of the SDK are.
own_name() { case $1 in activation | normalization) echo "my_$1" ;; *) echo "$1" ;; esac; }

# A project of each kind as `plugins new` writes it, built together.
new_plugins_build() {
    local kind name list=$TMPDIR/own/CMakeLists.txt
    rm -rf "$TMPDIR/own" && mkdir "$TMPDIR/own"
    printf 'cmake_minimum_required(VERSION 3.25)\nproject(own LANGUAGES CXX)\n' >"$list"
    for kind in "${kinds[@]}"; do
        name=$(own_name "$kind")
        "$prefix/bin/switchyard" plugins new "$name" --kind "$kind" --out "$TMPDIR/own/$name" >"$TMPDIR/new.log"
        echo "add_subdirectory($name)" >>"$list"
    done
    expect_text "$TMPDIR/new.log" "-DCMAKE_PREFIX_PATH=$prefix"
    "$cmake" -S "$TMPDIR/own" -B "$TMPDIR/own/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_CXX_COMPILER="$compiler" -G Ninja >"$TMPDIR/configure.log" 2>&1 || fail "$(cat "$TMPDIR/configure.log")"
    "$cmake" --build "$TMPDIR/own/build" >"$TMPDIR/build.log" 2>&1 || fail "$(cat "$TMPDIR/build.log")"
    if grep -q warning "$TMPDIR/build.log"; then fail "$(cat "$TMPDIR/build.log")"; fi
}

own_library() { echo "$TMPDIR/own/build/$(own_name "$1")/lib$(own_name "$1").so"; }

new_plugin_verifies() {
    "$prefix/bin/switchyard" plugins verify "$(own_library "$1")" --dtype float32 --dtype bfloat16 --drawn 10 --seed "$drawn_seed" >"$TMPDIR/verify" 2>&1 ||
        fail "$(cat "$TMPDIR/verify")"
    expect_text "$TMPDIR/verify" "no faults in what ran"
}

# For a program that GCC built.
new_plugin_builds_with_clang() {
    local own=$TMPDIR/by_clang
    rm -rf "$own"
    "$prefix/bin/switchyard" plugins new by_clang --kind normalization --out "$own" >"$TMPDIR/new.log"
    "$cmake" -S "$own" -B "$own/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=clang++ \
        -G Ninja >"$TMPDIR/configure.log" 2>&1 || fail "$(cat "$TMPDIR/configure.log")"
    "$cmake" --build "$own/build" >"$TMPDIR/build.log" 2>&1 || fail "$(cat "$TMPDIR/build.log")"
    if grep -q warning "$TMPDIR/build.log"; then fail "$(cat "$TMPDIR/build.log")"; fi
    "$prefix/bin/switchyard" plugins verify "$own/build/libby_clang.so" --drawn 10 --seed "$drawn_seed" >"$TMPDIR/verify" 2>&1 || fail "$(cat "$TMPDIR/verify")"
    expect_text "$TMPDIR/verify" "no faults in what ran"
}

# One line of the kernel: outputs that are 1 % too large.
wrong_line_is_caught() {
    local source=$TMPDIR/own/my_activation/my_activation.cpp status=0
    sed -i 's/return reference::activation(inputs, params);/return reference::activation(inputs, params) * 1.01;/' "$source"
    expect_text "$source" "* 1.01"
    sed -i '1i #include <ATen/core/Tensor.h>\n#include <ATen/TensorOperators.h>' "$source"
    "$cmake" --build "$TMPDIR/own/build" --target my_activation >"$TMPDIR/build.log" 2>&1 || fail "$(cat "$TMPDIR/build.log")"
    "$prefix/bin/switchyard" plugins verify "$(own_library activation)" --drawn 0 --dtype float32 --filter gelu_erf/ >"$TMPDIR/verify" 2>&1 ||
        status=$?
    [[ $status == 5 ]] || fail "verify gives $status: $(cat "$TMPDIR/verify")"
    expect_text "$TMPDIR/verify" "repeat it: switchyard plugins verify $(own_library activation)"
}

# What the preset asan builds: without the sanitizer from the start it is refused with what to do, with it proven, and a kernel
# that reads past its own buffer is found.
sanitizer_watches() {
    local own=$TMPDIR/watched library=$TMPDIR/watched/build/libwatched.so status=0 watch
    watch=(env "LD_PRELOAD=$("$compiler" -print-file-name=libasan.so)" ASAN_OPTIONS=detect_leaks=0 "$prefix/bin/switchyard" plugins verify
        "$library" --drawn 0 --filter gelu_erf/padded/width)
    rm -rf "$own"
    "$prefix/bin/switchyard" plugins new watched --kind activation --out "$own" >"$TMPDIR/new.log"
    "$cmake" -S "$own" -B "$own/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Debug -DSANITIZE=ON -DCMAKE_CXX_COMPILER="$compiler" \
        -G Ninja >"$TMPDIR/configure.log" 2>&1 || fail "$(cat "$TMPDIR/configure.log")"
    "$cmake" --build "$own/build" >"$TMPDIR/build.log" 2>&1 || fail "$(cat "$TMPDIR/build.log")"
    "$prefix/bin/switchyard" plugins verify "$library" >"$TMPDIR/verify" 2>&1 || status=$?
    [[ $status != 0 ]] || fail "verify without the sanitizer gives 0: $(cat "$TMPDIR/verify")"
    expect_text "$TMPDIR/verify" "start this program with the sanitizer: LD_PRELOAD="
    "${watch[@]}" >"$TMPDIR/verify" 2>&1 || fail "verify gives $?: $(cat "$TMPDIR/verify")"
    expect_text "$TMPDIR/verify" "no faults in what ran"
    sed -i 's/return reference::activation(inputs, params);/static const std::vector<float> table(3);\n    static volatile float read = 0.0F;\n    read = table.data()[3];\n    &/' \
        "$own/watched.cpp"
    sed -i '1i #include <vector>' "$own/watched.cpp"
    expect_text "$own/watched.cpp" "table.data()[3]"
    "$cmake" --build "$own/build" >"$TMPDIR/build.log" 2>&1 || fail "$(cat "$TMPDIR/build.log")"
    status=0
    "${watch[@]}" >"$TMPDIR/verify" 2>&1 || status=$?
    [[ $status == 1 ]] || fail "verify of a wrong read gives $status: $(cat "$TMPDIR/verify")"
    expect_text "$TMPDIR/verify" "in forward of activation 'watched': ended the process"  # the probe's first call
    expect_text "$TMPDIR/verify" "ABORTING"
}

# As the guide for authors says: proven, signed, and checked by one who trusts the key.
new_plugin_is_signed() {
    local library keys=$HOME/.config/switchyard/trusted-keys
    library=$(own_library normalization)
    rm -rf "$TMPDIR/key" "$TMPDIR/key.pub" "$keys"
    mkdir -p "$keys"
    "$prefix/bin/switchyard" plugins verify "$library" --seed "$drawn_seed" --report "$library.conformance.json" >"$TMPDIR/verify" 2>&1 || fail "$(cat "$TMPDIR/verify")"
    "$prefix/bin/switchyard" plugins new-key "$TMPDIR/key" --comment "An author" >"$TMPDIR/signed" 2>&1 || fail "$(cat "$TMPDIR/signed")"
    "$prefix/bin/switchyard" plugins sign "$library" --key "$TMPDIR/key" >"$TMPDIR/signed" 2>&1 || fail "$(cat "$TMPDIR/signed")"
    cp "$TMPDIR/key.pub" "$keys/author.pub"
    "$prefix/bin/switchyard" plugins verify-signature "$library" >"$TMPDIR/signed" 2>&1 || fail "$(cat "$TMPDIR/signed")"
}

# Installed for the user, named by a configuration, compared with another.
new_plugin_is_used() {
    local demand
    "$prefix/bin/switchyard" plugins install "$(own_library normalization)"
    "$prefix/bin/switchyard" plugins list >"$TMPDIR/list" 2>&1
    expect_text "$TMPDIR/list" my_normalization
    cat >"$TMPDIR/own.toml" <<'END'
[model]
type = "bert"
layers = 2
hidden_size = 32
heads = 4
intermediate_size = 64
vocab_size = 64
max_positions = 32
[task]
kind = "classification"
labels = ["bad", "good"]
[normalization]
backend = "my_normalization"
END
    "$prefix/bin/switchyard" plan "$TMPDIR/own.toml" --set runtime.auto=priority >"$TMPDIR/plan" 2>&1 || fail "$(cat "$TMPDIR/plan")"
    expect_text "$TMPDIR/plan" my_normalization
    for demand in '"signed"' '"conformant"' '["signed", "conformant"]'; do
        "$prefix/bin/switchyard" plan "$TMPDIR/own.toml" --set runtime.auto=priority --set "plugins.require=$demand" >"$TMPDIR/plan" 2>&1 ||
            fail "require = $demand: $(cat "$TMPDIR/plan")"
        expect_text "$TMPDIR/plan" my_normalization
    done
    "$prefix/bin/switchyard" compare "$TMPDIR/own.toml" --set runtime.auto=priority --vary normalization.backend=my_normalization,torch \
        --blocks 2 --time 1 2>&1 | tr -s '[:space:]' ' ' >"$TMPDIR/compare" || fail "$(cat "$TMPDIR/compare")"
    expect_text "$TMPDIR/compare" "normalization my_normalization"
    "$prefix/bin/switchyard" plugins remove my_normalization
}

check "the program, its plugins and the package are installed" installs
check "each installed header compiles without the source tree" headers_stand_alone
check "no installed file names the build tree" mentions_no_build_tree
check "links of installed documents lead to what is there" links_lead_somewhere
check "a plugin outside the tree builds against what is installed" example_builds
check "it exports one symbol" example_exports_one_symbol
check "the other examples build against what is installed, without a warning" examples_build
check "an optimizer with an algorithm of its own trains with what is installed" own_algorithm_trains
check "the installed program finds it by SWITCHYARD_PLUGIN_PATH" example_is_found
check "the installed program explains it" example_is_explained
kinds=(activation attention data_loader linear loss normalization optimizer precision)
check "a new plugin of each kind builds against what is installed, without a warning" new_plugins_build
for kind in "${kinds[@]}"; do check "a new plugin passes verify as it stands: $kind" new_plugin_verifies "$kind"; done
if printf '#include <concepts>\n#include <string>\nstatic_assert(__clang_major__ >= 14);\nint main() {}\n' |
    clang++ -std=c++20 -fopenmp -x c++ - -o "$TMPDIR/clang_works" 2>"$TMPDIR/clang.log"; then
    check "a new plugin builds with clang too, without a warning, and passes verify" new_plugin_builds_with_clang
else
    skip "a new plugin builds with clang too, without a warning, and passes verify" "there is no clang++ with OpenMP (clang 14 or newer, libomp-dev)"
fi
for kind in normalization linear attention optimizer; do
    check "a new plugin of the stable tier passes verify as it stands: $kind" new_stable_plugin_verifies "$kind"
done
cuda_kinds=(attention optimizer)
check "new plugins with a kernel for CUDA build, without a warning" new_cuda_plugins_build
for kind in "${cuda_kinds[@]}"; do check "a new plugin with a kernel for CUDA passes verify on the CPU: $kind" new_cuda_plugin_verifies "$kind"; done
check "one wrong line in the kernel of a new plugin is caught" wrong_line_is_caught
if [[ $("$compiler" -print-file-name=libasan.so) == /* ]]; then
    check "the address sanitizer watches a new plugin that was built with it" sanitizer_watches
else
    skip "the address sanitizer watches a new plugin that was built with it" "$compiler has no libasan.so"
fi
check "a new plugin is signed, and its signature checked" new_plugin_is_signed
check "a new plugin is installed, planned, compared and removed" new_plugin_is_used
finish
