# Sourced by tests of the Python probe: the interpreters of this machine that it knows, one a line.
pythons() {
	local python

	for python in /usr/bin/python3 "${PYENV_ROOT:-${HOME:-/root}/.pyenv}"/versions/3.*/bin/python3; do
		[ -x "$python" ] && "$python" -c 'import sys; sys.exit(not (3, 9) <= sys.version_info < (3, 14))' 2>/dev/null &&
			echo "$python"
	done
}
