#!/usr/bin/env bash
# install-packages.sh GROUP...: install the Debian packages of these groups of packages.txt that are
# not installed yet. Says first what it installs and what for; asks nothing; with nothing to install
# it says and does nothing. Exit 1: it could not, and has printed the command to run by hand.
#
# On a system without dpkg it cannot see what is there: it names the packages and lets the build go
# on, which stops by itself at what it misses.
set -euo pipefail

list=$(dirname "$0")/packages.txt
if [ $# = 0 ]; then
	echo "usage: $0 GROUP...   (groups: $(awk '/^[a-z]/ { print $1 }' "$list" | uniq | xargs))" >&2
	exit 2
fi

# The list's lines of the groups in "$@", comments and empty lines left out.
wanted() {
	awk -v groups=" $* " '/^[a-z]/ && index(groups, " " $1 " ")' "$list"
}

is_installed() {
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

for group in "$@"; do
	if [ -z "$(wanted "$group")" ]; then
		echo "$0: packages.txt has no group '$group'" >&2
		exit 2
	fi
done

if ! command -v dpkg-query >/dev/null; then
	echo "This is not a Debian system, so nothing is installed. These packages of Debian 12, or what"
	echo "they are called here, are needed:"
	wanted "$@" | sed 's/^[a-z]* */  /'
	exit 0
fi

missing=()
reasons=()
while read -r _ package what_for; do
	if ! is_installed "$package"; then
		missing+=("$package")
		reasons+=("$(printf '  %-22s %s' "$package" "$what_for")")
	fi
done < <(wanted "$@")
[ ${#missing[@]} -gt 0 ] || exit 0

echo "Installing from Debian, with apt-get:"
printf '%s\n' "${reasons[@]}"

apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=600
	-o Acquire::Retries=3)
if [ "$(id -u)" != 0 ]; then
	by_hand="sudo apt-get install --no-install-recommends ${missing[*]}"
	if ! command -v sudo >/dev/null; then
		echo "Not root, and there is no sudo. As root, run:  ${by_hand#sudo }" >&2
		exit 1
	fi
	# Without a terminal sudo could not ask for a password, and fails here instead.
	if ! sudo -n true 2>/dev/null && ! [ -t 0 ]; then
		echo "sudo wants a password, and there is no terminal. Run:  $by_hand" >&2
		exit 1
	fi
	apt=(sudo "${apt[@]}")
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Tried again after a while: a machine that has just booted may hold the lists' lock to update them, and
# a mirror may be changing.
tries=1
until { "${apt[@]}" update && "${apt[@]}" install --no-install-recommends "${missing[@]}"; } \
	>"$log" 2>&1 </dev/null; do
	if [ $tries = 4 ]; then
		tail -n 20 "$log" >&2
		echo "apt-get failed. By hand:  apt-get update && apt-get install --no-install-recommends ${missing[*]}" >&2
		exit 1
	fi
	echo "apt-get failed (try $tries of 4): $(grep -m 1 '^E:' "$log" || tail -n 1 "$log")"
	sleep $((10 * tries++))
done
echo "Installed ${#missing[@]} packages and what they depend on."
