# --force replaces what tacho wrote, and nothing else: a file of somebody else's in the folder stays, and stops it.
"$TACHO" record -q --probes none -o run -- true
mkdir run/host-1 run/.host-2
printf '/* CTF 1.8 */\nenv {\n\ttacho_format = 1;\n};\n' >run/host-1/metadata
touch run/host-1/0-1.0 run/host-1/.0-1.1 run/.host-2/metadata
"$TACHO" record -q --probes none -o run -- true 2>&1 | sed "s|$PWD|.|"
"$TACHO" record -q --probes none --force -o run -- true && ls -A run

mkdir run/results run/host-3
touch run/results/model.pt run/host-3/0-1.0
printf '/* CTF 1.8 */\nenv {\n\ttacho_format = 1;\n};\n' >run/host-3/metadata
touch run/host-3/notes.txt
"$TACHO" record -q --probes none --force -o run -- true 2>err
echo "$?, nothing is removed:" $(find run -type f | LC_ALL=C sort)
grep -c 'removes only what tacho wrote' err
