"use strict";
// The report's own script: theme, pictures, scrollable regions. Everything
// that is said stands in the page without it.
(() => {
  const root = document.documentElement;

  // The style sheet colours the pictures too, so a change of theme needs no
  // new drawing.
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const label = () => { button.textContent = isDark() ? "Light" : "Dark"; button.ariaLabel = `Switch to the ${isDark() ? "light" : "dark"} theme`; };
  button.hidden = false;
  button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; label(); });
  system.addEventListener("change", label);
  label();

  // A region that does not scroll needs no stop for the keyboard.
  const regions = () => {
    for (const r of document.querySelectorAll(".scroll")) {
      if (r.scrollWidth > r.clientWidth + 1) r.tabIndex = 0;
      else r.removeAttribute("tabindex");
    }
  };

  // Paper has no switches: what explains a verdict is printed open.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details.why:not([open])")]
      .filter((d) => !d.querySelector(".chart:not([data-drawn])")); // a picture takes longer than there is
    for (const d of opened) d.open = true;
  });
  addEventListener("afterprint", () => { for (const d of opened) d.open = false; });
  document.addEventListener("toggle", regions, true);

  const charts = [...document.querySelectorAll(".chart")];
  const config = charts.length ? JSON.parse(document.getElementById("chart-config").textContent) : null;

  function sized(spec, width) {
    const narrow = width < 480;
    const own = structuredClone(config);
    if (narrow) {
      own.legend.columns = 1;
      own.axis.labelLimit = Math.round(width * 0.38);
      own.axis.labelFontSize = own.axis.titleFontSize = 11;
      own.axis.tickCount = 4;
      own.style.markname.opacity = 0; // names beside marks would cover each other
    }
    const s = { ...spec };
    if (s.vconcat) {
      // Concatenated views know no container: leave room for their labels.
      const room = spec.usermeta?.room ?? 64;
      s.vconcat = s.vconcat.map((v) => ({ ...v, width: width - room }));
    } else {
      s.width = width;
      s.autosize = { type: "fit-x", contains: "padding" };
    }
    return [s, own];
  }

  const views = new Map();
  async function draw(chart) {
    const width = Math.floor(chart.clientWidth);
    if (chart.closest("details:not([open])")) return; // many of them, and nobody looks
    if (!width || chart.dataset.width === String(width)) return;
    chart.dataset.width = String(width);
    const [spec, own] = sized(JSON.parse(document.getElementById(chart.dataset.spec).textContent), width);
    // Vega gives its element a role; the picture keeps its own.
    const drawing = chart.querySelector(".drawing");
    try {
      views.get(chart)?.finalize();
      views.set(chart, await vegaEmbed(drawing, spec, {
        mode: "vega-lite", renderer: "svg", ast: true, actions: false, defaultStyle: false,
        tooltip: { disableDefaultStyle: true }, config: own,
      }));
      chart.dataset.drawn = "yes";
    } catch (e) {
      chart.textContent = "This picture could not be drawn; its numbers are below.";
      const numbers = chart.parentElement.querySelector("details");
      if (numbers) numbers.open = true;
      console.error(e);
    }
  }

  let timer;
  const printing = matchMedia("print");
  addEventListener("resize", () => {
    clearTimeout(timer);
    timer = setTimeout(() => { if (!printing.matches) { regions(); charts.forEach(draw); } }, 150);
  });
  // What is folded away is drawn when it is opened.
  document.addEventListener("toggle", (e) => { if (e.target.open) e.target.querySelectorAll(".chart").forEach(draw); }, true);
  regions();
  Promise.all(charts.map(draw)).then(() => { root.dataset.ready = "yes"; });
})();
