"use strict";
// Asks for what is new once a second, and shows it; says so when nobody answers any more.
(() => {
  const {line, number, clock} = penstockCharts, parts = penstockParts;
  const OFTEN = 1000, SELDOM = 10000, PATIENCE = 10000, MOST = 5000;
  const $ = (id) => document.getElementById(id);

  // The token is kept as a cookie now: it need not stand in the address.
  if (location.search) history.replaceState(null, "", location.pathname);

  const charts = [
    line($("charts"), {title: "Response time", unit: "s",
      series: [{name: "95th percentile", of: (s) => s.response, css: "one"}, {name: "median", of: (s) => s.median, css: "two"}],
      limit: {name: "target", of: (s) => s.target, css: "limit"}}),
    line($("charts"), {title: "Rates", unit: "rows/s",
      series: [{name: "arriving", of: (s) => s.arriving, css: "one"}, {name: "taken", of: (s) => s.taking, css: "two"}],
      limit: {name: "capacity", of: (s) => s.capacity, css: "limit"}}),
    line($("charts"), {title: "Demand", unit: "×", series: [{name: "of capacity", of: (s) => s.demand, css: "one"}],
      limit: {name: "capacity", of: (s) => (s.demand === null ? null : 1), css: "limit"}}),
    line($("charts"), {title: "Batches", unit: "s", series: [{name: "took", of: (s) => s.seconds, css: "one"}]}),
    line($("charts"), {title: "Backlog", unit: "rows", series: [{name: "waiting", of: (s) => s.backlog, css: "one"}]}),
    line($("charts"), {title: "Kept", share: true, series: [{name: "of rows", of: (s) => s.keep, css: "one"}]}),
  ];

  let statuses = [], told = {}, run = null, heard = null, picture = "";

  function say(css, text) {
    const banner = $("banner");
    if (banner.textContent === text) return;
    banner.className = css;
    banner.textContent = text;
    banner.hidden = !text;
  }

  async function drawn(svg) {
    if (svg === picture) return;
    picture = svg;
    $("picture").parentElement.hidden = !svg;
    if (!svg) return;
    // As an image: whatever is in it, nothing of it runs. It is swapped when it is ready.
    const next = $("picture").cloneNode();
    next.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
    await next.decode().catch(() => {});
    if (svg === picture) $("picture").replaceWith(next);
  }

  function show(scene) {
    if (scene.run !== run) {  // another run at the same address
      run = scene.run;
      statuses = [];
      $("log").replaceChildren();
      $("problems").replaceChildren();
    }
    const fresh = scene.statuses, now = scene.now;
    told = scene.told;
    // Streams tell of their batches one batch later, each in its own time.
    statuses = [...statuses, ...fresh].sort((a, b) => a.at - b.at).slice(-MOST);
    document.title = `${scene.title} – Penstock`;
    $("title").textContent = scene.title;
    $("waiting").hidden = now !== null;
    $("all").hidden = now === null;
    $("modes").hidden = !scene.may_change || scene.ended;
    if (now === null) return;
    if ($("phase").textContent !== now.phase) $("asked").textContent = "";
    $("phase").textContent = now.phase;
    $("phase").className = `phase ${now.phase}`;
    $("batch").textContent = `batch ${number(now.batch, true)}, ended ${clock(now.at)}, took ${number(now.seconds)} s`;
    $("why").textContent = now.reason;
    for (const button of $("modes").querySelectorAll("button")) {
      const on = {off: now.phase === "off", monitor: now.phase === "monitor", on: ["exact", "shedding"].includes(now.phase)};
      button.setAttribute("aria-pressed", on[button.value]);
    }
    parts.tiles($("tiles"), now, scene.balanced);
    parts.drops($("drops"), now);
    parts.queries($("queries"), scene);
    parts.accounts($("accounts"), scene);
    parts.log($("log"), fresh);
    parts.problems($("problems"), fresh);
    $("no-problems").hidden = $("problems").children.length > 0;
    // Of several streams the whole is drawn: a line would jump from one to the other.
    if (fresh.length) for (const chart of charts) chart.update(statuses.map((s) => s.whole ?? s));
    drawn(scene.picture);
  }

  async function ask() {
    const since = encodeURIComponent(JSON.stringify(told));
    const reply = await fetch(`/scene.json?since=${since}`, {signal: AbortSignal.timeout(PATIENCE), cache: "no-store"});
    if (reply.status === 401) return say("bad", "The token is not known here any more: open the address with the token again.");
    if (!reply.ok) return say("bad", `The run could not answer (${reply.status}). What is shown is from ${heard ?? "before"}.`);
    const scene = await reply.json();
    if (run !== null && scene.run !== run && Object.keys(told).length) {
      told = {};
      return ask();
    }
    show(scene);
    heard = clock(Date.now() / 1000);
    say("end", scene.ended ? `The run has ended. This is how it stood at ${heard}.` : "");
    return scene.ended;
  }
  async function loop() {
    let ended = false;
    try {
      ended = await ask();
    } catch {
      say("bad", `Nobody answers since ${heard ?? "the beginning"}: the run has ended, or cannot be reached. Still asking.`);
    }
    if (ended !== true) setTimeout(loop, document.hidden ? SELDOM : OFTEN);
  }

  $("modes").addEventListener("click", async (event) => {
    const mode = event.target.value;
    if (!mode) return;
    const headers = {"Content-Type": "application/json"};
    const reply = await fetch("/mode", {method: "POST", headers, body: JSON.stringify({mode})}).catch(() => null);
    $("asked").textContent = reply?.ok ? `${mode} from the next batch on` : `not changed: ${reply ? await reply.text() : "nobody answers"}`;
  });
  loop();
})();
