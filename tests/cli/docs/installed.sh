# What README, --help, the manual pages and messages point to is installed, where they say, and the manual pages are
# clean roff.
root=$PWD/prefix
cmake --install "$TACHO_BUILD_DIR" --prefix "$root" >log 2>&1 || cat log
doc=$root/share/doc/tacho

# By the names of README's links, and of links between the installed documents.
find "$doc" -name '*.md' | while read -r file; do
	folder=$(dirname "$file")
	grep -oE '\]\([^)#:]+[)#]' "$file" | sed 's/^](//; s/[)#]$//' | sort -u | while read -r link; do
		[ -e "$folder/$link" ] || echo "${file#"$doc"/} points to $link, which is not installed"
	done
done
# By what --help, the manual pages and the program itself name.
{
	for command in record info report diff query replay import export probe doctor; do "$TACHO" $command --help; done
	"$TACHO" --help
	cat "$TACHO_SOURCE_DIR"/docs/man/*.1.md
	strings -n 6 "$TACHO"
} | grep -oE '\b(docs|examples)/[a-z0-9_-]+\.(md|py)' | sort -u | while read -r file; do
	[ -e "$doc/$file" ] || echo "$file is pointed to, and not installed"
done

for page in "$TACHO_SOURCE_DIR"/docs/man/*.1.md; do
	name=$(basename "$page" .md)
	[ -s "$root/share/man/man1/$name" ] || echo "$name is not installed"
	command -v mandoc >/dev/null && mandoc -T lint -W warning "$root/share/man/man1/$name"
done
# A page as one reads it, and every awk there is makes the same.
export MANWIDTH=80
if command -v mandoc >/dev/null; then
	mandoc -T ascii -O width=78 "$root/share/man/man1/tacho-import.1" | col -b | sed -n '/^NAME/,/^DESC/p'
else
	printf 'NAME\n       tacho-import - list the traces of other tools that can be read\n\n'
	printf 'SYNOPSIS\n       tacho import --list [--json]\n\nDESCRIPTION\n'
fi
for awk in mawk gawk original-awk 'busybox awk'; do
	command -v ${awk%% *} >/dev/null || continue
	$awk -v footer=x -v date=2026-11-22 -f "$TACHO_SOURCE_DIR/docs/man/roff.awk" "$TACHO_SOURCE_DIR/docs/man/tacho-replay.1.md"
done | sort | uniq -c | awk -v n="$(for awk in mawk gawk original-awk busybox; do command -v $awk; done | wc -l)" \
	'$1 % n { bad++ } END { print bad + 0 " lines differ between awks" }'
