# The runner of the conformance suite: what differs is told, and what is not the same twice by itself, or differs once, is no
# difference.
cat >programs.txt <<'END'
# a comment
same | quick | cat | echo a | cat; exit 3
recorded | quick | bash | case ${LD_PRELOAD:-} in *libtacho*) echo with ;; *) echo without ;; esac
chance | quick | date | date +%N
once | quick | touch | [ -z "${LD_PRELOAD:-}" ] || [ -e "$HOME/seen" ] || { echo once; touch "$HOME/seen"; }
absent | quick | no-such-program | true
long | long | true | echo long
END
export TACHO_PROGRAMS=$PWD/programs.txt
"$TACHO_SOURCE_DIR/tests/conformance/run.sh" quick
echo "exit $?"
"$TACHO_SOURCE_DIR/tests/conformance/run.sh" all 'same|chance|long'
