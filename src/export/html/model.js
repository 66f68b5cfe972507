// model: the timeline's columns as drawing, searching and asking need them.
//
// (1) A row is the slices of one depth of one track; they follow each other and do not overlap, so begins and ends
//     both go up. All rows share one array, `order`; a row is a range of it.
// (2) `busyNs[p]` is how long all slices before place p of `order` last together: what a range of a row is busy is one
//     subtraction, however many slices are in it.
// (3) A row's longest slice of any range is found through blocks of 64, made when first asked for.

const BLOCK = 64;
const STATE_OPEN = 1;
const STATE_MOMENT = 2;
const NONE = 0xffffffff;

function unzigzag(value) {
  return value % 2 ? -(value + 1) / 2 : value / 2;
}

export class Model {
  constructor(head, columns) {
    this.head = head;
    this.strings = head.strings;
    this.n = columns.track.length;
    this.track = columns.track;
    this.name = columns.name;
    this.kind = columns.kind;
    this.depth = columns.depth;
    this.state = columns.state;
    this.duration = columns.duration;
    this.argBytes = columns.arg_bytes;
    this.flowColumns = [columns.flow_from, columns.flow_to, columns.flow_kind];
    this.readBegins(columns.begin);
    this.readArgPlaces(columns.args);
    this.readTracks();
    this.makeRows();
    this.readCounters(columns.count_time, columns.count_value);
    this.findRange();
  }

  readBegins(differences) {
    const last = new Float64Array(this.head.tracks.length);
    this.start = new Float64Array(this.n);
    for (let i = 0; i < this.n; i++) {
      last[this.track[i]] += unzigzag(differences[i]);
      this.start[i] = last[this.track[i]];
    }
  }

  readArgPlaces(lengths) {
    this.argPlace = new Uint32Array(this.n + 1);
    for (let i = 0; i < this.n; i++) this.argPlace[i + 1] = this.argPlace[i] + lengths[i];
  }

  // Processes in the order in which viewers show them, each with its tracks.
  readTracks() {
    this.tracks = this.head.tracks.map((track, index) => ({ ...track, index, rows: [] }));
    this.processes = this.tracks.filter((track) => track.kind === "process");
    const byNumber = new Map(this.processes.map((process) => [process.index, process]));
    for (const process of this.processes) process.tracks = [];
    for (const track of this.tracks) byNumber.get(track.process)?.tracks.push(track);
    for (const process of this.processes) process.tracks.sort((a, b) => (a === process ? -1 : b === process ? 1 : a.order - b.order));
    this.processes.sort((a, b) => a.order - b.order);
  }

  // Slices sorted by (track, depth), which keeps them by begin within: a counting sort.
  makeRows() {
    const depths = new Uint32Array(this.tracks.length);
    for (let i = 0; i < this.n; i++) if (this.depth[i] >= depths[this.track[i]]) depths[this.track[i]] = this.depth[i] + 1;
    let nRows = 0;
    const firstRow = depths.map((depth) => (nRows += depth) - depth);
    const place = new Uint32Array(nRows + 1);
    for (let i = 0; i < this.n; i++) place[firstRow[this.track[i]] + this.depth[i] + 1]++;
    for (let row = 0; row < nRows; row++) place[row + 1] += place[row];
    for (const track of this.tracks) {
      for (let depth = 0; depth < depths[track.index]; depth++) {
        const row = firstRow[track.index] + depth;
        track.rows.push({ first: place[row], end: place[row + 1], blocks: null, matches: null });
      }
    }
    const next = place.slice();
    this.order = new Uint32Array(this.n);
    for (let i = 0; i < this.n; i++) this.order[next[firstRow[this.track[i]] + this.depth[i]]++] = i;
    this.busyNs = new Float64Array(this.n + 1);
    for (let p = 0; p < this.n; p++) this.busyNs[p + 1] = this.busyNs[p] + this.duration[this.order[p]];
  }

  readCounters(times, values) {
    let at = 0;
    this.counters = this.tracks.filter((track) => track.counts);
    for (const track of this.counters) {
      track.isBytes = track.kind === "bytes" || /\bbytes\b/i.test(track.name);
      track.times = new Float64Array(track.counts);
      track.values = new Float64Array(track.counts);
      const scale = 10 ** track.decimals;
      let time = 0;
      let value = 0;
      track.lowest = Infinity;
      track.highest = -Infinity;
      for (let i = 0; i < track.counts; i++, at++) {
        track.times[i] = time += unzigzag(times[at]);
        value += unzigzag(values[at]);
        track.values[i] = value / scale;
        if (track.values[i] < track.lowest) track.lowest = track.values[i];
        if (track.values[i] > track.highest) track.highest = track.values[i];
      }
    }
  }

  findRange() {
    let first = Infinity;
    let last = -Infinity;
    for (let i = 0; i < this.n; i++) {
      const end = this.start[i] + this.duration[i];
      if (this.start[i] < first) first = this.start[i];
      if (end > last) last = end;
    }
    for (const track of this.counters) {
      first = Math.min(first, track.times[0]);
      last = Math.max(last, track.times[track.counts - 1]);
    }
    this.firstNs = first === Infinity ? 0 : first;
    this.lastNs = last > this.firstNs ? last : this.firstNs + 1000;
  }

  end(slice) {
    return this.start[slice] + this.duration[slice];
  }

  isOpen(slice) {
    return (this.state[slice] & STATE_OPEN) !== 0;
  }

  isMoment(slice) {
    return (this.state[slice] & STATE_MOMENT) !== 0;
  }

