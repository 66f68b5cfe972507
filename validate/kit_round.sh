#!/usr/bin/env bash
# kit_round.sh: the kit from its beginning: recordings, predictions of kinds set aside (committed), measurements, the fit of
# intervals, and the page. Root, a machine that does nothing else, and a clean work tree on a branch.
#
#     kit_round.sh MINUTES     of recording and measuring; as many rounds as there is time for (two take some 20 minutes)
#
# Two kinds a minute are recorded, and seven measured: 60 runs a round. The rest takes five minutes of processors alone.
set -euo pipefail
cd "$(dirname "$0")/.."
minutes=${1:?kit_round.sh MINUTES}

tools/build.sh default
validate/kit.py anew
validate/kit.py quiet --minutes "$minutes" || true # not all is measured: as much as there was time for
validate/kit.py predict
validate/model_error.py --write >/dev/null
tools/build.sh default program # intervals are as wide as was fitted
validate/kit.py predict
validate/model_error.py
validate/kit.py page
# digests and expected outputs that hold intervals; `git diff` is to show nothing else
TACHO_BLESS=1 ctest --test-dir build/default -R 'corpus_changes|^cli/replay/(devices|jobs|recordings|samples|unfolded|what_if)$'
