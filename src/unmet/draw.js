"use strict";
// Draws every element of the class "vega" when it is first seen, from the JSON inside it.
(() => {
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  tip.style.cssText = "position:fixed;z-index:9;pointer-events:none;padding:.3rem .6rem;" +
    "font:13px/1.4 system-ui,sans-serif;border-radius:.3rem;background:#1d2126;color:#fff;white-space:pre";
  document.body.append(tip);

  const show = (handler, event, item, value) => {
    tip.hidden = !value;
    if (!value) return;
    const told = Object.entries(value).map(([name, each]) => (name.trim() ? `${name}: ${each}` : each));
    tip.textContent = told.join("\n");
    const left = event.clientX + 14 + tip.offsetWidth < innerWidth;
    tip.style.left = (left ? event.clientX + 14 : event.clientX - 14 - tip.offsetWidth) + "px";
    tip.style.top = Math.max(event.clientY - tip.offsetHeight - 8, 0) + "px";
  };

  // colours become names, to which the style sheet gives a meaning on light, dark and real paper
  const colours = document.getElementById("colours");
  const named = colours ? Object.entries(JSON.parse(colours.textContent)) : [];
  const coloured = (text) =>
    named.reduce((found, [name, [light]]) => found.replaceAll(light, `var(--chart-${name})`), text);

  const draw = (place) => {
    if (place.dataset.drawn || place.closest("details:not([open])")) return;
    place.dataset.drawn = "yes";
    const text = coloured(place.querySelector("script").textContent);
    let spec = JSON.parse(text);
    if (spec.parts) {
      // a chart of an item: what all of them share stands once in the page
      const [year, month, day] = spec.from.split("-").map(Number);
      const rows = [];
      for (const [name, [days, low, high]] of Object.entries(spec.parts)) {
        low.forEach((y, k) => {
          const at = Array.isArray(days) ? days[k] : days + k;
          const x = new Date(year, month - 1, day + Math.floor(at), 0, Math.round((at % 1) * 1440));
          rows.push({ s: name, x: +x, y, ...(high && { y2: high[k] }) });
        });
      }
      spec = JSON.parse(coloured(document.getElementById(place.dataset.like).textContent));
      spec.datasets = { rows };
    }
    const room = Math.max(1, Math.floor(place.clientWidth / 300));
    spec.config.legend.columns = Math.min(room, 3);
    if (place.clientWidth < 500) spec.config.axis.tickCount = 4;
    const view = document.createElement("div");
    view.style.width = "100%";
    place.append(view);
    new vl.View(vl.parse(vl.compile(spec).spec, null, { ast: true }), {
      expr: vl.expressionInterpreter, renderer: "svg", container: view, hover: true,
    }).tooltip(show).runAsync().then(() => { place.dataset.drawn = "done"; });
  };
  const all = () => document.querySelectorAll(".vega").forEach(draw);
  all();
  document.addEventListener("toggle", all, true);
})();
