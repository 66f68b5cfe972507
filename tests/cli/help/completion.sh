# The completion offers what --help names.
PATH=$(dirname "$TACHO"):$PATH
. "$TACHO_SOURCE_DIR/completions/tacho.bash"

# complete WORD...: what is offered for the last word.
complete_words() {
	COMP_WORDS=(tacho "$@")
	COMP_CWORD=$#
	_tacho tacho
	echo "$*|" "${COMPREPLY[@]}"
}

complete_words rec
complete_words rep
complete_words record --ou
complete_words record --clock = t
complete_words record --clock m
complete_words report --view o
complete_words diff --view r
touch some.tacho
complete_words report some
complete_words replay --what-if sc
complete_words replay --what-if = band
complete_words replay -w dr
complete_words export --to per
complete_words query --format js
complete_words record --probes so
