// Every text that is shown → [contrast with what is behind it, the text], where it is below 4.5.
() => {
  const numbers = (color) => color.match(/[\d.]+/g).map(Number);
  const light = (color) => numbers(color).slice(0, 3)
    .map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, n) => sum + v * [0.2126, 0.7152, 0.0722][n], 0);
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const color = getComputedStyle(one).backgroundColor, parts = numbers(color);
      if (parts.length < 4 || parts[3] > 0) return color;
    }
    return "rgb(255, 255, 255)";
  };
  const found = [];
  for (const element of document.body.querySelectorAll("*")) {
    const text = [...element.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data.trim()).join("");
    if (!text || !element.getClientRects().length || element.tagName === "SCRIPT") continue;
    const style = getComputedStyle(element), svg = element.namespaceURI.endsWith("svg");
    const [a, b] = [light(svg ? style.fill : style.color), light(behind(element))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) found.push([ratio, text]);
  }
  return found;
}
