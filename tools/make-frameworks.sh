#!/usr/bin/env bash
# make-frameworks.sh [FOLDER [NAME...]]: make the environments of tests/frameworks/environments.ini below FOLDER (build/frameworks), or those
# named. One that was made from the same lines is left as it is. pip asks whom it is configured to ask on this machine.
set -eu
source_dir=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-$source_dir/build/frameworks}
[ $# = 0 ] || shift
mkdir -p "$folder"

# value NAME KEY
value()
{
	awk -v name="[$1]" -v key="$2" '$0 == name { is_in = 1; next } /^\[/ { is_in = 0 }
		is_in && $1 == key { sub(/^[^=]*= */, ""); print }' "$source_dir/tests/frameworks/environments.ini"
}

# A Python of that version: by its path, on the PATH, or one of pyenv's.
interpreter()
{
	[ ! -x "$1" ] || { echo "$1"; return; }
	command -v "python$1" && return
	ls -d "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python3 2>/dev/null | tail -1
}

# DeepSpeed compiles an operation of its own in the first job that asks for its communication: some minutes, while jobs wait.
compile_ops()
{
	[ -d "$1"/lib/python*/site-packages/deepspeed ] || return 0
	PATH=$1/bin:$PATH TORCH_EXTENSIONS_DIR=$1/torch-extensions "$1/bin/python" -c '
from deepspeed.ops.op_builder.cpu import ShareMemCommBuilder
ShareMemCommBuilder().load(verbose=False)' >/dev/null
}

# What pip has to compile, beside the system's packages: build FOLDER NAME
build()
{
	local builds

	builds=$(value "$2" builds)
	[ -z "$builds" ] || env $(value "$2" with) "$1/bin/pip" install -q --no-deps --no-build-isolation $builds
}

for name in $(sed -n 's/^\[\(.*\)\]$/\1/p' "$source_dir/tests/frameworks/environments.ini"); do
	[ $# = 0 ] || [[ " $* " = *" $name "* ]] || continue
	packages=$(value "$name" packages)
	[ "$packages" ] || continue # the system's own Python
	made_from=$(echo $packages $(value "$name" builds) $(value "$name" with))
	mark=$folder/$name/made-from
	[ "$(cat "$mark" 2>/dev/null)" = "$made_from" ] && continue
	python=$(interpreter "$(value "$name" python)")
	[ "$python" ] || { echo "$name: there is no Python $(value "$name" python): left out"; continue; }
	echo "$name: $made_from"
	rm -rf "${folder:?}/$name"
	"$python" -m venv $([ -z "$(value "$name" builds)" ] || echo --system-site-packages) "$folder/$name"
	if "$folder/$name/bin/pip" install -q $packages && build "$folder/$name" "$name" && compile_ops "$folder/$name"; then
		echo "$made_from" >"$mark"
	else
		echo "$name: pip could not install this: left out"
		rm -rf "${folder:?}/$name"
	fi
done
