// format: values as people read them. Names come from traces, which hold anything: what is shown of them cannot
// steer a terminal, a screen reader or the direction of the text around them.

// Control characters, line breaks, and what reorders text (Unicode's bidirectional controls).
const UNFIT = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

export function clean(text) {
  return String(text).replace(UNFIT, "\ufffd");
}

// "1,234.50": digits by toFixed(), which rounds the number itself and not what it looks like.
export function number(value, decimals = 0) {
  const fixed = value.toFixed(decimals);
  const [whole, fraction] = fixed.split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

// A few digits, whatever the size.
export function short(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 100 ? number(value, 0) : size >= 10 ? number(value, 1) : size >= 1 ? number(value, 2) : value.toPrecision(2);
}

// Whole, else six digits that count, as the terminal has them.
function anySize(value) {
  const size = Math.abs(value);
  if (size < 1e15 && (Number.isInteger(value) || size >= 1e5)) return number(value, 0);
  const [whole, ...rest] = String(Number(value.toPrecision(6))).split(".");
  return [size < 1e15 && size >= 1 ? number(Number(whole), 0) : whole, ...rest].join(".");
}

const TIME_UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];

export function duration(ns) {
  const size = Math.abs(ns);
  for (const [unit, name] of TIME_UNITS) {
    if (size >= unit) return `${number(ns / unit, unit === 1 ? 0 : 3)} ${name}`;
  }
  return "0 ns";
}

// A moment on an axis: as many decimals as `stepNs`, the distance to the next one, needs.
export function axisTime(ns, stepNs) {
  const [unit, name] = TIME_UNITS.find(([size]) => Math.abs(stepNs) >= size) ?? TIME_UNITS[3];
  const larger = unit < 1e9 && Math.abs(ns) >= unit * 1e4 ? TIME_UNITS[TIME_UNITS.findIndex(([size]) => size === unit) - 1] : null;
  const [shown, label] = larger ?? [unit, name];
  const decimals = Math.max(0, Math.ceil(-Math.log10(stepNs / shown) - 1e-9));
  return `${number(ns / shown, Math.min(decimals, 9))} ${label}`;
}

const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

export function bytes(value) {
  let unit = 0;
  let size = value;
  while (Math.abs(size) >= 1024 && unit < BYTE_UNITS.length - 1) {
    size /= 1024;
    unit++;
  }
  return `${unit === 0 ? number(size, 0) : number(size, Math.abs(size) < 10 ? 2 : Math.abs(size) < 100 ? 1 : 0)} ${BYTE_UNITS[unit]}`;
}

// A cell of a table, by its column.
export function cell(column, value) {
  if (value === null || value === undefined) return "";
  switch (column.type) {
    case "boolean":
      return value ? "yes" : "no";
    case "integer":
      return column.is_identifier ? String(value) : number(value, 0);
    case "number":
      return column.is_any_size ? anySize(value) : number(value, column.decimals);
    default:
      return clean(value);
  }
}
