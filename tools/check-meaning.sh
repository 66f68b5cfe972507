#!/usr/bin/env bash
# check-meaning.sh: exit 1 where a stage behind import finds out by itself what an event is, from its name or from
# foreign JSON, and is not listed here. What a name means is asked of src/trace (docs/decisions/0019).
set -euo pipefail
cd "$(dirname "$0")/.."
stages=(src/correlate src/analyze src/graph src/query src/replay src/edit src/predict src/export src/cost src/learn)
# What the user names; args that are handed on as they are; options and keys; formulas that an operation's name is the key of;
# the order and form in which names are shown.
justified="analyze/event_path.c analyze/latency_view.c analyze/op_devices.c analyze/op_flops.c
analyze/op_output.c analyze/op_view.c analyze/profile_options.c analyze/readiness_view.c analyze/scope_places.c query/arg_list.c
query/query_guard.c export/exported_rows.c export/inductor_export.c export/pgle_export.c export/source_place.c"
compare='(strcmp|strstr|strcasestr|strncmp|strcasecmp|g_str_has_prefix|g_str_has_suffix|g_str_equal|g_strcmp0)'
status=0
found=$({
	# the comparison and the name stand in one call, or the name has a variable of its own
	grep -rlE "$compare\\((tacho_slice_name|tacho_timeline_string)\\(" "${stages[@]}" --include=*.c || true
	grep -rlE "$compare\\((name|type|copy|kernel|json), *\"" "${stages[@]}" --include=*.c || true
	grep -rlE "$compare\\((name|copy|kernel), *[a-z_]+(\\[i\\])?(\\.part)?\\)" "${stages[@]}" --include=*.c || true
	# what a foreign trace says in its own words: launch shapes, copies and numbers are fields (tacho/timeline.h)
	grep -rlE 'json_scan\.h"|tacho_slice_args_json\(' "${stages[@]}" --include=*.c || true
} | sort -u)
for file in $found; do
	case " $(echo $justified) " in
	*" ${file#src/} "*) ;;
	*) echo "$file compares names of events or reads foreign JSON: ask src/trace (name_meaning.h)"; status=1 ;;
	esac
done
for file in $justified; do
	case " $(echo $found) " in
	*" src/$file "*) ;;
	*) echo "$file looks at no names any more: take it off the list"; status=1 ;;
	esac
done
[ $status = 0 ] && echo "meaning: $(echo "$found" | grep -c .) files look at names themselves, all listed"
exit $status
