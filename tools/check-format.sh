#!/usr/bin/env bash
# check-format.sh: exit 1 where a tracked C or C++ file is not as clang-format would write it.
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files -z '*.c' '*.h' '*.cc' '*.cpp' | xargs -0 clang-format --dry-run -Werror
echo "format: $(git ls-files '*.c' '*.h' '*.cc' '*.cpp' | wc -l) files as clang-format writes them"