  // The first place of `row`, from `from` on, whose slice ends after `time`.
  endingAfter(row, time, from = row.first) {
    let low = from;
    let high = row.end;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.end(this.order[middle]) > time) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  // The first place of `row`, from `from` on, whose slice begins at `time` or later: near ones are found first.
  beginningAt(row, time, from) {
    let step = 1;
    let low = from;
    let high = from;
    while (high < row.end && this.start[this.order[high]] < time) {
      low = high + 1;
      high += step;
      step *= 2;
    }
    if (high > row.end) high = row.end;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.start[this.order[middle]] >= time) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  longer(a, b) {
    return this.duration[this.order[b]] > this.duration[this.order[a]] ? b : a;
  }

  makeBlocks(row) {
    const n = Math.ceil((row.end - row.first) / BLOCK);
    row.blocks = new Uint32Array(n);
    for (let block = 0; block < n; block++) {
      const from = row.first + block * BLOCK;
      row.blocks[block] = this.longestOf(from, Math.min(from + BLOCK, row.end));
    }
  }

  longestOf(from, to) {
    let longest = from;
    for (let p = from + 1; p < to; p++) longest = this.longer(longest, p);
    return longest;
  }

  // The place of the longest slice of [from, to) of `row`.
  longest(row, from, to) {
    if (to - from <= 2 * BLOCK) return this.longestOf(from, to);
    if (!row.blocks) this.makeBlocks(row);
    const firstBlock = Math.ceil((from - row.first) / BLOCK);
    const lastBlock = Math.floor((to - row.first) / BLOCK);
    let longest = this.longestOf(from, row.first + firstBlock * BLOCK);
    for (let block = firstBlock; block < lastBlock; block++) longest = this.longer(longest, row.blocks[block]);
    for (let p = row.first + lastBlock * BLOCK; p < to; p++) longest = this.longer(longest, p);
    return longest;
  }

  // [[key, value], ...]: numbers beyond 2^53 stay exact, as BigInt.
  args(slice) {
    const found = [];
    const bytes = this.argBytes;
    let at = this.argPlace[slice];
    const varint = () => {
      let value = 0n;
      for (let shift = 0n; ; shift += 7n) {
        const byte = bytes[at++];
        value |= BigInt(byte & 0x7f) << shift;
        if (!(byte & 0x80)) return value;
      }
    };
    while (at < this.argPlace[slice + 1]) {
      const head = bytes[at++];
      const key = this.head.arg_keys[head >> 2];
      const type = head & 3;
      if (type === 0) found.push([key, true]);
      else if (type === 3) found.push([key, this.strings[Number(varint())]]);
      else {
        const value = varint();
        found.push([key, type === 2 ? value : value & 1n ? -(value + 1n) / 2n : value / 2n]);
      }
    }
    return found;
  }

  // Flows of a slice: [{slice, kind, isOut}]; the lists are made when first asked for.
  flows(slice) {
    const [from, to, kind] = this.flowColumns;
    if (!this.flowHead) this.linkFlows(from, to);
    const found = [];
    for (let flow = this.flowHead[0][slice]; flow !== NONE; flow = this.flowNext[0][flow])
      found.push({ slice: to[flow], kind: this.head.flow_kinds[kind[flow]], isOut: true });
    for (let flow = this.flowHead[1][slice]; flow !== NONE; flow = this.flowNext[1][flow])
      found.push({ slice: from[flow], kind: this.head.flow_kinds[kind[flow]], isOut: false });
    return found;
  }

  linkFlows(from, to) {
    this.flowHead = [new Uint32Array(this.n).fill(NONE), new Uint32Array(this.n).fill(NONE)];
    this.flowNext = [new Uint32Array(from.length), new Uint32Array(from.length)];
    [from, to].forEach((ends, side) => {
      for (let flow = ends.length - 1; flow >= 0; flow--) {
        this.flowNext[side][flow] = this.flowHead[side][ends[flow]];
        this.flowHead[side][ends[flow]] = flow;
      }
    });
  }

  // What all slices of that name are together.
  nameTotals(name) {
    let count = 0;
    let total = 0;
    let least = Infinity;
    let most = 0;
    for (let i = 0; i < this.n; i++) {
      if (this.name[i] !== name) continue;
      count++;
      total += this.duration[i];
      if (this.duration[i] < least) least = this.duration[i];
      if (this.duration[i] > most) most = this.duration[i];
    }
    return { count, total, least, most };
  }

  // Slices whose name has `text` in it, small and capital letters alike, in order of time: {count, slices}, of which
  // `slices` are `most` at most.
  search(text, most = 100000) {
    const wanted = text.toLowerCase();
    const names = new Uint8Array(this.strings.length);
    let isAny = false;
    this.strings.forEach((string, index) => {
      if (string.toLowerCase().includes(wanted)) isAny = names[index] = 1;
    });
    const slices = [];
    let count = 0;
    for (let i = 0; isAny && i < this.n; i++) {
      if (!names[this.name[i]]) continue;
      count++;
      if (slices.length < most) slices.push(i);
    }
    slices.sort((a, b) => this.start[a] - this.start[b]);
    return { text, names, count, slices };
  }

  // matches[p - row.first]: how many slices before place p of the row match the search.
  matchesOf(row, search) {
    if (row.matches?.search !== search) {
      const sums = new Uint32Array(row.end - row.first + 1);
      for (let p = row.first; p < row.end; p++)
        sums[p - row.first + 1] = sums[p - row.first] + search.names[this.name[this.order[p]]];
      row.matches = { search, sums };
    }
    return row.matches.sums;
  }
}
