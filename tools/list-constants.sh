#!/usr/bin/env bash
# list-constants.sh: every number that a prediction may depend on, and where it comes from.
#
#     list-constants.sh            exit 1 where a constant has no source, or docs/constants.md is not current
#     list-constants.sh --list     constants, a line each, between tabs: file, name, value, what it is, source
#     list-constants.sh --write    write docs/constants.md
#
# Constants are numbers that have a name (#define, static const), tables of numbers (*.def), and any other number that is not
# 0, 1, 2, a unit, or a matter of form (a shift, a column's decimals). The comment of a constant, after it or above its block,
# ends with where its value comes from:
#
#     Source: derived from WHAT
#     Source: cited from WHERE
#     Source: fitted by validate/SCRIPT on WHAT
#     Source: a rule: WHY. If wrong, WHAT THEN
#
# validate/constants.tsv says what halving and doubling changes (validate/constants.py).
set -euo pipefail
cd "$(dirname "$0")/.."
rooms=(graph cost replay edit predict)
page=docs/constants.md
effects=validate/constants.tsv

# The words of a comment without what makes it one.
read -r -d '' reader <<'AWK' || true
function trim(text) { gsub(/^[ \t]+|[ \t]+$/, "", text); return text }
function plain(text) { gsub(/[ \t]+/, " ", text); return trim(text) }

