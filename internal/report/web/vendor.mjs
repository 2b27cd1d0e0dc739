// Copies the minified chart libraries into ../assets/vendor, from where the
// Go build embeds them. vega-embed carries Vega's expression interpreter, so
// that a report needs no eval.
import { mkdirSync, readdirSync, readFileSync, writeFileSync, existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const modules = join(here, "node_modules");
const target = join(here, "..", "assets", "vendor");

const libraries = [
  ["vega", "build/vega.min.js"],
  ["vega-lite", "build/vega-lite.min.js"],
  ["vega-embed", "build/vega-embed.min.js"],
];

function manifest(name) {
  return JSON.parse(readFileSync(join(modules, name, "package.json"), "utf8"));
}

// A library becomes the text of an inline script whose hash is in the page's
// policy: what an HTML parser would read differently must not be in it.
function inlinable(name, code) {
  for (const bad of ["</script", "<script", "<!--", "\r", "\0"]) {
    if (code.toLowerCase().includes(bad)) {
      throw new Error(`${name}: contains ${JSON.stringify(bad)} and cannot stand in an inline script`);
    }
  }
  return code;
}

function packages(dir = modules) {
  return readdirSync(dir).filter((d) => !d.startsWith(".")).flatMap((d) =>
    d.startsWith("@") ? readdirSync(join(dir, d)).map((s) => `${d}/${s}`) : [d]).sort();
}

function licences() {
  return packages().map((name) => {
    const file = ["LICENSE", "LICENSE.md", "LICENCE", "LICENSE.txt"]
      .map((f) => join(modules, name, f)).find(existsSync);
    const { version, license } = manifest(name);
    return `${name} ${version} (${license})\n\n${file ? readFileSync(file, "utf8").trim() : ""}\n`;
  }).join(`\n${"-".repeat(72)}\n\n`);
}

mkdirSync(target, { recursive: true });
for (const [name, file] of libraries) {
  const { version } = manifest(name);
  const licence = readFileSync(join(modules, name, "LICENSE"), "utf8").replaceAll("*/", "").trim();
  const code = readFileSync(join(modules, name, file), "utf8").replace(/\n?\/\/# sourceMappingURL=.*\s*$/, "\n");
  writeFileSync(join(target, `${name}.js`), inlinable(name, `/*! ${name} ${version}\n${licence}\n*/\n${code}`));
}
writeFileSync(join(target, "LICENSES.txt"), licences());
console.log(`${libraries.map(([n]) => `${n} ${manifest(n).version}`).join(", ")} -> internal/report/assets/vendor`);
