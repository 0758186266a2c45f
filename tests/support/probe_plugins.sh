#!/usr/bin/env bash
# Probes the plugins of this build, for all test programs that begin with what is known of them (test_main.cpp): each of them
# would start a process for every plugin. What is found out anew in each run of the tests is no case of a test: where it does not
# work, the programs probe by themselves and say why.
probed=$SWITCHYARD_TEST_BUILD_DIR/tests/probed
rm -rf "$probed"
if [[ -x $SWITCHYARD_TEST_BUILD_DIR/bin/switchyard ]]; then
    SWITCHYARD_CACHE=$probed "$SWITCHYARD_TEST_BUILD_DIR/bin/switchyard" plugins list >/dev/null 2>&1
fi
exit 0
