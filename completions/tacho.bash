# bash completion for tacho: commands and options come from --help, so that they are always those of
# the tacho that is called.

_tacho_commands() {
	"$1" --help 2>/dev/null | awk '/^Commands:/ { on = 1; next } /^$/ { on = 0 } on { print $1 }'
}

_tacho_options() {
	"$1" "$2" --help 2>/dev/null | grep -oE '^ +(-[A-Za-z], )?--[a-z-]+=?' | grep -oE -- '--[a-z-]+=?'
}

# The values of an option that has a choice: those of tables come from the tacho that is called.
_tacho_values() {
	case $2 in
	--clock) echo auto tsc monotonic ;;
	--engine) echo tacho lttng ;;
	--counters | --kernel-counters) echo default ;;
	--precision) echo fp32 tf32 bf16 fp16 int8 ;;
	--python) [ "$3" != record ] && [ "$3" != attach ] || echo sample off ;;
	--probes) "$1" --complete probes ;;
	--view | -v) [ "$3" = diff ] && "$1" --complete diff-views || "$1" --complete views ;;
	--what-if | -w) "$1" --complete what-ifs ;;
	--select) "$1" --complete metrics && echo op_types input_shapes device tensor_value ;;
	--order-by) echo name depth && "$1" --complete metrics ;;
	--mean) echo all present none ;;
	--displayed-only) echo yes no ;;
	--to) [ "$3" = precision ] && echo table json npy svg || "$1" --complete exports ;;
	--format) "$1" --complete query-formats ;;
	--durations | -D) echo mean median sampled ;;
	--by) [ "$3" != cost ] || echo table roofline nearest trees ;;
	--type) [ "$3" != cost ] || echo fp32 tf32 fp16 bf16 int8 ;;
	--backend) echo gloo nccl mpi ;;
	esac 2>/dev/null
}

_tacho() {
	local tacho=$1 current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	local command=${COMP_WORDS[1]} i

	COMPREPLY=()
	if [ "$COMP_CWORD" = 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_tacho_commands "$tacho") --help --version" -- "$current")
		return
	fi
	# Behind "tacho record [OPTION...] --", and doctor's, it is the job's own command line.
	if [ "$command" = record ] || [ "$command" = doctor ] || [ "$command" = apply ] || [ "$command" = calibrate ]; then
		for ((i = 2; i < COMP_CWORD; i++)); do
			if [ "${COMP_WORDS[i]}" = -- ] && declare -F _command_offset >/dev/null; then
				_command_offset $((i + 1))
				return
			fi
		done
	fi
	# bash splits --view=op at the "=".
	if [ "$current" = = ]; then
		current=
	elif [ "$previous" = = ]; then
		previous=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	local values
	values=$(_tacho_values "$tacho" "$previous" "$command")
	if [ -n "$values" ]; then
		mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
		[[ ${COMPREPLY[0]-} != *[=:] ]] || compopt -o nospace 2>/dev/null
	elif [[ $current == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_tacho_options "$tacho" "$command")" -- "$current")
		[[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace 2>/dev/null
	elif [ "$command" = attach ] || [ "$command" = stop ]; then
		mapfile -t COMPREPLY < <(compgen -W "$(ps -u "$(id -u)" -o pid= 2>/dev/null)" -- "$current")
	elif [ "$command" = cost ] && [ "$COMP_CWORD" = 2 ]; then
		mapfile -t COMPREPLY < <(compgen -W "train predict show" -- "$current")
	elif [ "$command" = calibrate ] && [ "$COMP_CWORD" = 2 ]; then
		mapfile -t COMPREPLY < <(compgen -W "communication" -- "$current")
	elif [ "$command" = probe ] && [ "$COMP_CWORD" -le 3 ]; then
		mapfile -t COMPREPLY < <(compgen -W "build list torch" -- "$current")
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		compopt -o filenames 2>/dev/null
	fi
}
complete -F _tacho tacho
