# fish's completion offers the same words.
command -v fish >/dev/null || exit 77
PATH=$(dirname "$TACHO"):$PATH
export HOME=$PWD XDG_CONFIG_HOME=$PWD XDG_DATA_HOME=$PWD

# complete_line LINE: what is offered for its last word.
complete_line() {
	echo "$1|" $(fish --no-config -c 'source $argv[1]; complete -C $argv[2]' \
		"$TACHO_SOURCE_DIR/completions/tacho.fish" "$1" | cut -f 1)
}

complete_line 'tacho rec'
complete_line 'tacho record --ou'
complete_line 'tacho report --view op'
complete_line 'tacho diff --view r'
complete_line 'tacho replay --what-if sc'
complete_line 'tacho replay --what-if=dr'
complete_line 'tacho replay -w band'
complete_line 'tacho export --to per'
