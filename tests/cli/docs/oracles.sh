# Each test that docs/oracles.md and docs/predecessors.md name is there, and run; each figure that the samples' README has a
# letter for is named.
cd "$TACHO_SOURCE_DIR" || exit 1
for page in docs/oracles.md docs/predecessors.md; do
	grep -oE '`tests/[^`]+`' "$page" | tr -d '\`' | sort -u >"$OLDPWD/named"
	while IFS=: read -r file function; do
		[ -f "$file" ] || { echo "$page names $file, which is not there"; continue; }
		[ -n "$function" ] || continue
		grep -qE "^static void $function\(" "$file" || echo "$file has no $function()"
		grep -qE "g_test_add.*[ ,]$function\)|^[[:space:]]+.*$function\);" "$file" || echo "$file does not run $function()"
	done <"$OLDPWD/named"
	[ "$(wc -l <"$OLDPWD/named")" -gt 40 ] || echo "$page names hardly any test"
done
page=docs/oracles.md

readme=${TACHO_SHARED:-../shared}/data/README.md
if [ -f "$readme" ]; then
	grep -oE '\*\*[A-Z][0-9]+\*\*|oracle [A-Z][0-9]+' "$readme" | tr -d '*' | sed 's/oracle //' | sort -u |
		while read -r letter; do
			grep -q "^| $letter |" "$page" || echo "$page does not say what holds $letter"
		done
fi
echo compared
