// timeline_layout: where what is drawn, top to bottom: a heading a process, then its tracks, which fold.

export const ROW = 17; // pixels of a row of slices
export const HEADING = 26;
export const COUNTER = 46;
const GAP = 5;

// Bands: {kind: "process" | "track" | "counter", y, height, ...}. What is folded takes one line.
export function layOut(model, folded) {
  const bands = [];
  let y = 0;
  const add = (band, height) => {
    bands.push({ ...band, y, height });
    y += height;
  };
  for (const process of model.processes) {
    add({ kind: "process", track: process, isFolded: folded.has(process.index) }, HEADING);
    if (folded.has(process.index)) continue;
    for (const track of process.tracks) {
      const isFolded = folded.has(track.index);
      if (track.counts) add({ kind: "counter", track, process, isFolded }, isFolded ? ROW + GAP : COUNTER + GAP);
      else if (track.rows.length)
        add({ kind: "track", track, process, isFolded }, (isFolded ? 1 : track.rows.length) * ROW + GAP);
    }
  }
  return { bands, height: y };
}

// The band at `y`, or the next below it: an index.
export function bandAt(bands, y) {
  let low = 0;
  let high = bands.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (bands[middle].y + bands[middle].height > y) high = middle;
    else low = middle + 1;
  }
  return low;
}
