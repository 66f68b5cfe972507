#!/usr/bin/env bash
# precision_round.sh: the validation of mixed precision from its beginning: casts, recordings, predictions (committed), measurements and the
# page. A machine that does nothing else, and a clean work tree on a branch.
#
#     precision_round.sh MINUTES     of recording and measuring; run it again with AGAIN=1 to go on where it stopped
#
# Casts and recordings take some five minutes, a round of all plans of all models about half a minute, of 25; the rest some fifteen.
set -euo pipefail
cd "$(dirname "$0")/.."
minutes=${1:?precision_round.sh MINUTES}

tools/build.sh default # with the probes
[ "${AGAIN:-}" ] || validate/precision.py anew
validate/precision.py quiet --minutes "$minutes"
git --no-pager diff --stat -- docs/validation-precision.md
