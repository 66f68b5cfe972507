# What a calibration tells goes into the model, beside what is there; by a launcher that puts words before each line, and speaks itself.
cat >launcher.sh <<'END'
#!/bin/sh
echo "launching $(basename "$1"): $2 $3 $4"
line() { printf '[1,0]<stdout>:tacho-calibrate\t%s\t%s\t%s\t%s' "$1" "$2" "$3" "$4"; [ $# -lt 5 ] || printf '\t%s' "$5"; echo; }
line collective here gloo all_reduce 4
line size 1024 103.072 9
line size 1048576 3245.728 9
line size 16777216 50431.648 9
line collective here gloo broadcast 4
line size 1024 20 9
END
chmod +x launcher.sh
"$TACHO" calibrate communication --backend gloo --most 16m -o c.json -- ./launcher.sh train.py --epochs 3 2>said
grep launching said
"$TACHO" calibrate communication --backend gloo -q -o c.json -- ./launcher.sh | tail -1
"$TACHO" cost show c.json
sed -i 's/1024 103.072/1024 fast/' launcher.sh
cp c.json before.json
"$TACHO" calibrate communication -q -o c.json -- ./launcher.sh
echo "exit $?"
cmp c.json before.json
