// dom: elements, made of texts and properties. Nothing here takes markup.

// el("button", {class: "x", onclick: f, "aria-label": "..."}, "text", child, ...)
export function el(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// A canvas's context, with one unit a CSS pixel however fine the screen is.
export function fit(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const wide = Math.round(width * ratio);
  const high = Math.round(height * ratio);
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

// The colours of the page, for what draws: read from the style, so that there is one list of them.
export function colours() {
  const style = getComputedStyle(document.documentElement);
  const get = (name) => style.getPropertyValue(`--${name}`).trim();
  return {
    text: get("text"), faint: get("faint"), line: get("line"), back: get("back"), card: get("card"), accent: get("accent"),
    compute: get("compute"), exposed: get("exposed"), wait: get("wait"), idle: get("idle"), match: get("match"),
    isDark: get("scheme") === "dark",
  };
}
