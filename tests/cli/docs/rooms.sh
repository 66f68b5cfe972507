# The stages of src/ include what lies below them alone, and the check of that sees an include that goes up.
cd "$TACHO_SOURCE_DIR" && tools/check-rooms.sh && echo none goes up
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mkdir -p "$copy/tools" "$copy/src/trace" "$copy/src/cellar"
cp tools/check-rooms.sh "$copy/tools/"
printf '#include "trace/own_time.h"\n#include "edit/change.h"\n' >"$copy/src/trace/a.c"
printf '#include "base/words.h"\n' >"$copy/src/cellar/b.c"
mkdir -p "$copy/src/import/nccl" "$copy/src/import/read" "$copy/src/import/attic"
printf '#include "import/read/json_scan.h"\n#include "import/import_format.h"\n#include "import/rocm/rocm_events.h"\n' \
	>"$copy/src/import/nccl/c.c"
printf '#include "import/track_book.h"\n' >"$copy/src/import/read/d.c"
printf '#include "import/chrome/chrome_trace.h"\n' >"$copy/src/import/e.c"
printf '#include "import/read/json_scan.h"\n' >"$copy/src/import/attic/f.c"
mkdir "$copy/live"
printf '#include "trace/run_window.h"\n#include "export/html_assets.h"\n' >"$copy/live/g.c"
printf '#include "live/live_internal.h"\n' >"$copy/src/trace/h.c"
"$copy/tools/check-rooms.sh"
echo "exit $?"
