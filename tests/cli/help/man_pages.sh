# Every option that --help names stands in the command's man page, and the other way round; every
# command stands in tacho(1).
man=$TACHO_SOURCE_DIR/docs/man
commands=$("$TACHO" --help | awk '/^Commands:/ { on = 1; next } /^$/ { on = 0 } on { print $1 }')
[ -n "$commands" ] || echo "tacho --help names no commands"

for command in $commands; do
	page=$man/tacho-$command.1.md
	[ -f "$page" ] || { echo "$page is missing"; continue; }
	"$TACHO" "$command" --help | grep -oE '^ +(-[a-zA-Z], )?--[a-z-]+(=[^ ]+)?' | sed 's/^ *//' |
		sort >in_help
	# **-o**, **--output**=*DIR*
	grep -E '^\*\*(-[a-zA-Z]\*\*, \*\*)?--[a-z]' "$page" | tr -d '*\\' | sort >in_page
	diff in_help in_page >difference ||
		{ echo "tacho $command: --help (<) and its man page (>) differ:"; cat difference; }
	[ -s in_help ] || echo "tacho $command --help names no option"
done

echo "$commands" | sort >in_help
sed -n 's/^\*\*\([a-z]*\)\*\*$/\1/p' "$man/tacho.1.md" | sort >in_page
diff in_help in_page
echo compared
