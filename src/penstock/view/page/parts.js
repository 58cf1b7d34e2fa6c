"use strict";
// The parts of the page, each from the values of a scene. All text is set as text, never as HTML:
// names and values come from the stream.
const penstockParts = (() => {
  const {bounds, number, clock, known} = penstockCharts;
  const LOG = 200, ANSWERS = 12, GAPS = 20;
  const percent = (share) => (known(share) ? `${number(100 * share)} %` : "–");
  const TIME = /^(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)(\.\d+)?(\+00:00|Z)?$/;
  const FATES = ["shed_at_stream", "shed_on_the_way", "taken"];

  function make(tag, css = "", ...children) {
    const element = document.createElement(tag);
    if (css) element.className = css;
    element.append(...children.filter((child) => child !== null && child !== ""));
    return element;
  }
  const before = new WeakMap();
  // Nothing is touched that is as it was, so that nothing flickers and no selection is lost.
  function renewed(host, values, draw) {
    const key = JSON.stringify(values);
    if (before.get(host) === key) return;
    before.set(host, key);
    host.replaceChildren(...draw());
  }

  function tiles(host, now, balanced) {
    const held = known(now.target) && known(now.response) ? now.response <= now.target : null;
    const sums = Object.values(balanced), wrong = sums.filter((one) => one === false).length;
    const all = [
      ["Response time", known(now.response) ? `${number(now.response)} s` : "–",
        known(now.target) ? `target ${number(now.target)} s${held === null ? "" : held ? ", held" : ", missed"}`
          : "no target", held === null ? "" : held ? "good" : "bad"],
      ["Demand", known(now.demand) ? `${number(now.demand)} ×` : "–",
        known(now.capacity) ? `of ${number(now.capacity)} rows/s` : "capacity not known yet",
        now.demand > 1 ? "warn" : ""],
      ["Kept", percent(now.keep), `of rows; ${number(now.shed)} of ${number(now.rows)} dropped`, ""],
      ["Backlog", known(now.backlog) ? number(now.backlog) : "–", "rows wait", ""],
      ["Accounts", wrong ? "✗ off" : sums.includes(true) ? "✓ balanced" : "–",
        wrong ? `${wrong} of ${sums.length} queries` : "every row has its fate",
        wrong ? "bad" : sums.includes(true) ? "good" : ""],
    ];
    renewed(host, all, () => all.map(([name, value, note, css]) =>
      make("div", `tile ${css}`, make("span", "name", name), make("b", "", value), make("span", "note", note))));
  }

  function drops(host, now) {
    renewed(host, now.drops, () => {
      if (!now.drops.length) return [make("p", "soft", "Nothing is dropped now.")];
      return [make("ul", "drops", ...now.drops.map((drop) => make("li", "",
        make("b", "", known(drop.drop) ? `drops ${percent(drop.drop)} of windows` : `keeps ${percent(drop.keep)} of rows`),
        make("span", "way", ` ${drop.after} → ${drop.before}`),
        drop.queries.length ? make("span", "soft", ` for ${drop.queries.join(", ")}`) : "",
        drop.reason ? make("p", "reason", drop.reason) : "")))];
    });
  }

  function cell(value) {
    if (value === null || value === undefined) return "–";
    if (typeof value === "boolean") return value ? "yes" : "no";
    if (typeof value === "number") return number(value, true);
    return typeof value === "object" ? JSON.stringify(value) : String(value).replace(TIME, "$1$2");
  }
  const kind = (value) => (typeof value === "number" ? "number" : TIME.test(value) ? "time" : "");
  function from(row) {
    const text = row.exact ? "all rows, exact" : `${percent(row.keep)}, ${cell(row.sample)} rows`;
    const td = make("td", "soft time", text);
    td.dataset.label = "from";
    return td;
  }
  function answers(rows) {
    const names = [...new Set(rows.flatMap(Object.keys))], has = (name) => names.includes(name);
    const sampled = has("keep") && has("sample") && has("exact");
    const sides = new Set(names.filter((n) => has(`${n}_low`) && has(`${n}_high`)).flatMap((n) => [`${n}_low`, `${n}_high`]));
    const shown = names.filter((n) => !sides.has(n) && !(sampled && ["keep", "sample", "exact", "unseen"].includes(n)));
    const scale = Object.fromEntries(shown.filter((n) => sides.has(`${n}_low`)).map((n) => {
      const of = rows.flatMap((row) => [row[n], row[`${n}_low`], row[`${n}_high`]]).filter(known);
      return [n, {least: Math.min(0, ...of), most: Math.max(0, ...of)}];
    }));
    const head = make("tr", "", ...shown.map((name) => make("th", "", name)), sampled ? make("th", "", "from") : "");
    const body = rows.slice(0, ANSWERS).map((row) => make("tr", "", ...shown.map((name) => {
      const value = row[name], low = row[`${name}_low`], high = row[`${name}_high`];
      const td = make("td", kind(value), make("span", "", cell(value)));
      td.dataset.label = name;
      if (scale[name] && [value, low, high].every(known) && !(low === value && high === value)) {
        td.append(make("small", "", ` ${number(low)} – ${number(high)}`), bounds({low, value, high, ...scale[name]}));
      }
      return td;
    }), sampled ? from(row) : ""));
    return make("table", shown.length > 2 ? "stacks" : "", make("thead", "", head), make("tbody", "", ...body));
  }
  function scrolling(name, ...children) {
    const box = make("div", "scroll", ...children);
    box.tabIndex = 0;
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", name);
    return box;
  }
  function queries(host, scene) {
    const of = scene.now?.queries ?? [], names = [...new Set([...of.map((q) => q.name), ...Object.keys(scene.answers)])];
    for (const name of names) {
      let card = [...host.children].find((one) => one.dataset.query === name);
      if (!card) {
        card = make("article", "query");
        card.dataset.query = name;
        host.append(card);
      }
      const query = of.find((q) => q.name === name), rows = scene.answers[name] ?? [], gaps = scene.gaps[name] ?? [];
      card.classList.toggle("wide", Object.keys(rows[0] ?? {}).length > 6);
      renewed(card, [query, rows, gaps], () => {
        const said = !query ? [] : [`${query.kind} answers`,
          query.kind === "subset" ? `drops ${percent(query.drop)} of windows` : `keeps ${percent(query.keep)} of rows`,
          known(query.error) ? `error expected ±${percent(query.error)}` : "",
          `${number(query.delivered, true)} windows delivered`, query.dropped ? `${number(query.dropped, true)} dropped` : ""];
        return [make("h3", "", name), make("p", "soft", said.filter(Boolean).join(" · ")),
          rows.length ? scrolling(`Latest answers of ${name}`, answers(rows),
            rows.length > ANSWERS ? make("p", "soft", `and ${rows.length - ANSWERS} more`) : "") : make("p", "soft", "No answers yet."),
          gaps.length ? make("p", "gaps", make("b", "", "Not delivered: "),
            gaps.slice(0, GAPS).map(([end, fate]) => `${end} (${fate})`).join(", ")) : ""].filter(Boolean);
      });
    }
    for (const card of [...host.children]) if (!names.includes(card.dataset.query)) card.remove();
  }

  function log(host, fresh) {
    const items = fresh.slice(-LOG).map((status) => make("li", "",
      make("span", "soft", `batch ${status.batch}, ${clock(status.at)} `), make("b", `phase ${status.phase}`, status.phase),
      make("span", "", ` keeps ${percent(status.keep)}`), status.reason ? make("p", "reason", status.reason) : ""));
    host.prepend(...items.reverse());
    while (host.children.length > LOG) host.lastChild.remove();
  }
  function problems(host, fresh) {
    const items = fresh.flatMap((status) => status.problems.map((text) =>
      make("li", "", make("span", "soft", `batch ${status.batch}, ${clock(status.at)} `), text)));
    host.prepend(...items.reverse());
    while (host.children.length > LOG) host.lastChild.remove();
  }

  function accounts(host, scene) {
    renewed(host, [scene.accounts, scene.balanced], () => {
      const all = Object.entries(scene.accounts);
      if (!all.length) return [make("p", "soft", "Nothing has been counted yet.")];
      const heads = ["query", "rows in", "shed at stream", "shed on the way", "taken", "balance", "of those taken"];
      const rows = all.map(([name, of]) => {
        const right = scene.balanced[name], sum = FATES.reduce((total, fate) => total + (of[fate] ?? 0), 0);
        const sign = right === null ? make("span", "soft", "not all counted")
          : make("b", right ? "good" : "bad", right ? "✓ balances" : `✗ off by ${number(of.rows_in - sum, true)}`);
        const other = Object.entries(of).filter(([fate, n]) => n && fate !== "rows_in" && !FATES.includes(fate));
        const cells = [name, ...["rows_in", ...FATES].map((fate) => number(of[fate], true)), sign,
          other.map(([fate, n]) => `${number(n, true)} ${fate.replaceAll("_", " ")}`).join(", ") || "–"];
        return make("tr", "", ...cells.map((value, n) => {
          const td = make(n ? "td" : "th", n > 0 && n < 6 ? "number" : "", value);
          td.dataset.label = heads[n];
          return td;
        }));
      });
      const head = make("tr", "", ...heads.map((text) => make("th", "", text)));
      return [make("table", "stacks", make("thead", "", head), make("tbody", "", ...rows))];
    });
  }

  return {make, tiles, drops, queries, log, problems, accounts, percent};
})();
