# The version, and every part that may be left out once: in this build, or not.
"$TACHO" --version | head -n 1
"$TACHO" --version | sed -n 's/^built with\(out\)\?: //p' | sed 's/, /\n/g' | grep -vx - | sort
