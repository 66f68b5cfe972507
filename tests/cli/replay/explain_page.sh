# The page of a replay has the table of --explain, and a page of a recording has none.
"$TACHO" --version | grep -q 'with:.*html export' || exit 77
run=$TACHO_SOURCE_DIR/tests/data/two_ranks
"$TACHO" replay "$run" --what-if straggler:1=1.5 --explain --export replay.html --json >answer.json
"$TACHO" replay "$run" --export plain.html >/dev/null
python3 - <<'PYTHON'
import base64, json, re, struct, zlib

def head(path):
    """The JSON that the page carries (src/export/page_data.h)."""
    text = re.search(r'id="data">(.*?)</script>', open(path).read(), re.S).group(1)
    data = zlib.decompress(base64.b64decode(text))
    return json.loads(data[4:4 + struct.unpack("<I", data[:4])[0]])

page, answer = head("replay.html")["views"]["explanation"], json.load(open("answer.json"))["explanation"]
print(page["description"])
print([column["label"] for column in page["columns"] if "is_extra" not in column])
print(len(page["rows"]), page["rows"] == [{key: row[key] for key in page["rows"][0]} for row in answer])
print("explanation" in head("plain.html")["views"])
PYTHON
