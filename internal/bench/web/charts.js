// What all pages with charts have in common: how numbers are written, the frame of a chart, and
// the axes.
"use strict";

const drawing = (() => {
  // ---- numbers

  const digits = v => {
    const a = Math.abs(v);
    return a === 0 ? "0" : a < 0.0995 ? String(Number(v.toPrecision(2)))
      : a < 9.995 ? v.toFixed(2) : a < 99.95 ? v.toFixed(1) : v.toFixed(0);
  };
  const scaled = (v, steps) => {
    const least = steps[steps.length - 1];
    const [factor, name] = steps.find(([factor]) => Math.abs(v) >= factor * 0.9995) || least;
    return digits(v / factor) + name;
  };
  const si = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
  const iec = [
    [2 ** 40, " TiB"], [2 ** 30, " GiB"], [2 ** 20, " MiB"], [2 ** 10, " KiB"], [1, " B"],
  ];
  const time = [[1, " s"], [1e-3, " ms"], [1e-6, " µs"], [1e-9, " ns"]];
  const short = text => text.replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");
  const formats = {
    "/s": v => scaled(v, si) + "/s",
    "s": v => v === 0 ? "0 s" : scaled(v, time),
    "B": v => scaled(v, iec),
    "B/s": v => scaled(v, iec) + "/s",
    "%": v => digits(v) + " %",
    "": v => Number.isInteger(v) && Math.abs(v) < 1e5 ? String(v) : scaled(v, si),
  };

  // The text of a figure; a dash if there is none.
  const format = (v, unit) => (v ?? null) === null ? "–" : (formats[unit] || formats[""])(v);
  const tick = (v, unit) => v === null ? "" : short(format(v, unit)).replace(/\/s$/, "");

  // ---- frames

  function element(tag, parent, className, text) {
    const e = document.createElement(tag);
    if (className) e.className = className;
    if (text) e.textContent = text;
    parent.append(e);
    return e;
  }

  // Adds a chart to parent: its title and what it is about, a place to draw, and a legend. In the
  // legend mark draws what tells series i from the others. The values are where their figures go.
  function frame(parent, spec, mark) {
    const card = element("section", parent, "chart");
    element("h3", card, "", spec.title);
    const when = element("time", card, "");
    element("p", card, "", spec.about);
    const holder = element("div", card, "plot");
    holder.dataset.name = [spec.title, spec.about].filter(Boolean).join(": ");
    const legend = element("ul", card, "legend");
    const values = spec.series.map((s, i) => {
      const li = element("li", legend);
      mark(li, i);
      element("span", li, "", s.name);
      return element("b", li, "", "–");
    });
    return { card, when, holder, legend, values };
  }

  function svg(tag, parent, attributes) {
    const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
    parent.append(e);
    return e;
  }

  // Draws what a line looks like into a legend, and returns the drawing.
  function sample(li, stroke, dash) {
    const box = svg("svg", li, { viewBox: "-16 -7 32 14", "aria-hidden": true });
    svg("line", box, { stroke, x1: -16, x2: 16, "stroke-width": 2, "stroke-dasharray": dash.join(" ") });
    return box;
  }

  // The colour that a variable of the style sheet has in this scheme: a canvas does
  // not understand light-dark().
  const resolved = name => {
    const probe = element("i", document.body);
    probe.style.color = `var(${name})`;
    const c = getComputedStyle(probe).color;
    probe.remove();
    return c;
  };

  // ---- axes

  const axis = () => ({
    stroke: resolved("--dim"), grid: { stroke: resolved("--line"), width: 1 },
    ticks: { show: false }, font: "11px system-ui, sans-serif",
  });

  // The steps between the marks of an axis of bytes.
  const binary = Array.from({ length: 60 }, (_, i) => 2 ** i);

  // The y axis of figures of a unit. A logarithmic one has marks at 1, 2 and 5 times the powers
  // of ten, or at the powers alone if those are many.
  function yAxis(unit, log) {
    const values = (u, list) => list.map(v => tick(v, unit));
    const y = { ...axis(), size: 64, values };
    if (!log) return { ...y, space: 28, ...(/^B/.test(unit) ? { incrs: binary } : {}) };
    y.splits = (u, i, min, max) => {
      const list = [];
      for (let e = Math.floor(Math.log10(min)); e <= Math.log10(max); e++)
        for (const f of max > min * 150 ? [1] : [1, 2, 5]) list.push(f * 10 ** e);
      return list.filter(v => v > min * .999 && v < max * 1.001);
    };
    y.filter = (u, list) => list;
    y.grid = { ...y.grid, filter: y.filter };
    return y;
  }

  // A plot of a chart, as high as its place, that has nothing but what opts adds. Its picture has
  // the name of the chart.
  function newPlot(holder, opts, data) {
    const plot = new uPlot({
      width: Math.max(Math.floor(holder.clientWidth), 200),
      height: holder.clientHeight || 150, // it may be folded away
      legend: { show: false },
      ...opts,
      cursor: { drag: { x: false, y: false }, points: { size: 6 }, y: false, ...opts.cursor },
    }, data, holder);
    const picture = holder.querySelector("canvas");
    picture.setAttribute("role", "img");
    picture.setAttribute("aria-label", holder.dataset.name);
    return plot;
  }

  // Calls redraw when the colours have changed.
  const onScheme = redraw =>
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

  // Fits the plots of charts, as they are then, into their places whenever those change.
  const fit = list => new ResizeObserver(changed => {
    for (const e of changed) {
      const c = list().find(c => c.holder === e.target);
      const [width, height] = [e.contentRect.width, e.contentRect.height].map(Math.floor);
      if (c && c.plot && width > 0) c.plot.setSize({ width, height });
    }
  });

  return { format, element, frame, svg, sample, resolved, axis, yAxis, newPlot, onScheme, fit };
})();
