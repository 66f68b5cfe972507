# What `make install` puts into PREFIX works after PREFIX was moved: tacho finds its agent, its
# probes, what it builds the PyTorch probe from, and its Python hook beside itself.
set -eu
/usr/bin/python3 -c 'import torch' 2>/dev/null || { echo "no PyTorch: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache XDG_RUNTIME_DIR=$work

cmake --install "$TACHO_BUILD_DIR" --prefix "$work/first" >"$work/log" ||
	{ cat "$work/log"; exit 1; }
mv "$work/first" "$work/moved"
tacho=$work/moved/bin/tacho

cat >"$work/job.py" <<'END'
import os, torch
print(os.environ["LD_PRELOAD"])
torch.ones(3) + 1
END
"$tacho" record -o "$work/run" -- /usr/bin/python3 "$work/job.py" >"$work/out" 2>"$work/err"
cat "$work/err"
tr ':' '\n' <"$work/out" | while read -r library; do
	echo "$library"
	[ "${library#"$work/moved/"}" != "$library" ] || { echo "comes from somewhere else"; exit 1; }
done
"$tacho" report --view op "$work/run" | tee "$work/report"
grep -q 'aten::add' "$work/report" || { echo "aten::add was not recorded"; exit 1; }
for file in share/bash-completion/completions/tacho share/doc/tacho/README.md; do
	[ -s "$work/moved/$file" ] || { echo "$file is missing"; exit 1; }
done
