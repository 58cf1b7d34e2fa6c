"use strict";
// Charts of batches over time, drawn as SVG. Needs nothing else, and changes nothing but its host.
//
//   const chart = penstockCharts.line(host, {title, unit, series: [{name, of, css}], limit, share});
//   chart.update(statuses);          // [{at: seconds since the epoch, ...}], oldest first
//
// `of(status)` gives a value or null, where the line is broken; `limit` is a series that is drawn
// dashed; `share` writes values as per cent. `css` is a class that gives the line its color.
const penstockCharts = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const HEIGHT = 190, LEFT = 50, RIGHT = 10, TOP = 8, BOTTOM = 22;
  const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400];

  const make = (tag, attributes = {}, text = "") => {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.textContent = text;
    return element;
  };
  const html = (tag, css, text = "") => {
    const element = document.createElement(tag);
    element.className = css;
    element.textContent = text;
    return element;
  };

  const short = new Intl.NumberFormat("en", {notation: "compact", maximumSignificantDigits: 3});
  const long = new Intl.NumberFormat("en", {maximumSignificantDigits: 6});
  const fine = new Intl.NumberFormat("en", {maximumSignificantDigits: 3});
  const whole = new Intl.NumberFormat("en", {maximumFractionDigits: 0});
  const known = (value) => typeof value === "number" && Number.isFinite(value);

  // 1234567 is "1.23M" on an axis, and "1,234,567" where there is room.
  function number(value, room = false) {
    if (!known(value)) return "–";
    if (room && Number.isInteger(value)) return whole.format(value);
    if (Math.abs(value) >= 1000) return (room ? long : short).format(value);
    return fine.format(value);
  }
  function written(value, spec, room = false) {
    if (!known(value)) return "–";
    if (spec.share) return `${fine.format(100 * value)} %`;
    return spec.unit === "×" ? `${fine.format(value)} ×` : `${number(value, room)} ${spec.unit}`;
  }
  function clock(at, seconds = true) {
    const options = {hour: "2-digit", minute: "2-digit", hourCycle: "h23"};
    return new Date(at * 1000).toLocaleTimeString("en-GB",
      seconds ? {...options, second: "2-digit"} : options);
  }

  // Round values from 0 to the greatest, four or five of them.
  function levels(most) {
    const rough = (most || 1) / 4, size = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 2.5, 5, 10].map((n) => n * size).find((n) => n >= rough * 0.999);
    return Array.from({length: Math.floor(most / step + 1e-9) + 1}, (_, n) => n * step);
  }
  function moments(from, to, room) {
    const step = STEPS.find((n) => (to - from) / n <= room) ?? Math.ceil((to - from) / room);
    const shift = -60 * new Date(from * 1000).getTimezoneOffset();  // whole hours of this place
    const first = Math.ceil((from + shift) / step) * step - shift, found = [];
    for (let at = first; at <= to; at += step) found.push(at);
    return {found, seconds: step < 60};
  }

  // At most about two points for each pixel: of more, the least and the greatest are kept.
  function thinned(points, width) {
    if (points.length <= 2 * width) return points;
    const size = Math.ceil(points.length / (width / 2)), kept = [];
    for (let begin = 0; begin < points.length; begin += size) {
      const some = points.slice(begin, begin + size), ys = some.map((p) => p[1]).filter(known);
      const want = new Set([some[0], some.at(-1), some.find((p) => !known(p[1])),
        some.find((p) => p[1] === Math.min(...ys)), some.find((p) => p[1] === Math.max(...ys))]);
      kept.push(...some.filter((p) => want.has(p)));
    }
    return kept;
  }
  function path(points, x, y) {
    let drawn = "", pen = false;
    for (const [at, value] of points) {
      if (known(value)) drawn += `${pen ? "L" : "M"}${x(at).toFixed(1)},${y(value).toFixed(1)}`;
      pen = known(value);
    }
    // A value with none beside it would be a line of no length: round ends make it a dot.
    return drawn.replace(/M([^ML]+)(?=M|$)/g, "M$1h0.01");
  }

  function line(host, spec) {
    const all = spec.limit ? [...spec.series, {...spec.limit, limit: true}] : spec.series;
    const figure = html("figure", "chart"), caption = html("figcaption", "");
    const legend = html("span", "legend"), values = [];
    const title = html("b", "", spec.title);
    if (spec.unit) title.append(html("span", "unit", ` (${spec.unit})`));
    caption.append(title, legend);
    for (const one of all) {
      const item = html("span", `key ${one.css}`), value = html("span", "value", "–");
      item.append(html("i", one.limit ? "swatch dashed" : "swatch"), `${one.name} `, value);
      legend.append(item);
      values.push(value);
    }
    const frame = html("div", "frame"), tip = html("div", "tip");
    const svg = make("svg", {role: "img", tabindex: "0", height: HEIGHT});
    const grid = make("g", {class: "grid"}), lines = make("g"), mark = make("g", {class: "mark"});
    const paths = all.map((one) => make("path", {class: `line ${one.css}${one.limit ? " dashed" : ""}`}));
    lines.append(...paths);
    svg.append(grid, lines, mark);
    frame.append(svg, tip);
    figure.append(caption, frame);
    host.append(figure);
    tip.hidden = true;

    let statuses = [], looked = null, scale = null;

    function draw() {
      const width = Math.max(200, frame.clientWidth);
      svg.setAttribute("width", width);
      svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
      const rows = all.map((one) => statuses.map((s) => [s.at, one.of(s)]));
      const found = rows.flat().map((p) => p[1]).filter(known);
      const greatest = found.reduce((a, b) => Math.max(a, b), 0) * 1.06 || 1;
      const from = statuses[0]?.at ?? 0, to = Math.max(statuses.at(-1)?.at ?? 1, from + 1);
      const x = (at) => LEFT + (at - from) / (to - from) * (width - LEFT - RIGHT);
      const y = (value) => HEIGHT - BOTTOM - value / greatest * (HEIGHT - TOP - BOTTOM);
      scale = {x, y};
      axes(width, x, y, greatest, from, to);
      all.forEach((one, n) => {
        paths[n].setAttribute("d", path(thinned(rows[n], width), x, y));
        values[n].textContent = written(rows[n].at(-1)?.[1], spec);
      });
      const said = all.map((one, n) => `${one.name} ${values[n].textContent}`).join(", ");
      svg.setAttribute("aria-label", `${spec.title}: ${said}`);
      look();
    }
    function axes(width, x, y, greatest, from, to) {
      const drawn = [];
      for (const value of levels(greatest)) {
        drawn.push(make("line", {x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value)}));
        const text = spec.share ? `${fine.format(100 * value)} %` : number(value);
        drawn.push(make("text", {x: LEFT - 6, y: y(value) + 4, class: "left"}, text));
      }
      if (statuses.length) {
        const {found, seconds} = moments(from, to, (width - LEFT) / 75);
        for (const at of found) {
          const inside = Math.min(Math.max(x(at), LEFT + 16), width - RIGHT - 24);
          drawn.push(make("text", {x: inside, y: HEIGHT - 6, class: "below"}, clock(at, seconds)));
        }
      }
      grid.replaceChildren(...drawn);
    }
    // What the pointer, or an arrow key, is at; it stays there while the chart moves on.
    function look() {
      const at = statuses.findIndex((s) => s.at === looked);
      tip.hidden = at < 0;
      mark.replaceChildren();
      if (at < 0) return;
      const status = statuses[at], place = scale.x(status.at);
      mark.append(make("line", {x1: place, x2: place, y1: TOP, y2: HEIGHT - BOTTOM}));
      const said = [html("b", "", clock(status.at))];
      for (const one of all) {
        const value = one.of(status), row = html("span", one.css);
        row.append(html("i", one.limit ? "swatch dashed" : "swatch"),
          `${one.name} ${written(value, spec, true)}`);
        said.push(row);
        if (known(value)) mark.append(make("circle", {cx: place, cy: scale.y(value), r: 3.5, class: one.css}));
      }
      tip.replaceChildren(...said);
      const left = place > frame.clientWidth / 2 ? place - tip.offsetWidth - 12 : place + 12;
      tip.style.left = `${Math.max(0, left)}px`;
    }
    function point(event) {
      if (!statuses.length) return;
      const mouse = event.clientX - svg.getBoundingClientRect().left;
      const far = (s) => Math.abs(scale.x(s.at) - mouse);
      looked = statuses.reduce((a, b) => (far(b) < far(a) ? b : a)).at;
      look();
    }
    function leave() {
      looked = null;
      look();
    }
    svg.addEventListener("pointermove", point);
    svg.addEventListener("pointerdown", point);
    // A finger leaves when it is lifted: what it has touched stays.
    svg.addEventListener("pointerleave", (event) => event.pointerType === "touch" || leave());
    svg.addEventListener("blur", leave);
    svg.addEventListener("keydown", (event) => {
      const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
      if (event.key === "Escape") leave();
      if (!step || !statuses.length) return;
      event.preventDefault();
      const at = statuses.findIndex((s) => s.at === looked), last = statuses.length - 1;
      looked = statuses[at < 0 ? last : Math.min(Math.max(at + step, 0), last)].at;
      look();
    });
    new ResizeObserver(draw).observe(frame);
    return {
      update(now) {
        statuses = now;
        draw();
      },
    };
  }

  // A value with its bounds as a bar of error, on a scale from `least` to `most`.
  function bounds({low, value, high, least, most}) {
    const width = 110, x = (v) => 5 + (v - least) / ((most - least) || 1) * (width - 10);
    const svg = make("svg", {class: "bounds", width, height: 16, "aria-hidden": "true"});
    const [a, b, c] = [low, value, high].map((v) => x(v).toFixed(1));
    svg.append(make("path", {d: `M5,8H${width - 5}`, class: "rail"}),
      make("path", {d: `M${a},8H${c}M${a},3.5v9M${c},3.5v9`, class: "whisker"}),
      make("circle", {cx: b, cy: 8, r: 3.2}));
    return svg;
  }

  return {line, bounds, number, clock, known};
})();