# Take comments, strings and characters out of a line; comments go into `said`.
function strip(line,    out, rest, at, first, length_of) {
	out = ""; said = ""; is_comment_line = in_comment
	while (line != "") {
		if (in_comment) {
			at = index(line, "*/")
			rest = at ? substr(line, 1, at - 1) : line
			sub(/^[ \t]*\*? ?/, "", rest)
			said = said " " rest
			if (!at) return out
			line = substr(line, at + 2); in_comment = 0
			continue
		}
		if (!match(line, /\/\*|"|'/)) return out line
		first = substr(line, RSTART, RLENGTH)
		out = out substr(line, 1, RSTART - 1)
		line = substr(line, RSTART + RLENGTH)
		if (first == "/*") { in_comment = 1; continue }
		if (first == "\"") length_of = match(line, /^([^"\\]|\\.)*"/)
		else length_of = match(line, /^([^'\\]|\\.)*'/)
		out = out "@"
		line = length_of ? substr(line, RLENGTH + 1) : ""
	}
	return out
}

function is_unit(number, before, after) {
	if (number !~ /^(100|100\.0|1000|1e3|1e6|1e9|1e-6|8e9|1024|1024\.0)$/) return 0
	return before ~ /[*\/%][ \t]*(\([a-z0-9]+\))?$/ || after ~ /^[ \t]*[*\/]/
}

# A matter of form.
function is_form(number, before, after) {
	if (number ~ /^(0|1|2)(\.0?)?[uUlL]*$/ || number ~ /^0[xX]/) return 1
	if (before ~ /(<<|>>)[ \t]*$/ || before ~ /\[[ \t]*$/) return 1
	if (before ~ /^[ \t]*guint(8|16|32|64)? [a-z_]+ : *$/) return 1
	if (number == "0.5" && before ~ /quantile\(/) return 1
	if (before ~ /_COLUMN\(|G_GNUC_PRINTF\(|strn(case)?cmp\(|strtoull?\(/) return 1
	if (before ~ /sizeof\([^)]*\) == $/ || after ~ /^ \* sizeof/) return 1
	return is_unit(number, before, after)
}

# The first number of some code that has a meaning; "": none.
function meant(code,    before, token) {
	before = ""
	while (code != "") {
		if (match(code, /^[A-Za-z_][A-Za-z_0-9]*/)) ;
		else if (match(code, /^(0[xX][0-9a-fA-FpP]+|[0-9]+\.?[0-9]*([eE][-+]?[0-9]+)?|\.[0-9]+)[uUlLfF]*/)) {
			token = substr(code, 1, RLENGTH)
			if (!is_form(token, before, substr(code, RLENGTH + 1))) return token
			match(code, /^(0[xX][0-9a-fA-FpP]+|[0-9]+\.?[0-9]*([eE][-+]?[0-9]+)?|\.[0-9]+)[uUlLfF]*/)
		} else { RSTART = 1; RLENGTH = 1 }
		before = before substr(code, 1, RLENGTH)
		code = substr(code, RLENGTH + 1)
	}
	return ""
}

function emit(    text, at, what, source) {
	if (name == "") return
	text = plain(own)
	what = text
	if (text !~ /Source: /) text = plain(block)
	at = index(text, "Source: ")
	source = at ? substr(text, at + 8) : ""
	if (what == "" || what ~ /Source: /) what = at ? trim(substr(text, 1, at - 1)) : text
	printf "%s\t%s\t%s\t%s\t%s\t%d\n", file, name, value, what == "" ? "-" : what, source == "" ? "-" : source, line_of
	name = ""
}

function start_file() {
	file = FILENAME; sub(/^src\//, "", file)
	is_table = file ~ /\.def$/
	in_comment = 0; block = ""; own = ""; is_own = 0; n_rows = 0; head = ""; name = ""
}

function end_file(    table_name) {
	emit()
	if (!is_table || n_rows == 0) return
	name = file; sub(/.*\//, "", name)
	value = n_rows " rows"; own = head; block = ""; line_of = 1
	emit()
}

FNR == 1 { if (file != "") end_file(); start_file() }
{
	code = strip($0)
	gsub(/\t/, " ", code)
	if (is_table) {
		if (code ~ /^[A-Z_]+\(.*[0-9]/ && code !~ /^#/) n_rows++
		if (n_rows == 0 && said != "") head = head " " said
		next
	}
	if (trim(code) == "") { # a comment, or nothing
		if (is_own && is_comment_line) { own = own " " said; if (!in_comment) is_own = 0; next }
		emit(); is_own = 0
		if (said == "" && !is_comment_line) { block = ""; next }
		if (!is_comment_line) block = ""
		block = block " " said
		next
	}
	emit(); is_own = 0
	defined = ""
	if (code ~ /^#define [A-Za-z_0-9]+ / && code !~ /\\$/) {
		defined = code; sub(/^#define /, "", defined)
		value = defined; sub(/^[A-Za-z_0-9]+ +/, "", value)
		sub(/ .*/, "", defined)
		if ((" " value) !~ /[^A-Za-z_0-9][0-9]/) defined = ""
	} else if (code ~ /^ *static const [a-z0-9 ]+ [a-z_0-9]+ = [-0-9.e]+;/) {
		defined = code; sub(/ = .*/, "", defined); sub(/.* /, "", defined)
		value = code; sub(/.* = /, "", value); sub(/;.*/, "", value)
		if (defined ~ /^to_(ms|us|s)$/) next # a unit
	}
	if (defined != "") {
		name = defined; value = trim(value); own = said; is_own = in_comment; line_of = FNR
		next
	}
	if (code !~ /^#/ && (number = meant(code)) != "") {
		name = "(in the code)"
		value = number; own = said; is_own = in_comment; line_of = FNR
		next
	}
	block = ""
}
END { end_file() }
AWK

list() {
	# shellcheck disable=SC2046
	awk "$reader" $(for room in "${rooms[@]}"; do LC_ALL=C ls src/"$room"/*.[ch] src/"$room"/*.def 2>/dev/null || true; done)
}

# What is wrong with the sources of a list.
check() {
	local file name value what source line status=0
	while IFS=$'\t' read -r file name value what source line; do
		if [ "$what" = - ]; then
			echo "src/$file:$line: $name = $value: say in its comment what it is"
			status=1
		fi
		case $source in
		"derived from "?* | "cited from "?*) ;;
		"fitted by "?*" on "?*) ;;
		"a rule: "*"If wrong, "?*) ;;
		*)
			echo "src/$file:$line: $name = $value has no source: say in its comment where it comes from (tools/list-constants.sh)"
			status=1
			;;
		esac
		for word in $(grep -oE '\b(validate|tools|docs|tests)/[A-Za-z0-9_./-]*[A-Za-z0-9_]' <<<"$source"); do
			[ -e "$word" ] || { echo "src/$file:$line: $name: there is no $word"; status=1; }
		done
	done
	return $status
}

write() {
	cat <<'PAGE'
# Numbers in the model, and where they come from

*Written by `tools/list-constants.sh --write` from the comments in the source and `validate/constants.tsv`; not by hand.*

Each number that a prediction may depend on is *derived*, *cited*, *fitted* by a script on the data that it names, or *a rule*:
a choice that nothing else settles, with what happens where it is wrong.

PAGE
	[ -f validate/constants_head.md ] && cat validate/constants_head.md
	local room
	for room in "${rooms[@]}"; do
		printf '\n## src/%s\n\n' "$room"
		echo "| constant | value | file | what it is | source | halved | doubled |"
		echo "|---|---|---|---|---|---|---|"
		list | awk -F '\t' -v room="$room" -v effects="$effects" '
			BEGIN {
				while ((getline line < effects) > 0) {
					split(line, cell, "\t")
					half[cell[1] "\t" cell[2] "\t" cell[3]] = cell[4]
					twice[cell[1] "\t" cell[2] "\t" cell[3]] = cell[5]
				}
			}
			index($1, room "/") == 1 {
				key = $1 "\t" $2 "\t" $3
				file = $1; sub(/.*\//, "", file)
				gsub(/\|/, "\\|")
				printf "| %s | %s | %s | %s | %s | %s | %s |\n", $2, $3, file, $4, $5, half[key], twice[key]
			}'
	done
}

case ${1-} in
--list) list | cut -f 1-5 ;;
--write) write >"$page.part" && mv "$page.part" "$page" ;;
"")
	status=0
	list | check || status=1
	if [ $status = 0 ] && ! write | cmp -s - "$page"; then
		echo "$page is not current: run tools/list-constants.sh --write"
		status=1
	fi
	[ $status = 0 ] && echo "constants: $(list | wc -l), each with a source"
	exit $status
	;;
*)
	sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p;}' "$0"
	exit 2
	;;
esac
