# zsh's completion offers the same words. compadd, which only works at a prompt, tells what it would offer.
command -v zsh >/dev/null || exit 77
PATH=$(dirname "$TACHO"):$PATH

# complete_words PREFIX WORD...: what is offered that begins so, the last word being PREFIX.
complete_words() {
	local prefix=$1
	shift
	echo "$* $prefix|" $(zsh -f -c '
		compadd() { while [[ $1 != -- ]]; do shift; done; shift; print -l -- "$@" }
		compset() { : }
		_files() { print files }
		file=$1; shift
		words=(tacho "$@"); CURRENT=$#words
		source "$file"' zsh "$TACHO_SOURCE_DIR/completions/_tacho" "$@" "$prefix" | grep -- "^${prefix#--*=}")
}

complete_words rec
complete_words --ou record
complete_words o report --view
complete_words --view=stra report
complete_words sc replay --what-if
complete_words dr replay -w
complete_words per export --to
complete_words f report
