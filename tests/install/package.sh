#!/usr/bin/env bash
# `cpack` makes a .tar.gz and a .deb, and what is unpacked of them anywhere plans, trains and answers with its own plugins,
# with a LibTorch that is named. To add a case: write a function, and a `check` line at the end.
source "$(dirname "$0")/../support/script.sh"
cpack=$1 libtorch=$2
build=$SWITCHYARD_TEST_BUILD_DIR
packages=$TMPDIR/packages
unset SWITCHYARD_DEPS SWITCHYARD_PLUGIN_PATH CMAKE_PREFIX_PATH
rm -rf "$packages" "$TMPDIR/root" "$TMPDIR/unpacked"  # of a run before

both_are_made() {
    "$cpack" --config "$build/CPackConfig.cmake" -B "$packages" >"$TMPDIR/cpack.log" 2>&1 || fail "$(cat "$TMPDIR/cpack.log")"
    archive=("$packages"/switchyard-*.tar.gz) deb=("$packages"/switchyard_*.deb)
    [[ -s ${archive[0]} && -s ${deb[0]} ]] || fail "$(ls "$packages") $(cat "$TMPDIR/cpack.log")"
    mkdir "$TMPDIR/unpacked" "$TMPDIR/root"
    tar -xzf "${archive[0]}" -C "$TMPDIR/unpacked" --strip-components=1
    dpkg-deb -x "${deb[0]}" "$TMPDIR/root"
    dpkg-deb -f "${deb[0]}" >"$TMPDIR/control"
}

deb_names_what_it_needs() {
    local package
    expect_text "$TMPDIR/control" "Package: switchyard"
    for package in libc6 libstdc++6 libsodium23 libboost-filesystem; do expect_text "$TMPDIR/control" "$package"; done
    if grep -qi torch <<<"$(grep Depends "$TMPDIR/control")"; then fail "$(cat "$TMPDIR/control")"; fi
}

# PREFIX: where a package was unpacked.
is_used() {
    local prefix=$1 run="$TMPDIR/run" program
    program=(env -i PATH=/usr/bin:/bin "HOME=$TMPDIR/home" "TMPDIR=$TMPDIR" "SWITCHYARD_LIBTORCH=$libtorch" "$prefix/bin/switchyard")
    rm -rf "$run" "$TMPDIR/home" "$TMPDIR/films.toml" && mkdir "$TMPDIR/home"
    "${program[@]}" plugins list >"$TMPDIR/out" 2>&1 || fail "plugins list gives $?: $(cat "$TMPDIR/out")"
    expect_text "$TMPDIR/out" "$prefix/lib/switchyard/plugins/libflash.so"
    if grep -qF "$build/lib/" "$TMPDIR/out"; then fail "names the build tree: $(cat "$TMPDIR/out")"; fi
    printf 'text\tlabel\n%s' "$(for i in 1 2 3 4 5 6 7 8; do printf 'good film\tgood\nbad film\tbad\n'; done)" >"$TMPDIR/films.tsv"
    "${program[@]}" init "$TMPDIR/films.tsv" --out "$TMPDIR/films.toml" >"$TMPDIR/out" 2>&1 || fail "init gives $?: $(cat "$TMPDIR/out")"
    "${program[@]}" plan "$TMPDIR/films.toml" --set runtime.auto=priority >"$TMPDIR/out" 2>&1 || fail "plan gives $?: $(cat "$TMPDIR/out")"
    expect_text "$TMPDIR/out" "flash"
    "${program[@]}" plugins verify flash --component attention --drawn 3 --seed "$drawn_seed" --filter /drawn/ >"$TMPDIR/out" 2>&1 ||
        fail "verify gives $?: $(cat "$TMPDIR/out")"
    [[ -e $prefix/lib/cmake/Switchyard/SwitchyardConfig.cmake && -e $prefix/include/switchyard/interfaces/attention.h ]] ||
        fail "the SDK is not there"
    [[ -e $prefix/share/doc/switchyard/README.md && -e $prefix/share/doc/switchyard/examples/plugin ]] || fail "README or examples are not there"
}

