#!/usr/bin/env bash
# make-onnxruntime.sh [FOLDER]: bring ONNX Runtime as Python and Node.js have it below FOLDER (build/onnxruntime), for tests/job/onnxruntime_probe.sh:
# FOLDER/python, an environment, and FOLDER/node. pip and npm ask whom they are configured to ask on this machine; no script of a package runs.
set -u
source_dir=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-$source_dir/build/onnxruntime}
python_packages="onnxruntime==1.23.2 numpy"
node_package=onnxruntime-node@1.23.2
failed=0
mkdir -p "$folder/node"

if [ "$(cat "$folder/python/made-from" 2>/dev/null)" != "$python_packages" ]; then
	rm -rf "$folder/python"
	# shellcheck disable=SC2086
	if python3 -m venv "$folder/python" && "$folder/python/bin/pip" install -q $python_packages; then
		echo "$python_packages" >"$folder/python/made-from"
	else
		echo "pip could not install $python_packages: the tests in Python are left out"
		rm -rf "$folder/python"
		failed=1
	fi
fi
if [ "$(cat "$folder/node/made-from" 2>/dev/null)" != "$node_package" ]; then
	if (cd "$folder/node" && npm install --silent --no-audit --no-fund --ignore-scripts --prefix . "$node_package"); then
		echo "$node_package" >"$folder/node/made-from"
	else
		echo "npm could not install $node_package: the tests in Node.js are left out"
		failed=1
	fi
fi
exit $failed
