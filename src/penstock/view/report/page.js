// The values under the pointer, in all plots at once.
(() => {
  const held = document.getElementById("values");
  if (!held) return;
  const { times, left, right, width, said } = JSON.parse(held.textContent);
  const figures = [...document.querySelectorAll("figure")];
  const span = times[times.length - 1] - times[0] || 1;
  const place = (n) => left + ((times[n] - times[0]) / span) * (width - left - right);
  const show = (n) =>
    figures.forEach((figure, f) => {
      const cursor = figure.querySelector(".cursor");
      cursor.style.visibility = n === null ? "hidden" : "visible";
      if (n !== null) cursor.setAttribute("transform", `translate(${place(n)} 0)`);
      figure.querySelectorAll(".at").forEach((at, line) => {
        at.textContent = n === null ? "" : said[f][line][1][n];
      });
    });
  for (const figure of figures) {
    const svg = figure.querySelector("svg");
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * width;
      const time = times[0] + ((x - left) / (width - left - right)) * span;
      let n = 0;
      times.forEach((t, i) => {
        if (Math.abs(t - time) < Math.abs(times[n] - time)) n = i;
      });
      show(n);
    });
    svg.addEventListener("pointerleave", () => show(null));
  }
})();
