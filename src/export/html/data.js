// data: what the page carries (src/export/page_data.h says how it is laid out), unpacked.

function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// The numbers of a column from its planes; more than 32 bits become doubles, exact up to 2^53.
function joinPlanes(bytes, offset, n, planes) {
  if (planes <= 1) return planes ? bytes.subarray(offset, offset + n) : new Uint8Array(n);
  const values = planes === 2 ? new Uint16Array(n) : planes <= 4 ? new Uint32Array(n) : new Float64Array(n);
  let factor = 1;
  for (let plane = 0; plane < planes; plane++) {
    const from = offset + plane * n;
    for (let i = 0; i < n; i++) values[i] += bytes[from + i] * factor;
    factor *= 256;
  }
  return values;
}

// {head, columns}: the JSON, and the columns that it names.
export async function readData(text) {
  const bytes = await inflate(fromBase64(text));
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const columns = {};
  let offset = 4 + length;
  for (const [name, n, planes] of head.timeline.columns) {
    columns[name] = joinPlanes(bytes, offset, n, planes);
    offset += n * planes;
  }
  return { head, columns };
}