# This machine's files below a layer of their own, in which sources, build and what the test has made are not there: what
# runs in it has the packages alone. COMMAND runs in it as root, with $1 the .deb, $2 the .tar.gz, $3 LibTorch.
in_a_clean_root() {
    unshare --mount --pid --fork bash -euc '
        layer=$1 packages=$2 libtorch=$3 command=$4
        shift 4
        mount -t tmpfs layer "$layer"
        mkdir "$layer"/{new,work,root} && mount -t overlay layer -o "lowerdir=/,upperdir=$layer/new,workdir=$layer/work" "$layer/root"
        root=$layer/root
        mount --bind /dev "$root/dev" && mount -t proc proc "$root/proc"
        mkdir -p "$root/mnt/packages" "$root/mnt/libtorch"
        mount --bind -o ro "$packages" "$root/mnt/packages" && mount --bind -o ro "$libtorch" "$root/mnt/libtorch"
        for hidden in "$@" /tmp /root /home; do
            if [[ -d $root$hidden ]]; then mount -t tmpfs hidden "$root$hidden"; fi
        done
        exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root bash -euc "$command"' \
        in_a_clean_root "$TMPDIR/layer" "$packages" "$libtorch" "$1" "$SWITCHYARD_TEST_SOURCE_DIR" "$build"
}

can_have_a_clean_root() {
    mkdir -p "$TMPDIR/layer" && command -v unshare >/dev/null && in_a_clean_root true 2>"$TMPDIR/why_not"
}

# As the README says it of a package: installed, LibTorch put where it is looked for, and used in an empty folder.
uses_it='
    cd "$(mktemp -d)"
    printf "text\tlabel\n" >films.tsv
    for i in $(seq 40); do printf "good film $i\tgood\nbad film $i\tbad\n"; done >>films.tsv
    switchyard init films.tsv --out films.toml
    switchyard train films.toml --run first --set train.steps=2 --set runtime.auto=priority
    printf "good film\n" >more.txt
    switchyard predict first more.txt
    switchyard plugins new mine --kind normalization
    cd mine
    cmake --preset release -DCMAKE_PREFIX_PATH="$PREFIX" -G Ninja
    cmake --build --preset release
    switchyard plugins verify build/libmine.so --drawn 3 --seed '"$drawn_seed"' --filter /drawn/'

deb_is_installed_in_a_clean_root() {
    in_a_clean_root 'dpkg -i /mnt/packages/*.deb && export PREFIX=/usr SWITCHYARD_LIBTORCH=/mnt/libtorch'"$uses_it" \
        >"$TMPDIR/out" 2>&1 </dev/null || fail "$(cat "$TMPDIR/out")"
    expect_text "$TMPDIR/out" "no faults in what ran"
}

archive_is_unpacked_in_a_clean_root() {
    in_a_clean_root 'mkdir /opt/switchyard && tar -xzf /mnt/packages/*.tar.gz -C /opt/switchyard --strip-components=1
        ln -s /mnt/libtorch /opt/switchyard/lib/switchyard/libtorch && export PREFIX=/opt/switchyard PATH=/opt/switchyard/bin:$PATH'"$uses_it" \
        >"$TMPDIR/out" 2>&1 </dev/null || fail "$(cat "$TMPDIR/out")"
    expect_text "$TMPDIR/out" "no faults in what ran"
}

command -v dpkg-deb >/dev/null || { skip "packages are made and used" "there is no dpkg"; finish; }
check "cpack makes a .tar.gz and a .deb" both_are_made
check "the .deb names the packages that it needs" deb_names_what_it_needs
check "the .tar.gz is used where it was unpacked" is_used "$TMPDIR/unpacked"
check "the .deb is used" is_used "$TMPDIR/root/usr"
if can_have_a_clean_root; then
    check "the .deb is installed in a clean root, trains, and builds a plugin" deb_is_installed_in_a_clean_root
    check "so is the .tar.gz" archive_is_unpacked_in_a_clean_root
else
    skip "packages are installed in a clean root" "no root of its own can be had here: $(tail -n 1 "$TMPDIR/why_not")"
fi
finish
